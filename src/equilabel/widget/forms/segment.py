"""Form that segments: from an image layer to a labels layer and its table."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from qtpy.QtWidgets import QFileDialog

from equilabel.widget.logic import large
from equilabel.widget.logic.outcomes import Outcome, segment_source
from equilabel.widget.logic.sources import Source
from equilabel.widget.logic.warming import warm_up_segmenting
from equilabel.widget.napari_types import Event, Layer, Viewer
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.notifications import ask, guarded, inform, warn

from .fields import offer_layers
from .live_preview import LivePreview
from .run_form import RunForm
from .segment_fields import SegmentFields

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
