"""The fields of the form that segments an image, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox, SpinBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QLabel, QVBoxLayout, QWidget

from equilabel.widget.logic.axes import check_roles
from equilabel.widget.logic.choices import (
    Choices,
    connectivities,
    decimals_for,
    pixels_of,
    size_of,
    unit_of_size,
)
from equilabel.widget.logic.smoothing import describe_smoothing, length_unit
from equilabel.widget.logic.sources import COLORS
from equilabel.widget.logic.statistics import offered
from equilabel.widget.viewer.notifications import guarded

from .axes import AxesField
from .fields import device_field, method_field
from .layout import column, fold
from .smoothing import SmoothingField
from .splitting import SplittingField
from .statistics import StatisticsField
from .threshold import ThresholdField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.widget.logic.sources import Source
    from equilabel.widget.napari_types import Layer


class SegmentFields(QWidget):
    """The fields of the form that segments an image.

    Attributes
    ----------
    image_changed : Signal()
        Another image layer was chosen.
    histogram_changed : Signal()
        A value has changed on which the histogram or the threshold depends.
    outline_changed : Signal()
        A value has changed on which the preview alone depends.
    """

    image_changed = Signal()
    histogram_changed = Signal()
    outline_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._source: Source | None = None
        self._spacing: tuple[float, ...] = (1.0, 1.0)
        self._make_image_fields()
        self._make_object_fields()
        self._make_size_fields()
        self.axes = AxesField(self.update_axes)
        self.statistics = StatisticsField()
        self.method, self.device = method_field(), device_field()
        self.remark = QLabel()
        self.remark.setWordWrap(True)
        self.axes_remark = QLabel()
        self.axes_remark.setWordWrap(True)
        self._arrange()
        self._connect()

    def _make_image_fields(self) -> None:
        self.image = ComboBox(
            name="image",
            label="Image",
            choices=[],
            nullable=True,
            tooltip="Image layer to find objects in.",
        )
        self.color = ComboBox(
            name="color",
            label="Color",
            choices=list(COLORS),
            tooltip="Gray values of a color image: its luminance, or one of its colors.",
        )
        self.channel = SpinBox(
            name="channel",
            label="Channel",
            min=0,
            max=0,
            tooltip="Channel to find objects in. All channels are measured.",
        )

    def _make_object_fields(self) -> None:
        self.threshold = ThresholdField()
        self.smoothing = SmoothingField()
        self.sigma, self.sigma_unit = self.smoothing.number, self.smoothing.unit
        self.fill_holes = CheckBox(
            name="fill_holes", text="Fill holes", tooltip="Fill holes inside objects."
        )
        self.splitting = SplittingField()
        self.show_preview = CheckBox(
            name="preview",
            text="Preview",
            tooltip="Show the outline of the objects on the visible plane.",
        )
        self.connectivity = ComboBox(
            name="connectivity",
            label="Neighbors",
            choices=connectivities(2),
            value=2,
            tooltip="Which pixels are neighbors, and so belong to the same object.",
        )

    def _make_size_fields(self) -> None:
        self.min_size = SpinBox(
            name="min_size",
            label="Minimum size, pixels",
            min=0,
            max=2**31 - 1,
            tooltip="Objects of fewer pixels are dropped.",
        )
        self.min_area = FloatSpinBox(
            name="min_area",
            label="Minimum size",
            min=0.0,
            max=1e15,
            step=1.0,
            tooltip="The minimum size in the unit of the layer.",
        )
        self.exclude_border = CheckBox(
            name="exclude_border",
            text="Drop objects at the border",
            tooltip="Drop objects that touch the border of the image, where they are cut off.",
        )
        self.new_layer = CheckBox(
            name="new_layer",
            text="New layer for each run",
            tooltip="Keep the labels of earlier runs. Otherwise a run replaces them.",
        )

    def _arrange(self) -> None:
        layout = QVBoxLayout(self)
        for part in (
            column(self.image, self.color, self.channel).native,
            self.axes_remark,
            self.threshold,
            self.smoothing,
            column(self.fill_holes).native,
            self.splitting,
            column(self.show_preview).native,
            self.remark,
            column(self.connectivity, self.min_size, self.min_area, self.exclude_border).native,
            fold("Axes", self.axes),
            fold("Statistics", self.statistics),
            fold("Computing", column(self.method, self.device, self.new_layer).native),
        ):
            layout.addWidget(part)
        layout.addStretch()

    def _connect(self) -> None:
        self.image.changed.connect(self._change_image)
        self.smoothing.changed.connect(self._change_histogram)
        for field in (self.color, self.channel):
            field.changed.connect(self._change_histogram)
        self.threshold.method_changed.connect(self.histogram_changed)
        self.threshold.moved.connect(self.outline_changed)
        for changed in (self.show_preview, self.splitting, self.fill_holes, self.connectivity):
            changed.changed.connect(self._change_outline)
        self.min_size.changed.connect(self._show_area)
        self.min_area.changed.connect(self._show_pixels)

    def _change_image(self, *_: object) -> None:
        self.image_changed.emit()

    @guarded
    def _change_histogram(self, *_: object) -> None:
        if self._source is not None and not check_roles(self.axes.roles):
            self.smoothing.show_remark(describe_smoothing(self._source, self.choices()))
        self.histogram_changed.emit()

    def _change_outline(self, *_: object) -> None:
        self.outline_changed.emit()

    def show_layers(self, layers: Sequence[Layer]) -> None:
        """Show the image layers that can be chosen; the last is chosen if the old one is gone."""
        before = self.image.value
        with self.image.changed.blocked():
            self.image.choices = [(layer.name, layer) for layer in layers]
            if before in layers:
                self.image.value = before
            elif layers:
                self.image.value = layers[-1]

    def show_source(self, source: Source | None) -> None:
        """Show the axes of an image, and fields that suit it."""
        self._source = source
        if source is None:
            self.threshold.show_histogram(None)
            return
        names = source.transform["axis_labels"]
        self.axes.show_axes(source.guess(), source.shape, names)
        self.update_axes()

    @guarded
    def update_axes(self) -> None:
        """Show fields that suit the roles of the axes."""
        source, roles = self._source, self.axes.roles
        if source is None:
            return
        problem = check_roles(roles)
        self.remark.setText(problem)
        if problem:
            return
        self._spacing, unit = source.spacing(roles)
        rank = len(self._spacing)
        if rank != len(self.connectivity.choices):
            self.connectivity.choices = connectivities(rank)
            self.connectivity.value = rank
        self.statistics.offer(offered(self._spacing, stacked="time" in roles))
        self.color.visible = source.rgb
        self.channel.visible = "channel" in roles
        if "channel" in roles:
            self.channel.max = source.shape[roles.index("channel")] - 1
        calibrated = set(self._spacing) != {1.0} or bool(unit)
        self.smoothing.show_units(length_unit(unit), self._spacing)
        self.min_area.visible = calibrated
        self.min_area.native.setDecimals(decimals_for(size_of(1, self._spacing)))
        self.min_area.label = f"Minimum size, {unit_of_size(unit, rank)}"
        self._show_area()
        guess = source.explain_guess(roles)
        self.axes_remark.setText(guess)
        self.axes_remark.setVisible(bool(guess))
        self._change_histogram()

    def choices(self) -> Choices:
        """Return the values of the fields."""
        rank = len(self._spacing)
        hops = self.connectivity.value
        return Choices(
            roles=self.axes.roles,
            color=self.color.value,
            channel=self.channel.value,
            threshold=self.threshold.choice,
            sigma=self.smoothing.choice,
            dark=self.threshold.dark.value,
            block_size=self.threshold.block_size.value | 1,
            offset=self.threshold.offset.value,
            fill_holes=self.fill_holes.value,
            connectivity=None if hops == rank else hops,
            split=self.splitting.choice,
            min_size=self.min_size.value,
            exclude_border=self.exclude_border.value,
            properties=self.statistics.names,
            method=self.method.value,
            device=self.device.value,
        )

    @guarded
    def _show_area(self) -> None:
        with self.min_area.changed.blocked():
            self.min_area.value = size_of(self.min_size.value, self._spacing)

    @guarded
    def _show_pixels(self) -> None:
        with self.min_size.changed.blocked():
            self.min_size.value = pixels_of(self.min_area.value, self._spacing)
