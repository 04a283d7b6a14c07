"""The form that measures: any labels layer, with any image layer for the gray values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qtpy.QtWidgets import QLabel, QTabWidget, QVBoxLayout, QWidget

from equilabel.widget.logic.axes import check_roles
from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.runs import measure_source
from equilabel.widget.logic.sources import Source
from equilabel.widget.logic.statistics import offered
from equilabel.widget.logic.warming import warm_up_measuring
from equilabel.widget.viewer.events import is_removal, while_alive
from equilabel.widget.viewer.layers import images, labels, show_measurements
from equilabel.widget.viewer.notifications import guarded, warn, warn_once
from equilabel.widget.viewer.tasks import LatestResult

from .axes import AxesField
from .fields import color_field, layer_field, offer_layers
from .layout import Form, Grid, fold
from .results import ResultsPanel
from .run_bar import RunBar
from .statistics import StatisticsField

if TYPE_CHECKING:
    from equilabel.widget.logic.runs import Outcome
    from equilabel.widget.napari_types import Event, Layer, Viewer


class MeasureForm(QWidget):
    """Measure the objects of a labels layer."""

    def __init__(self, napari_viewer: Viewer) -> None:
        super().__init__()
        self._viewer = napari_viewer
        self._layer: Layer = None
        self._measured: Any = None
        self._make_fields()
        self.bar = RunBar("Measure", self)
        self.results = ResultsPanel(napari_viewer)
        self.tabs = QTabWidget()
        self.tabs.addTab(self._arrange(), "Measure")
        self.tabs.addTab(self.results, "Results")
        QVBoxLayout(self).addWidget(self.tabs)
        self.setMinimumWidth(340)
        self.labels.changed.connect(self._set_labels)
        self.image.changed.connect(self._update_fields)
        self.bar.wanted.connect(self._run)
        self.bar.done.connect(self._show_outcome)
        self._warm_up = LatestResult(self)
        self._warm_up.returned.connect(warn_once)
        self._warm: Any = None  # the kind of layer that it is for
        self.reset_choices()

    def _make_fields(self) -> None:
        self.labels = layer_field("labels", "Labels", "Labels layer whose objects are measured.")
        self.image = layer_field(
            "image",
            "Gray values",
            "Image layer whose intensities are measured. Without one, only sizes, positions and "
            "shapes are measured.",
        )
        self.color = color_field()
        self.axes = AxesField(self._update_fields)
        self.statistics = StatisticsField()

    def _arrange(self) -> QWidget:
        fields = Form()
        layout = QVBoxLayout(fields)
        layout.addWidget(Grid(self.labels, self.image, self.color))
        layout.addWidget(fold("Axes", self.axes))
        layout.addWidget(QLabel("Statistics"))
        layout.addWidget(self.statistics)
        layout.addStretch()
        layout.addWidget(self.bar)
        return fields

    @while_alive
    def reset_choices(self) -> None:
        """Offer the labels and image layers of the viewer; napari calls it when they change."""
        offer_layers(self.labels, labels(self._viewer))
        offer_layers(self.image, images(self._viewer))
        if self.labels.value is not self._layer:
            self._set_labels()
        else:
            self._update_fields()

    @guarded
    def _set_labels(self) -> None:
        """Use the labels layer that is chosen."""
        self._layer = self.labels.value
        if self._layer is not None:
            source = Source.of(self._layer)
            made = self._layer.metadata.get("equilabel", {})
            roles = made.get("axes", ())
            if len(roles) != len(source.shape):
                roles = source.guess()
            self.axes.show_axes(roles, source.shape, source.transform["axis_labels"])
        self._update_fields()

    @guarded
    def _update_fields(self) -> None:
        """Show the statistics that are defined for the layers."""
        image = self.image.value
        self.color.visible = bool(image is not None and image.rgb)
        if self._layer is None or check_roles(self.axes.roles):
            return
        spacing, _ = Source.of(self._layer).spacing(self.axes.roles)
        stacked = "time" in self.axes.roles
        self.statistics.offer(offered(spacing, stacked=stacked, image=image is not None))
        self._prepare()

    def _prepare(self) -> None:
        """Compile what the first run on labels of this kind needs, in the background."""
        labels, roles = Source.of(self._layer), self.axes.roles
        image = None if self.image.value is None else Source.of(self.image.value)
        if image is not None and len(image.shape) != len(labels.shape):
            return
        kind = (labels.data.dtype, image and (image.data.dtype, image.rgb), roles)
        if kind != self._warm:
            self._warm = kind
            names = self.statistics.names
            self._warm_up.submit(lambda: warm_up_measuring(labels, image, roles, names))

    def changeEvent(self, event: Event) -> None:
        """End all work once the dock is closed: napari takes the form out of it."""
        if is_removal(self, event):
            self.bar.cancel()
            self._warm_up.cancel()
        super().changeEvent(event)

    @guarded
    def _run(self) -> None:
        """Start to measure, or warn why it cannot start."""
        problem = self._check()
        if problem:
            warn(problem)
            return
        self._measured = self._layer
        source = Source.of(self._layer)
        image = None if self.image.value is None else Source.of(self.image.value)
        roles, names, color = self.axes.roles, self.statistics.names, self.color.value
        self.bar.begin(
            f"measurements of {source.name!r}",
            lambda report: measure_source(source, image, roles, names, report, color=color),
            ("read", "measure"),
        )

    def _check(self) -> str:
        """Return why measuring cannot start, and what would help; empty if it can."""
        if self._layer is None or self._layer not in self._viewer.layers:
            return (
                "a labels layer must be open; got none. "
                "Make one with 'Label components (equilabel)', or open a file of labels."
            )
        shape = Source.of(self._layer).shape
        if 0 in shape:
            return (
                f"labels must have at least one pixel; got shape {shape} for "
                f"{self._layer.name!r}. Open other labels."
            )
        return check_roles(self.axes.roles)

    @guarded
    def _show_outcome(self) -> None:
        outcome: Outcome = self.bar.result
        layer = self._measured
        if layer not in self._viewer.layers:
            warn(
                f"labels must stay open while they are measured; got {layer.name!r} removed. "
                "Open them and measure again."
            )
            self.bar.show_message("")
            return
        show_measurements(layer, outcome)
        self.results.show_layer(layer)
        made = outcome.metadata
        self.bar.show_message(f"{count_objects(made['objects'])}, {made['seconds']:.2f} s.")
        for note in outcome.notes:
            warn(note)
