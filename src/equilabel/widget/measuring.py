"""The form that measures: any labels layer, with any image layer for the gray values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magicgui.widgets import ComboBox
from qtpy.QtWidgets import QLabel, QTabWidget, QVBoxLayout, QWidget

from .axes import complain
from .fields import AxesField, StatisticsField, column, fold
from .flow import measure_source
from .layers import images, labels, put_measures
from .notifying import guarded, warn
from .results import ResultsPanel
from .runbar import RunBar
from .sources import COLORS, Source
from .statistics import offered
from .watching import watch_layers, while_alive

if TYPE_CHECKING:
    from .flow import Outcome


class MeasureForm(QWidget):
    """Measure the objects of a labels layer.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        Whose layers are offered.
    """

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        self._viewer = napari_viewer
        self._layer: Any = None
        self._measured: Any = None
        self.labels = ComboBox(name="labels", label="Labels", choices=[], nullable=True)
        self.image = ComboBox(
            name="image",
            label="Gray values",
            choices=[],
            nullable=True,
            tooltip="Image whose gray values are measured under the labels; none for shapes alone.",
        )
        self.color = ComboBox(name="color", label="Color", choices=list(COLORS))
        self.axes = AxesField(self._offer)
        self.statistics = StatisticsField()
        self.bar = RunBar("Measure", self)
        find = QWidget()
        layout = QVBoxLayout(find)
        layout.addWidget(column(self.labels, self.image, self.color).native)
        layout.addWidget(fold("Axes", self.axes))
        layout.addWidget(QLabel("Statistics"))
        layout.addWidget(self.statistics)
        layout.addStretch()
        layout.addWidget(self.bar)
        self.results = ResultsPanel(napari_viewer)
        self.tabs = QTabWidget()
        self.tabs.addTab(find, "Measure")
        self.tabs.addTab(self.results, "Look at them")
        QVBoxLayout(self).addWidget(self.tabs)
        self.setMinimumWidth(340)
        self.labels.changed.connect(self._take_labels)
        self.image.changed.connect(self._offer)
        self.bar.wanted.connect(self._run)
        self.bar.done.connect(self._show_outcome)
        watch_layers(napari_viewer, self.refresh_layers)
        self.refresh_layers()

    @while_alive
    def refresh_layers(self) -> None:
        """Offer the layers there are now."""
        for field, there in (
            (self.labels, labels(self._viewer)),
            (self.image, images(self._viewer)),
        ):
            before = field.value
            with field.changed.blocked():
                field.choices = [(layer.name, layer) for layer in there]
                if before in there:
                    field.value = before
                elif there:
                    field.value = there[-1]
        if self.labels.value is not self._layer:
            self._take_labels()
        else:
            self._offer()

    @guarded
    def _take_labels(self) -> None:
        self._layer = self.labels.value
        if self._layer is not None:
            source = Source.of(self._layer)
            made = self._layer.metadata.get("equilabel", {})
            roles = made.get("axes", ())
            if len(roles) != len(source.shape):
                roles = source.guess()
            self.axes.show_axes(roles, source.shape, source.transform["axis_labels"])
        self._offer()

    @guarded
    def _offer(self) -> None:
        """Offer what is defined for these labels."""
        image = self.image.value
        self.color.visible = bool(image is not None and image.rgb)
        if self._layer is None or complain(self.axes.roles):
            return
        spacing, _ = Source.of(self._layer).spacing(self.axes.roles)
        stacked = "time" in self.axes.roles
        self.statistics.offer(offered(spacing, stacked=stacked, image=image is not None))

    @guarded
    def _run(self) -> None:
        problem = self._problem()
        if problem:
            warn(problem)
            return
        self._measured = self._layer
        source = Source.of(self._layer)
        image = None if self.image.value is None else Source.of(self.image.value)
        roles, names, color = self.axes.roles, self.statistics.names, self.color.value
        self.bar.begin(
            f"measures of {source.name!r}",
            lambda tell: measure_source(source, image, roles, names, tell, color=color),
            ("read", "measure"),
        )

    def _problem(self) -> str:
        if self._layer is None or self._layer not in self._viewer.layers:
            return (
                "a labels layer must be open; got none. "
                "Make one with 'Label components (equilabel)', or open a file of labels."
            )
        shape = Source.of(self._layer).shape
        if 0 in shape:
            return f"labels must hold pixels; got shape {shape} for {self._layer.name!r}."
        return complain(self.axes.roles)

    @guarded
    def _show_outcome(self) -> None:
        outcome: Outcome = self.bar.result
        layer = self._measured
        if layer not in self._viewer.layers:
            warn(
                f"labels must stay open while they are measured; got {layer.name!r} removed. "
                "Open them and measure again."
            )
            self.bar.say("")
            return
        put_measures(layer, outcome)
        self.results.show_layer(layer)
        made = outcome.metadata
        count = made["objects"]
        self.bar.say(f"{count} object{'' if count == 1 else 's'}, {made['seconds']:.2f} s.")
        for note in outcome.notes:
            warn(note)
