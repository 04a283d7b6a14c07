"""The form that finds objects: an image layer in, a labels layer and its table out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox, SpinBox
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QLabel, QTabWidget, QVBoxLayout, QWidget

from .axes import complain
from .choices import Choices, connectivities, pixels_of, size_of, unit_of_size
from .fields import AxesField, StatisticsField, column, device_field, fold, method_field, scrolled
from .flow import segment_source, warm_up
from .histograms import look
from .layers import camera, find_result, images, labels, put_labels
from .notifying import guarded, inform, warn
from .previewing import Preview
from .repeating import batch_command, line_of_python
from .results import ResultsPanel
from .runbar import RunBar
from .running import Latest
from .sources import COLORS, Source
from .statistics import offered
from .thresholds import ThresholdField
from .watching import watch_layers, while_alive

if TYPE_CHECKING:
    from .flow import Outcome
    from .histograms import Found, Spread

STEPS = ("read", "binarize", "fill", "label", "drop", "measure")


class SegmentForm(QWidget):
    """Find the objects of an image layer.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        Whose layers are offered.
    """

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        self._viewer = napari_viewer
        self._layer: Any = None
        self._source: Source | None = None
        self._spacing: tuple[float, ...] = (1.0, 1.0)
        self._build()
        self.preview = Preview(napari_viewer)
        self._latest = Latest(self)
        self._latest.answered.connect(self._show_look)
        self._latest.failed.connect(warn)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._draw_preview)
        self._connect()
        self.refresh_layers()
        self._warm = Latest(self)
        self._warm.ask(warm_up)

    # ------------------------------------------------------------- the form

    def _build(self) -> None:
        self.image = ComboBox(
            name="image", label="Image", choices=[], nullable=True, tooltip="The image layer."
        )
        self.color = ComboBox(
            name="color",
            label="Color",
            choices=list(COLORS),
            tooltip="What to look for objects in, and to measure: the luminance, or one color.",
        )
        self.channel = SpinBox(
            name="channel", label="Channel", min=0, max=0, tooltip="In which objects are found."
        )
        self.threshold = ThresholdField()
        self.sigma = FloatSpinBox(
            name="sigma",
            label="Smoothing",
            min=0.0,
            max=1e6,
            step=0.5,
            tooltip="Standard deviation of a Gaussian before the threshold, in the unit of the "
            "layer; 0 for none. Gray values are measured before it.",
        )
        self.fill_holes = CheckBox(name="fill_holes", text="Fill holes")
        self.show_preview = CheckBox(
            name="preview",
            text="Preview",
            tooltip="Outline what the threshold finds on the visible plane.",
        )
        self.connectivity = ComboBox(
            name="connectivity",
            label="Neighbors",
            choices=connectivities(2),
            value=2,
            tooltip="Which pixels belong to the same object.",
        )
        self.min_size = SpinBox(
            name="min_size",
            label="Least size, pixels",
            min=0,
            max=2**31 - 1,
            tooltip="Objects of fewer pixels are dropped.",
        )
        self.min_area = FloatSpinBox(
            name="min_area",
            label="Least size",
            min=0.0,
            max=1e15,
            step=1.0,
            tooltip="The same in the unit of the layer.",
        )
        self.exclude_border = CheckBox(
            name="exclude_border",
            text="Drop objects at the border",
            tooltip="They are cut off: their sizes mean little.",
        )
        self.axes = AxesField(self._change_axes)
        self.statistics = StatisticsField()
        self.method, self.device = method_field(), device_field()
        self.anew = CheckBox(
            name="anew",
            text="New layer for each run",
            tooltip="Otherwise a run replaces the labels of the one before.",
        )
        self.remark = QLabel()
        self.remark.setWordWrap(True)
        form = QWidget()
        layout = QVBoxLayout(form)
        for part in (
            column(self.image, self.color, self.channel).native,
            self.threshold,
            column(self.sigma, self.fill_holes, self.show_preview).native,
            self.remark,
            column(self.connectivity, self.min_size, self.min_area, self.exclude_border).native,
            fold("Axes", self.axes),
            fold("Statistics", self.statistics),
            fold("Computing", column(self.method, self.device, self.anew).native),
        ):
            layout.addWidget(part)
        layout.addStretch()
        self.bar = RunBar("Find objects", self)
        self.run_button, self.cancel_button = self.bar.run_button, self.bar.cancel_button
        find = QWidget()
        inner = QVBoxLayout(find)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(scrolled(form))
        inner.addWidget(self.bar)
        self.results = ResultsPanel(self._viewer)
        self.tabs = QTabWidget()
        self.tabs.addTab(find, "Find objects")
        self.tabs.addTab(self.results, "Look at them")
        QVBoxLayout(self).addWidget(self.tabs)
        self.setMinimumWidth(340)

    def _connect(self) -> None:
        self.image.changed.connect(self._take_image)
        for field in (self.color, self.channel, self.sigma):
            field.changed.connect(self._look)
        self.threshold.method_changed.connect(self._look)
        self.threshold.moved.connect(self._preview_soon)
        self.show_preview.changed.connect(self._preview_soon)
        self.min_size.changed.connect(self._show_area)
        self.min_area.changed.connect(self._show_pixels)
        self.bar.wanted.connect(self._run)
        self.bar.done.connect(self._show_outcome)
        watch_layers(self._viewer, self.refresh_layers)
        for event in (
            self._viewer.dims.events.point,
            self._viewer.dims.events.ndisplay,
            self._viewer.dims.events.order,
            camera(self._viewer).events.zoom,
        ):
            event.connect(self._preview_soon)

    # ------------------------------------------------------------ the layer

    @while_alive
    def refresh_layers(self) -> None:
        """Offer the layers there are now."""
        offered_now = images(self._viewer)
        before = self.image.value
        with self.image.changed.blocked():
            self.image.choices = [(layer.name, layer) for layer in offered_now]
            if before in offered_now:
                self.image.value = before
            elif offered_now:
                self.image.value = offered_now[-1]
        if self.image.value is not self._layer:
            self._take_image()

    @guarded
    def _take_image(self) -> None:
        """Take another layer as the image."""
        if self._layer is not None:
            self._layer.events.data.disconnect(self._take_pixels)
        self._layer = self.image.value
        self.preview.forget()
        if self._layer is None:
            self._source = None
            self.threshold.show_spread(None)
            self._preview_soon()  # not now: the list of layers is being changed
            return
        self._layer.events.data.connect(self._take_pixels)
        self._source = Source.of(self._layer)
        self.axes.show_axes(
            self._source.guess(), self._source.shape, self._source.transform["axis_labels"]
        )
        self._change_axes()

    @guarded
    def _take_pixels(self) -> None:
        """Look again: the pixels of the layer have changed."""
        if self._layer is None:
            return
        shape = None if self._source is None else self._source.shape
        self._source = Source.of(self._layer)
        self.preview.forget()
        if self._source.shape != shape:
            self._take_image()
        else:
            self._look()

    @guarded
    def _change_axes(self) -> None:
        """Offer what suits the axes."""
        if self._source is None:
            return
        roles = self.axes.roles
        complaint = complain(roles)
        if complaint:
            self.remark.setText(complaint)
            return
        self._spacing, unit = self._source.spacing(roles)
        rank = len(self._spacing)
        offer = connectivities(rank)
        if len(offer) != len(self.connectivity.choices) or rank != self._rank_offered():
            self.connectivity.choices = offer
            self.connectivity.value = offer[-1][1]
        self.statistics.offer(offered(self._spacing, stacked="time" in roles))
        self.color.visible = self._source.rgb
        self.channel.visible = "channel" in roles
        if "channel" in roles:
            self.channel.max = self._source.shape[roles.index("channel")] - 1
        calibrated = set(self._spacing) != {1.0} or bool(unit)
        self.sigma.label = f"Smoothing, {unit or ('units' if calibrated else 'pixels')}"
        self.min_area.visible = calibrated
        self.min_area.label = f"Least size, {unit_of_size(unit, rank)}"
        self._show_area()
        self._look()

    def _rank_offered(self) -> int:
        return len(self.connectivity.choices)

    @guarded
    def _show_area(self) -> None:
        with self.min_area.changed.blocked():
            self.min_area.value = size_of(self.min_size.value, self._spacing)

    @guarded
    def _show_pixels(self) -> None:
        with self.min_size.changed.blocked():
            self.min_size.value = pixels_of(self.min_area.value, self._spacing)

    def choices(self) -> Choices:
        """Return what is chosen in the form."""
        rank = len(self._spacing)
        hops = self.connectivity.value
        return Choices(
            roles=self.axes.roles,
            color=self.color.value,
            channel=self.channel.value,
            threshold=self.threshold.choice,
            sigma=self.sigma.value,
            dark=self.threshold.dark.value,
            block_size=self.threshold.block_size.value | 1,
            offset=self.threshold.offset.value,
            fill_holes=self.fill_holes.value,
            connectivity=None if hops == rank else hops,
            min_size=self.min_size.value,
            exclude_border=self.exclude_border.value,
            properties=self.statistics.names,
            method=self.method.value,
            device=self.device.value,
        )

    # ---------------------------------------------------- before a run: look

    @guarded
    def _look(self) -> None:
        """Ask for the histogram, and for the threshold a method finds."""
        source = self._source
        if source is None or complain(self.axes.roles):
            return
        if 0 in source.shape:
            self.threshold.show_spread(None)
            return
        choices = self.choices()
        point, displayed = self.preview.place(self._layer)
        self._latest.ask(lambda: look(source, choices, point, displayed))

    def _show_look(self, answer: tuple[Spread, Found]) -> None:
        seen, found = answer
        self.threshold.show_spread(seen)
        self.threshold.show_found(found)
        self._preview_soon()

    # --------------------------------------------------------------- preview

    @while_alive
    def _preview_soon(self) -> None:
        """Draw the preview when the events at hand are through."""
        if self.show_preview.value or self.preview.layer is not None:
            self._soon.start(0)

    @guarded
    def _draw_preview(self) -> None:
        if not self.show_preview.value or self._layer is None or self._source is None:
            self.preview.remove()
            self.remark.setText("")
            return
        if 0 in self._source.shape or complain(self.axes.roles):
            return
        level = self.threshold.level
        self.remark.setText(self.preview.draw(self._layer, self._source, self.choices(), level))

    def hideEvent(self, event: Any) -> None:
        """Take the preview off with the form."""
        self.show_preview.value = False
        self.preview.remove()
        super().hideEvent(event)

    # ------------------------------------------------------------------- run

    @guarded
    def _run(self) -> None:
        """Begin a run, or say why it cannot begin."""
        problem = self._problem()
        if problem:
            warn(problem)
            return
        source, choices = Source.of(self._layer), self.choices()
        self.bar.begin(
            f"objects of {source.name!r}", lambda tell: segment_source(source, choices, tell), STEPS
        )

    def _problem(self) -> str:
        if self._layer is None or self._layer not in self._viewer.layers:
            others = labels(self._viewer)
            if others:
                return (
                    f"an image layer must be open; got {others[-1].name!r}, a layer of labels. "
                    "Open the image, or measure the labels with 'Measure labels (equilabel)'."
                )
            return (
                "an image layer must be open; got none. "
                "Open an image, or a sample under File > Open Sample > equilabel."
            )
        shape = Source.of(self._layer).shape
        if 0 in shape:
            return (
                f"image must hold pixels; got shape {shape} for {self._layer.name!r}. Open another."
            )
        return complain(self.axes.roles)

    @guarded
    def _show_outcome(self) -> None:
        outcome: Outcome = self.bar.result
        made = outcome.metadata
        layer = put_labels(self._viewer, outcome, anew=self.anew.value)
        self.show_preview.value = False
        self.results.show_layer(layer)
        self.bar.say(self.results.summary.text())
        if self._layer not in self._viewer.layers and not any(
            each.name == made["image"] for each in images(self._viewer)
        ):
            inform(f"The image {made['image']!r} was removed meanwhile; its labels are kept.")
        for note in outcome.notes:
            warn(note)

    # ---------------------------------------------------------------- repeat

    def line_of_python(self) -> str:
        """Write what the form says as a line of Python; empty without an image."""
        return "" if self._source is None else line_of_python(self._source, self.choices())

    def batch_command(self) -> str:
        """Write what the form says as a command; empty where there is none."""
        return "" if self._source is None else batch_command(self._source, self.choices())

    def result(self) -> Any:
        """Return the labels layer of the image, if there is one."""
        return None if self._layer is None else find_result(self._viewer, self._layer.name)
