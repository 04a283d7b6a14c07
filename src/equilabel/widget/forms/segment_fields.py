"""The fields of the form that segments an image, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magicgui.widgets import CheckBox, ComboBox, SpinBox
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from equilabel.widget.logic.axes import check_roles
from equilabel.widget.logic.choices import Choices, connectivities, question_smoothing
from equilabel.widget.logic.lengths import length_unit
from equilabel.widget.logic.statistics import offered
from equilabel.widget.viewer.notifications import guarded

from .axes import AxesField
from .fields import color_field, device_field, layer_field, method_field
from .layout import Form, Grid, align, fold, scrolled, vertical
from .lengths import LengthFields
from .radii import DEPTH, make_background_method, make_lengths
from .statistics import StatisticsField
from .threshold import ThresholdField

if TYPE_CHECKING:
    from equilabel.widget.logic.sources import Source

NO_IMAGE = "Open an image, or a sample: File > Open Sample > equilabel."


class SegmentFields(Form):
    """The fields of the form that segments an image.

    Attributes
    ----------
    image_changed : Signal()
        Another image layer was chosen.
    histogram_changed : Signal()
        A value has changed on which the histogram or the threshold depends.
    outline_changed : Signal()
        A value has changed on which the preview alone depends.
    remark : QLabel
        Questions and hints, below the fields, so that they move nothing.
    """

    image_changed = Signal()
    histogram_changed = Signal()
    outline_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._source: Source | None = None
        self._spacing: tuple[float, ...] = (1.0, 1.0)
        self._remarks: dict[str, str] = {}
        self._make_image_fields()
        self._make_object_fields()
        self.axes = AxesField(self.update_axes)
        self.statistics = StatisticsField()
        self.method, self.device = method_field(), device_field()
        self.remark, self.count = QLabel(), QLabel()
        self.remark.setWordWrap(True)
        self._arrange()
        self._connect()
        self._allow()
        self.show_source(None)

    def _make_image_fields(self) -> None:
        self.image = layer_field("image", "Image", "Image layer to find objects in.")
        self.color = color_field()
        self.channel = SpinBox(
            name="channel",
            label="Channel",
            min=0,
            max=0,
            tooltip="Channel to find objects in. All channels are measured.",
        )

    def _make_object_fields(self) -> None:
        self.threshold = ThresholdField()
        self.sigma, self.depth, self.min_size, *radii = made = make_lengths()
        self.background, self.closing, self.opening = radii
        self.background_method = make_background_method()
        self.lengths = LengthFields(*made, self.threshold.block_size)
        self.unit = self.lengths.unit
        self.fill_holes = _check("Fill holes", "Fill holes inside objects.")
        self.split = _check(
            "Split objects that touch",
            "Part objects where they have a neck, before they are dropped by size and measured.",
        )
        self.exclude_border = _check(
            "Drop objects at the border",
            "Drop objects that touch the border of the image, where they are cut off.",
        )
        self.track = _check(
            "Follow objects over time",
            "Add columns to the table: which object of a frame is which of the next, and where "
            "objects divide or merge. Those that overlap are taken for the same.",
        )
        self.show_preview = _check(
            "Preview", "Show the outline of the objects on the visible plane, and count them."
        )
        self.new_layer = _check(
            "New layer for each run",
            "Keep the labels of earlier runs. Otherwise a run replaces them.",
        )
        self.connectivity = ComboBox(
            name="connectivity",
            label="Neighbors",
            choices=connectivities(2),
            value=2,
            tooltip="Which pixels are neighbors, and so belong to the same object: those that "
            "share a side, or also those that share a corner only (in 3D a face, an edge, a "
            "corner).",
        )

    def _arrange(self) -> None:
        main = Grid(
            *(self.color, self.channel, self.unit, *self.threshold.rows, self.sigma),
            *(self.fill_holes, self.split, self.depth, self.min_size, self.exclude_border),
            self.track,
        )
        background = (self.background, self.background_method)
        steps = Grid(*background, self.closing, self.opening, self.connectivity)
        self._body = QWidget()
        layout = QVBoxLayout(self._body)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (
            main,
            fold("More steps", steps),
            fold("Axes", self.axes),
            fold("Statistics", self.statistics),
            fold("Computing", Grid(self.method, self.device, self.new_layer)),
        ):
            layout.addWidget(part)
        layout.addStretch()
        self._foot = QWidget()
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.addWidget(self.show_preview.native)
        foot.addStretch()
        foot.addWidget(self.count)
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        width = self.count.fontMetrics().horizontalAdvance("100000000 objects")
        self.count.setFixedSize(width, self.show_preview.native.sizeHint().height())
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        top = vertical(Grid(self.image), self._body, margins=False)
        top.layout().addStretch()
        whole.addWidget(scrolled(top), 1)
        whole.addWidget(self.remark)
        whole.addWidget(self._foot)

    def _connect(self) -> None:
        self.image.changed.connect(lambda: self.image_changed.emit())
        numbers = (self.sigma.number, self.background.number)
        for field in (self.color, self.channel, *numbers, self.background_method):
            field.changed.connect(self._change_histogram)
        self.background.number.changed.connect(self._allow)
        self.lengths.changed.connect(self._change_histogram)
        self.threshold.dark.changed.connect(self._change_dark)
        self.threshold.method_changed.connect(self.histogram_changed)
        self.threshold.moved.connect(self.outline_changed)
        self.threshold.remarked.connect(lambda text: self._say("threshold", text))
        self.split.changed.connect(self._allow)
        lengths = (self.depth, self.min_size, self.closing, self.opening)
        checks = (self.split, self.fill_holes, self.exclude_border, self.show_preview)
        for changed in (*(each.number for each in lengths), *checks, self.connectivity):
            changed.changed.connect(lambda: self.outline_changed.emit())

    def _say(self, subject: str, text: str) -> None:
        """Say something below the fields; nothing more about a subject if it is empty."""
        self._remarks[subject] = text
        whole = "\n".join(filter(None, self._remarks.values()))
        if whole != self.remark.text():  # else the form would be laid out again
            self.remark.setText(whole)
            self.remark.setVisible(bool(whole))

    def show_count(self, count: str, remark: str) -> None:
        """Say how many objects the preview shows, and how it differs from a run."""
        self.count.setText(count)
        self._say("preview", remark)

    def _allow(self, *_: object) -> None:
        """Enable the fields that have an effect."""
        self.depth.number.enabled = bool(self.split.value)
        self.background_method.enabled = bool(self.background.value)

    def _change_dark(self, *_: object) -> None:
        if self.background.number.value:
            self.histogram_changed.emit()

    @guarded
    def _change_histogram(self, *_: object) -> None:
        if self._source is not None and not check_roles(self.axes.roles):
            self._say("smoothing", question_smoothing(self._source, self.choices()))
        self.histogram_changed.emit()

    def show_source(self, source: Source | None) -> None:
        """Show the axes of an image, and fields that suit it."""
        self._source = source
        self._remarks.clear()
        self._body.setVisible(source is not None)
        self._foot.setVisible(source is not None)
        self._say("image", "" if source else NO_IMAGE)
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
        self._say("axes", problem)
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
        self.track.visible = "time" in roles
        self.lengths.show_units(length_unit(unit), self._spacing)
        self._say("axes", source.explain_guess(roles))
        align(self)
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
            background=self.background.choice or None,
            background_method=self.background_method.value,
            sigma=self.sigma.choice,
            dark=self.threshold.dark.value,
            block_size=self.threshold.block_size.choice,
            offset=self.threshold.offset.value,
            closing=self.closing.choice,
            opening=self.opening.choice,
            fill_holes=self.fill_holes.value,
            connectivity=None if hops == rank else hops,
            split=self.split.value and (self.depth.choice == DEPTH or self.depth.choice),
            min_size=self.min_size.choice,
            exclude_border=self.exclude_border.value,
            track=self.track.value,
            properties=self.statistics.names,
            method=self.method.value,
            device=self.device.value,
        )


def _check(text: str, tooltip: str) -> CheckBox:
    return CheckBox(text=text, tooltip=tooltip)
