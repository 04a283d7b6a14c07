"""Form that measures any labels layer, with any image layer for the gray values."""

from functools import partial
from typing import Any

from qtpy.QtWidgets import QLabel

from equilabel.widget import Layer, Viewer
from equilabel.widget.logic.choices import offered
from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.outcomes import Outcome, measure_source
from equilabel.widget.logic.sources import Source
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.tasks import guarded, warn

from .fields import AxesField, StatisticsField, color_field, layer_field, offer_layers
from .layout import Form, Grid, RunForm, column, fold


class MeasureForm(RunForm):
    """Measure the objects of a labels layer."""

    labels = layer_field("Labels", "Labels layer whose objects are measured.", "_set_labels")
    image = layer_field(
        "Gray values",
        "Image layer whose intensities are measured. Without one, only sizes, positions and "
        "shapes are measured.",
        "_update_fields",
    )
    color = color_field()
    parents = layer_field(
        "Lie in",
        "Labels layer of larger objects, such as cells: each object gets the one that it overlaps "
        "most, and the larger ones get the number of objects in them.",
    )

    def __init__(self, napari_viewer: Viewer) -> None:
        fields = Form()
        self.axes, self.statistics = AxesField(self._update_fields), StatisticsField()
        self.statistics.setMinimumHeight(80)  # so that two forms fit into a window of 720 pixels
        grid = Grid(self.labels, self.image, self.color, self.parents)
        self.remark = QLabel(wordWrap=True)
        axes = fold("Axes", self.axes)
        parts = (grid, axes, self.remark, QLabel("Statistics"), self.statistics)
        column(*parts, into=fields)
        super().__init__(napari_viewer, "Measure", fields, self.labels)
        self.run_button.clicked.connect(self._run)
        self.reset_choices()

    @guarded
    def reset_choices(self) -> None:
        """Offer the layers of the viewer; napari calls it when they change."""
        offer_layers(self.labels, layers.labels(self._viewer))
        offer_layers(self.image, layers.images(self._viewer))
        if self.labels.value is not self._layer:
            self._set_labels()
        else:
            self._update_fields()

    @guarded
    def _set_labels(self) -> None:
        self._layer = self.labels.value
        if not self.running:
            self.message.setText("")  # the message was about other labels
        if self._layer is None:
            self.remark.hide()
            return
        self.axes.show_axes(layers.labels_source(self._layer))

    @guarded
    def _update_fields(self) -> None:
        """Show the statistics that are defined for the layers."""
        every = layers.labels(self._viewer)
        offer_layers(self.parents, (), [each for each in every if each is not self._layer])
        image = self.image.value and Source.of(self.image.value)
        self.color.visible = image is not None and image.rgb
        source = None if self._layer is None else Source.of(self._layer, self.axes.roles)
        self.remark.setText("" if source is None else source.explain_guess())
        self.remark.setVisible(bool(self.remark.text()))
        if source is not None and not source.problem:
            self.statistics.offer(offered(source, image=image is not None))

    @guarded
    def _run(self) -> None:
        """Start measuring, or say why it cannot start."""
        source, layer, outer = self._take_source(self.axes.roles), self._layer, self.parents.value
        parents = outer and layers.labels_source(outer)
        options: Any = {"color": self.color.value, "parents": parents}
        names, image = self.statistics.names, self.image.value and Source.of(self.image.value)
        work = partial(measure_source, source, image, names, **options)
        show = partial(self._show_outcome, layer, outer, layers.state_of(layer))
        self.begin(f"measurements of {source.name!r}", work, show, ("read", "measure", "relate"))

    def _show_outcome(self, layer: Layer, outer: Layer, seen: Any, outcome: Outcome) -> None:
        """Add measurements to the table of a labels layer, if it is still open."""
        layers.show_measurements(self._viewer, layer, outcome, seen, outer)
        self.results.show_layer(layer)
        count, seconds = (outcome.metadata[name] for name in ("objects", "seconds"))
        self.message.setText(f"{count_objects(count)}, {seconds:.2f} s. {outcome.note}".strip())
        if outcome.note:
            warn(outcome.note)
