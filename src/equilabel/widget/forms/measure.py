"""Form that measures any labels layer, with any image layer for the gray values."""

from functools import partial
from typing import Any

from qtpy.QtWidgets import QLabel

from equilabel.widget import Layer, Viewer
from equilabel.widget.logic.choices import offered
from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.outcomes import Outcome, measure_source, warm_up_measuring
from equilabel.widget.logic.sources import Source
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.tasks import guarded, warn

from .fields import AxesField, StatisticsField, color_field, layer_field, offer_layers
from .layout import Form, Grid, RunForm, column, fold

MISSING = (
    "a labels layer must be open; got none. "
    "Make one with 'Label components (equilabel)', or open a file of labels."
)


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
        self._measured: Layer = None  # of the current run, as the next
        self._outer: Layer = None
        self._seen: Any = None
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

    def _image(self) -> Source | None:
        return None if self.image.value is None else Source.of(self.image.value)

    @guarded
    def _update_fields(self) -> None:
        """Show the statistics that are defined for the layers, and compile what they need."""
        every = layers.labels(self._viewer)
        offer_layers(self.parents, (), [each for each in every if each is not self._layer])
        image = self._image()
        self.color.visible = image is not None and image.rgb
        source = None if self._layer is None else Source.of(self._layer, self.axes.roles)
        self.remark.setText("" if source is None else source.explain_guess())
        self.remark.setVisible(bool(self.remark.text()))
        if source is None or source.problem:
            return
        self.statistics.offer(offered(source, image=image is not None))
        if image is None or len(image.shape) == len(source.shape):
            kind = (source.data.dtype, image and (image.data.dtype, image.rgb), source.roles)
            names = self.statistics.names
            self._warm_up_for(kind, partial(warm_up_measuring, source, image, names))

    @guarded
    def _run(self) -> None:
        """Start measuring, or say why it cannot start."""
        source, image = self._take_source(MISSING, self.axes.roles), self._image()
        self._measured, self._outer = self._layer, self.parents.value
        self._seen = layers.state_of(self._layer)
        work = partial(
            measure_source,
            *(source, image, self.statistics.names),
            color=self.color.value,
            parents=self._outer and layers.labels_source(self._outer),
        )
        self.begin(f"measurements of {source.name!r}", work, ("read", "measure", "relate"))

    def show_outcome(self, outcome: Outcome) -> None:
        """Add the measurements to the table of the labels layer."""
        layer = self._measured
        if layer not in self._viewer.layers:
            message = (
                f"labels must stay open while they are measured; got {layer.name!r} removed. "
                "Open them and measure again."
            )
            raise ValueError(message)
        outer = self._outer if self._outer in self._viewer.layers else None
        layers.show_measurements(layer, outcome, self._seen, outer)
        self.results.show_layer(layer)
        count, seconds = (outcome.metadata[name] for name in ("objects", "seconds"))
        self.message.setText(f"{count_objects(count)}, {seconds:.2f} s. {outcome.note}".strip())
        if outcome.note:
            warn(outcome.note)
