"""The form that segments: from an image layer to a labels layer and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qtpy.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from equilabel.widget.logic import large
from equilabel.widget.logic.axes import check_roles
from equilabel.widget.logic.runs import segment_source
from equilabel.widget.logic.sources import Source
from equilabel.widget.logic.warming import warm_up_segmenting
from equilabel.widget.viewer.events import connect_layers, is_removal, while_alive
from equilabel.widget.viewer.layers import (
    describe_changes,
    find_result,
    images,
    labels,
    show_labels,
)
from equilabel.widget.viewer.notifications import ask_to_replace, guarded, inform, warn, warn_once
from equilabel.widget.viewer.tasks import LatestResult

from .fields import offer_layers
from .large import ask_where
from .layout import vertical
from .live_preview import LivePreview
from .results import ResultsPanel
from .run_bar import RunBar
from .segment_fields import SegmentFields

if TYPE_CHECKING:
    from equilabel.widget.logic.choices import Choices
    from equilabel.widget.logic.runs import Outcome
    from equilabel.widget.napari_types import Event, Layer, Viewer

STEPS = (
    "read",
    "background",
    "binarize",
    "close and open",
    "fill",
    "label",
    "split",
    "drop",
    "measure",
)


class SegmentForm(QWidget):
    """Find the objects of an image layer."""

    def __init__(self, napari_viewer: Viewer) -> None:
        super().__init__()
        self._viewer = napari_viewer
        self._layer: Layer = None
        self._source: Source | None = None
        self._replaced: Layer = None  # labels changed by hand that may be replaced
        self.fields = SegmentFields()
        self.bar = RunBar("Find objects", self)
        self.run_button, self.cancel_button = self.bar.run_button, self.bar.cancel_button
        self.results = ResultsPanel(napari_viewer)
        self.tabs = QTabWidget()
        self.tabs.addTab(vertical(self.fields, self.bar), "Find objects")
        self.tabs.addTab(self.results, "Results")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.addWidget(self.tabs)
        self.setMinimumWidth(364)
        self.preview = LivePreview(napari_viewer, self.fields, self)
        self.fields.image_changed.connect(self._set_layer)
        self.bar.wanted.connect(self._run)
        self.bar.done.connect(self._show_outcome)
        connect_layers(napari_viewer, self.refresh_layers)
        self._warm_up = LatestResult(self)
        self._warm_up.returned.connect(warn_once)
        self._warm: Any = None  # the kind of layer that it is for
        self.refresh_layers()
        self._prepare()

    # ------------------------------------------------------------ the image

    @while_alive
    def refresh_layers(self) -> None:
        """Show the image layers of the viewer."""
        offer_layers(self.fields.image, images(self._viewer))
        if self.fields.image.value is not self._layer:
            self._set_layer()

    @guarded
    def _set_layer(self) -> None:
        """Use the layer that is chosen."""
        if self._layer is not None:
            self._layer.events.data.disconnect(self._update_pixels)
        self._layer = self.fields.image.value
        self._source = None
        if self.bar.task is None or not self.bar.task.running:
            self.bar.show_message("")  # it was about another image
        if self._layer is not None:
            self._layer.events.data.connect(self._update_pixels)
            self._source = Source.of(self._layer)
        self.preview.set_layer(self._layer, self._source)
        self.fields.show_source(self._source)
        if self._layer is not None:
            self._prepare()

    @guarded
    def _prepare(self) -> None:
        """Compile what the first run on an image of this kind needs, in the background."""
        source = self._source
        kind = None if source is None else (source.data.dtype, source.rgb, self.fields.axes.roles)
        if kind == self._warm or (source is not None and check_roles(self.fields.axes.roles)):
            return
        self._warm = kind
        choices = self.choices()
        self._warm_up.submit(lambda: warm_up_segmenting(source, choices))

    @guarded
    def _update_pixels(self) -> None:
        """Use the pixels of the layer, which have changed."""
        if self._layer is None:
            return
        shape = None if self._source is None else self._source.shape
        self._source = Source.of(self._layer)
        if self._source.shape != shape:
            self._set_layer()
            return
        self.preview.set_layer(self._layer, self._source)
        self.preview.update_histogram()

    def choices(self) -> Choices:
        """Return the values of the form."""
        return self.fields.choices()

    def hideEvent(self, event: Event) -> None:
        """Hide the preview with the form."""
        self.preview.hide()
        super().hideEvent(event)

    def changeEvent(self, event: Event) -> None:
        """End all work once the dock is closed: napari takes the form out of it."""
        if is_removal(self, event):
            self.bar.cancel()
            self._warm_up.cancel()
            self.preview.cancel()
        super().changeEvent(event)

    # ---------------------------------------------------------------- a run

    @guarded
    def _run(self) -> None:
        """Start a run, or warn why it cannot start."""
        problem = self._check()
        if problem:
            warn(problem)
            return
        source, choices = Source.of(self._layer), self.choices()
        if not self._may_replace(source.name):
            return
        title = f"objects of {source.name!r}"
        if not large.is_large(source):
            self.bar.begin(title, lambda report: segment_source(source, choices, report), STEPS)
            return
        problem = large.explain_refusal(source, choices)
        if problem:
            warn(problem)
            return
        wanted, place = ask_where(self, source)
        if wanted:
            self.bar.begin(
                title,
                lambda report: large.segment_large(source, choices, place, report),
                large.STEPS,
            )

    def _may_replace(self, name: str) -> bool:
        """Ask what becomes of labels that were changed by hand; return False to do nothing."""
        self._replaced = None
        earlier = find_result(self._viewer, name)
        if earlier is None or self.fields.new_layer.value:
            return True
        changes = describe_changes(earlier)
        answer = ask_to_replace(self, earlier.name, changes) if changes else "replace"
        if changes and answer == "replace":
            self._replaced = earlier
        return answer != "cancel"

    def _check(self) -> str:
        """Return why a run cannot start, and what would help; empty if it can."""
        if self._layer is None or self._layer not in self._viewer.layers:
            others = labels(self._viewer)
            if others:
                return (
                    f"an image layer must be open; got {others[-1].name!r}, a labels layer. "
                    "Open the image, or measure the labels with 'Measure labels (equilabel)'."
                )
            return (
                "an image layer must be open; got none. "
                "Open an image, or a sample under File > Open Sample > equilabel."
            )
        shape = Source.of(self._layer).shape
        if 0 in shape:
            return (
                f"image must have at least one pixel; got shape {shape} for "
                f"{self._layer.name!r}. Open another image."
            )
        return check_roles(self.fields.axes.roles)

    @guarded
    def _show_outcome(self) -> None:
        outcome: Outcome = self.bar.result
        layer = show_labels(
            self._viewer,
            outcome,
            new_layer=self.fields.new_layer.value,
            replace=self._replaced,
        )
        self.fields.show_preview.value = False
        self.results.show_layer(layer)
        name, text = outcome.metadata["image"], self.results.summary.text()
        chosen = self._layer is not None and self._layer.name == name
        text = f"{text} {outcome.stored}".strip()
        self.bar.show_message(text if chosen else f"{name}: {text}")
        if self._layer not in self._viewer.layers and not any(
            each.name == name for each in images(self._viewer)
        ):
            inform(f"The image {name!r} was removed during the run; its labels are kept.")
        for note in outcome.notes:
            warn(note)
