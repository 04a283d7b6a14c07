"""The preview of a form: histogram, threshold and outlines follow its fields and the viewer."""

from typing import Any

from qtpy.QtCore import QObject, QTimer
from qtpy.QtWidgets import QWidget

from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.planes import Estimate, Plane, estimate_threshold
from equilabel.widget.logic.sources import Source
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.outlines import Drawing, Preview
from equilabel.widget.viewer.tasks import LatestResult, guarded, warn

NO_PLANE = "The preview needs the 2D view."
CHANNELS_SHOWN = (
    "The canvas shows the axis of channels: press Ctrl+E until it shows the image. The preview "
    "outlines objects in one channel."
)


class LivePreview(QObject):
    """Keeps histogram, threshold and outline up to date with the fields of a form."""

    def __init__(self, viewer: Viewer, fields: Any, form: QWidget) -> None:
        super().__init__(form)
        self._viewer, self._fields = viewer, fields
        self._outline = Preview(viewer)
        self._layer: Layer = None
        self._histogram = LatestResult("computing the histogram", self._show_histogram, warn)
        self._drawing = LatestResult("drawing the preview", self._show_outline, self._explain)
        self._stale = False  # whether something has changed since the outline was started
        self._channel: int | None = None  # on which field and slider agreed
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
        self._layer, self._channel = layer, None
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
        point, displayed = layers.position(self._viewer, self._layer)
        shown = tuple(source.space[-2:]) if source.channel in displayed else displayed[-2:]
        plane = Plane(source, self._fields.choices(), point, shown)
        self._histogram.submit(lambda: estimate_threshold(plane))

    def _show_histogram(self, result: Estimate) -> None:
        histogram, threshold, remark = result
        self._fields.say("gaps", histogram.describe_gaps())
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
            self._channel = None
            self._remove("")
            return
        if source.problem:
            return
        self._stale = self._drawing.waiting
        if self._stale:
            return
        self._match_channel(source)
        plane = Plane(source, fields.choices(), *layers.position(self._viewer, self._layer))
        if len(plane.displayed) != 2 or source.channel in plane.displayed:
            self._remove(NO_PLANE if len(plane.displayed) != 2 else CHANNELS_SHOWN)
            return
        if not fields.count.text():  # the first time, when functions are compiled
            fields.show_count("finding objects ...", "")
        self._drawing.submit(self._outline.plan(self._layer, plane, fields.threshold.level))

    def _match_channel(self, source: Source) -> None:
        """Let field and slider agree on the channel: the slider leads if it was moved."""
        point, displayed = layers.position(self._viewer, self._layer)
        axis, field = source.channel, self._fields.channel
        if axis is None or axis in displayed:
            return
        seen = min(max(point[axis], 0), source.shape[axis] - 1)
        if self._channel not in (None, seen):
            field.value = seen
        elif seen != field.value:
            layers.move_to(self._viewer, self._layer, axis, field.value)
        self._channel = field.value

    def _remove(self, remark: str) -> None:
        self._outline.remove()
        self._fields.show_count("", remark)

    def _show_outline(self, drawing: Drawing) -> None:
        if self._fields.show_preview.value and self._layer is not None:
            self._outline.show(self._layer, drawing)
            _, plane, count = drawing
            self._fields.show_count(count_objects(count) + plane.where, plane.describe())
        self._draw_again()

    def _explain(self, message: str) -> None:
        self._fields.show_count("", message)
        self._draw_again()

    def _draw_again(self) -> None:
        if self._stale:
            self._timer.start(0)
