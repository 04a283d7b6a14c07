"""Histogram, threshold and outline of an image in the form, before a run."""

from qtpy.QtCore import QObject, QTimer
from qtpy.QtWidgets import QWidget

from equilabel.widget.logic.histogram import Estimate, estimate_threshold
from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.planes import Plane
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer.canvas import position
from equilabel.widget.viewer.notifications import guarded, warn
from equilabel.widget.viewer.outlines import Drawing, Preview
from equilabel.widget.viewer.tasks import LatestResult

from .segment_fields import SegmentFields


class LivePreview(QObject):
    """Keeps histogram, threshold and outline up to date with the fields of a form."""

    def __init__(self, viewer: Viewer, fields: SegmentFields, form: QWidget) -> None:
        super().__init__(form)
        self._viewer, self._fields = viewer, fields
        self._outline = Preview(viewer)
        self._layer: Layer = None
        self._histogram = LatestResult("computing the histogram", self._show_histogram, warn)
        self._drawing = LatestResult("drawing the preview", self._show_outline, self._explain)
        self._stale = False  # whether something has changed since the outline was started
        self._timer = QTimer(self, singleShot=True, timeout=self._draw)
        fields.histogram_changed.connect(self.update_histogram)
        fields.outline_changed.connect(self.update_outline)
        seen = viewer.dims.events
        for event in (seen.point, seen.ndisplay, seen.order, viewer.scene.camera.events.zoom):
            event.connect(self.update_outline)

    @property
    def layer(self) -> Layer:
        return self._outline.layer

    @property
    def waiting(self) -> bool:
        """Whether a histogram is being computed."""
        return self._histogram.waiting

    @property
    def drawing(self) -> bool:
        """Whether the outline will be drawn soon."""
        return bool(self._timer.isActive()) or self._drawing.waiting

    def set_layer(self, layer: Layer) -> None:
        """Use the pixels of a layer from now on."""
        self._layer = layer
        self._drawing.cancel()
        if layer is None:
            self.update_outline()  # later, because the list of layers is being changed

    def hide(self) -> None:
        self._fields.show_preview.value = False
        self._outline.remove()

    def cancel(self) -> None:
        self._histogram.cancel()
        self._drawing.cancel()

    @guarded
    def update_histogram(self) -> None:
        """Compute the histogram and the threshold in a thread."""
        source = self._fields.source
        if source is None:
            return
        if source.problem:
            self._fields.threshold.show_histogram(None)
            return
        point, displayed = position(self._viewer, self._layer)
        plane = Plane(source, self._fields.choices(), point, displayed[-2:])
        self._histogram.submit(lambda: estimate_threshold(plane))

    def _show_histogram(self, result: Estimate) -> None:
        histogram, threshold, remark = result
        self._fields.threshold.show_histogram(histogram)
        self._fields.threshold.show_estimate(threshold, remark)
        self.update_outline()

    @guarded
    def update_outline(self) -> None:
        """Draw the outline later, because the list of layers may be changing now."""
        if self._fields.show_preview.value or self.layer is not None:
            self._timer.start(0)

    @guarded
    def _draw(self) -> None:
        """Find the objects of the plane in a thread; a later change waits until it is done."""
        fields, source = self._fields, self._fields.source
        if not fields.show_preview.value or source is None:
            self._drawing.cancel()
            self._remove("")
            return
        if source.problem:
            return
        self._stale = self._drawing.waiting
        if self._stale:
            return
        plane = Plane(source, fields.choices(), *position(self._viewer, self._layer))
        if len(plane.displayed) != 2:
            self._remove("The preview needs the 2D view.")
            return
        if not fields.count.text():  # the first time, when functions are compiled
            fields.show_count("finding objects ...", "")
        self._drawing.submit(self._outline.plan(self._layer, plane, fields.threshold.level))

    def _remove(self, remark: str) -> None:
        self._outline.remove()
        self._fields.show_count("", remark)

    def _show_outline(self, drawing: Drawing) -> None:
        if self._fields.show_preview.value and self._layer is not None:
            self._outline.show(self._layer, drawing)
            _, plane, count = drawing
            self._fields.show_count(count_objects(count), plane.describe())
        self._draw_again()

    def _explain(self, message: str) -> None:
        self._fields.show_count("", message)
        self._draw_again()

    def _draw_again(self) -> None:
        if self._stale:
            self._timer.start(0)
