"""Form that segments: from an image layer to a labels layer and its table, with a preview."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject, QTimer
from qtpy.QtWidgets import QFileDialog, QWidget

from equilabel.widget.logic import large
from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.outcomes import Outcome, segment_source, warm_up_segmenting
from equilabel.widget.logic.planes import Estimate, Plane, estimate_threshold
from equilabel.widget.logic.sources import Source
from equilabel.widget.napari_types import Event, Layer, Viewer
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.layers import position
from equilabel.widget.viewer.outlines import Drawing, Preview
from equilabel.widget.viewer.tasks import LatestResult, ask, guarded, inform, warn

from .fields import offer_layers
from .run_form import RunForm
from .segment_fields import SegmentFields

# ---- The preview


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


# ---- The form


FOLLOWED = ("data", "scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")
STAGES = (
    *("read", "background", "binarize", "close and open", "fill"),
    *("label", "split", "drop", "measure"),
)


class SegmentForm(RunForm):
    """Find the objects of an image layer."""

    fields: SegmentFields

    def __init__(self, napari_viewer: Viewer) -> None:
        super().__init__(napari_viewer, "Find objects", SegmentFields())
        self._replaced: Layer = None  # labels changed by hand that may be replaced
        self._pixels: Any = None  # of the current run
        self.choices = self.fields.choices
        self.preview = LivePreview(napari_viewer, self.fields, self)
        self.fields.image.changed.connect(self._set_layer)
        self.run_button.clicked.connect(self._run)
        self.done.connect(self._show_outcome)
        self.reset_choices()
        self._prepare()

    @guarded
    def reset_choices(self) -> None:
        """Offer the layers of the viewer; napari calls it when they change."""
        self.results.reset_choices()
        offer_layers(self.fields.image, layers.images(self._viewer))
        if self.fields.image.value is not self._layer:
            self._set_layer()

    @guarded
    def _set_layer(self) -> None:
        if self._layer is not None:
            for name in FOLLOWED:
                getattr(self._layer.events, name).disconnect(self._update_pixels)
        self._layer, self.fields.source = self.fields.image.value, None
        if not self.running:
            self.message.setText("")  # the message was about another image
        if self._layer is not None:
            for name in FOLLOWED:
                getattr(self._layer.events, name).connect(self._update_pixels)
        self._update_pixels()

    @guarded
    def _update_pixels(self) -> None:
        """Use the pixels of a layer that has changed or has just been chosen."""
        before = self.fields.source
        source = None if self._layer is None else Source.of(self._layer)
        self.preview.set_layer(self._layer)
        if source is not None and before is not None and source.has_axes_of(before):
            source = replace(source, roles=before.roles)
            if source.pixel_size == before.pixel_size:
                self.fields.source = source
                self.preview.update_histogram()
                return
        self.fields.show_source(source)
        if source is not None:
            self._prepare()

    @guarded
    def _prepare(self) -> None:
        """Compile in the background what the first run on an image of this kind needs."""
        source = self.fields.source
        if source is None or not source.problem:
            kind = None if source is None else (source.data.dtype, source.rgb, source.roles)
            self._warm_up_for(kind, partial(warm_up_segmenting, source, self.choices()))

    def hideEvent(self, event: Event) -> None:
        self.preview.hide()
        super().hideEvent(event)

    def end(self) -> None:
        super().end()
        self.preview.cancel()

    @guarded
    def _run(self) -> None:
        """Start a run, or say why it cannot start."""
        source = self._take_source(self._explain_no_image(), self.fields.axes.roles)
        choices = self.choices()
        if not self._may_replace(source.name):
            return
        self._pixels = source.data
        title = f"objects of {source.name!r}"
        if not (size := large.explain_size(source, choices)):
            self.begin(title, lambda report: segment_source(source, choices, report), STAGES)
            return
        if problem := large.explain_refusal(source, choices, size):
            raise ValueError(problem)
        wanted, place = self._ask_where(source, size)
        if wanted:
            work = partial(large.segment_large, source, choices, place)
            self.begin(title, work, large.STAGES)

    def _explain_no_image(self) -> str:
        others = layers.labels(self._viewer)
        if others:
            return (
                f"an image layer must be open; got {others[-1].name!r}, a labels layer. "
                "Open the image, or measure the labels with 'Measure labels (equilabel)'."
            )
        return (
            "an image layer must be open; got none. "
            "Open an image, or a sample under File > Open Sample > equilabel."
        )

    def _may_replace(self, name: str) -> bool:
        """Ask what to do with labels that were changed by hand; return False to do nothing."""
        earlier = None if self.fields.new_layer.value else layers.find_result(self._viewer, name)
        self._replaced = None
        if earlier is None or not (changes := layers.describe_changes(earlier)):
            return True
        answer = ask(
            self,
            "Replace labels",
            f"Replace {earlier.name!r}? Since its objects were found, {changes}.",
            "If you keep it, the new labels get a layer of their own.",
            {"Keep it": "Accept", "Replace": "Destructive", "Cancel": "Reject"},
        )
        if answer == "Replace":
            self._replaced = earlier
        return answer in ("Keep it", "Replace")

    def _ask_where(self, source: Source, size: str) -> tuple[bool, Path | None]:
        """Ask whether to run, and where to store labels: None for a temporary folder."""
        answer = ask(
            self,
            "Image larger than memory",
            f"{size}. It is segmented block by block.",
            "Its labels are stored as an OME-Zarr. A temporary folder is removed when their layer "
            "is removed or napari ends.",
            {"Save as ...": "Accept", "Temporary folder": "Accept", "Cancel": "Reject"},
        )
        if answer != "Save as ...":
            return answer == "Temporary folder", None
        suggested = str(large.suggest_place(source))
        place, _ = QFileDialog.getSaveFileName(self, "Store labels as", suggested, "Zarr (*)")
        return bool(place), Path(place) if place else None

    @guarded
    def _show_outcome(self) -> None:
        outcome: Outcome = self.result
        new = self.fields.new_layer.value
        layer = layers.show_labels(self._viewer, outcome, new_layer=new, replace=self._replaced)
        self.fields.show_preview.value = False
        self.results.show_layer(layer)
        name = outcome.metadata["image"]
        text = f"{self.results.summary.text()} {outcome.stored}".strip()
        text = text if outcome.metadata["objects"] else outcome.note
        chosen = self._layer is not None and self._layer.name == name
        self.message.setText(text if chosen else f"{name}: {text}")
        present = [each.name for each in layers.images(self._viewer)]
        if self._layer not in self._viewer.layers and name not in present:
            inform(f"The image {name!r} was removed during the run; its labels are kept.")
        elif chosen and Source.of(self._layer).data is not self._pixels:
            inform(f"The pixels of {name!r} were replaced during the run: find its objects again.")
        if outcome.note:
            warn(outcome.note)
