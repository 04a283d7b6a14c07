"""The fields of the form that segments an image, and their values."""

from dataclasses import replace
from functools import partial

from magicgui.widgets import CheckBox, ComboBox, SpinBox
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QLabel

from equilabel.widget.logic.choices import (
    DEPTH,
    Choices,
    connectivities,
    length_unit,
    offered,
    question_smoothing,
)
from equilabel.widget.logic.sources import Source
from equilabel.widget.viewer.tasks import guarded

from .fields import (
    AxesField,
    LengthField,
    StatisticsField,
    color_field,
    device_field,
    field,
    layer_field,
    length,
    method_field,
    offer,
)
from .layout import Form, Grid, column, fold, scrolled, side_by_side
from .threshold import ThresholdField

NO_IMAGE = "Open an image, or a sample: File > Open Sample > equilabel."
BACKGROUNDS = [("Box (top-hat)", "top_hat"), ("Rolling ball", "rolling_ball")]
SPLITS = [("Necks", "shape"), ("Dark lines", "intensity")]
PIXELS = "pixels"
TIPS = {
    "image": "Image layer to find objects in.",
    "unit": "Pixels: the same number along each axis. The unit of the layer: the same length in "
    "all directions, converted with its pixel size.",
    "new_layer": "Keep the labels of earlier runs. Otherwise a run replaces them.",
    "preview": "Show the outline of the objects on the visible plane, and count them.",
}


class SegmentFields(Form):
    """The fields of the form that segments an image."""

    histogram_changed = Signal()  # a value changed on which the histogram or the threshold depends
    outline_changed = Signal()  # a value changed on which only the preview depends

    image = layer_field("Image", TIPS["image"])
    color = color_field("_change_histogram")
    channel = field(SpinBox, "Channel", min=0, max=0, then="_change_histogram")
    unit = field(ComboBox, "Lengths in", TIPS["unit"], choices=[PIXELS], then="_change_unit")
    # The values of fields make a recipe for a first try: that of the guide.
    sigma = length("radius", "Smoothing", start=1.0, then="_change_histogram")
    fill_holes = field(CheckBox, "Fill holes", value=True, then="_change_outline")
    split = field(CheckBox, "Split objects that touch", value=True, then="_change_outline")
    split_by = field(ComboBox, "Split at", choices=SPLITS, then="_change_outline")
    depth = length("depth", "Neck depth", start=DEPTH, least=0.1, step=0.1, then="_change_outline")
    min_size = length(
        "size", "Minimum size", start=30.0, step=10.0, decimals=0, then="_change_outline"
    )
    exclude_border = field(CheckBox, "Drop objects at the border", then="_change_outline")
    track = field(CheckBox, "Follow objects over time")
    background = length("radius", "Background", step=10.0, decimals=0, then="_change_histogram")
    background_method = field(ComboBox, "Found with", choices=BACKGROUNDS, then="_change_histogram")
    closing = length("radius", "Closing", then="_change_outline")
    opening = length("radius", "Opening", then="_change_outline")
    connectivity = field(
        ComboBox, "Neighbors", choices=connectivities(2), value=2, then="_change_outline"
    )
    method = field(method_field, "Method")
    device = field(device_field, "Device")
    new_layer = field(CheckBox, "New layer for each run", TIPS["new_layer"])
    show_preview = field(CheckBox, "Preview", TIPS["preview"], then="_change_outline")

    def __init__(self) -> None:
        super().__init__()
        self.source: Source | None = None  # the image, with the chosen roles of axes
        self._spacing: tuple[float, ...] = (1.0, 1.0)
        self._remarks: dict[str, str] = {}
        # Below the fields, so that these do not move.
        self.remark, self.count = QLabel(wordWrap=True), QLabel()
        changes = (self.histogram_changed.emit, self.outline_changed.emit)
        self.threshold = ThresholdField(*changes, partial(self._say, "threshold"))
        self.axes, self.statistics = AxesField(self.update_axes), StatisticsField()
        self._arrange()
        self.threshold.dark.changed.connect(self._change_histogram)
        self._change_outline()
        self._change_histogram()
        self.show_source(None)

    @property
    def lengths(self) -> tuple[LengthField, ...]:
        """All fields for lengths, which share a unit."""
        shown = (self.threshold.block_size, self.sigma, self.depth, self.min_size)
        return (*shown, self.background, self.closing, self.opening)

    def _arrange(self) -> None:
        main = Grid(
            *(self.color, self.channel, self.unit, *self.threshold.rows, self.sigma),
            *(self.fill_holes, self.split, self.split_by, self.depth, self.min_size),
            *(self.exclude_border, self.track),
        )
        background = (self.background, self.background_method)
        steps = Grid(*background, self.closing, self.opening, self.connectivity)
        self._body = column(
            main,
            fold("More steps", steps),
            fold("Axes", self.axes),
            fold("Statistics", self.statistics),
            fold("Computing", Grid(self.method, self.device, self.new_layer)),
        )
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        width = self.count.fontMetrics().horizontalAdvance("100000000 objects")
        self.count.setFixedSize(width, self.show_preview.native.sizeHint().height())
        self._foot = side_by_side(self.show_preview.native, self.count, widths=(1, 0))
        column(scrolled(Grid(self.image), self._body), self.remark, self._foot, into=self)

    def _say(self, subject: str, text: str) -> None:
        """Show a remark on a subject below the fields, or remove it if the text is ""."""
        self._remarks[subject] = text
        whole = "\n".join(dict.fromkeys(filter(None, self._remarks.values())))
        if whole != self.remark.text():  # setting the same text would lay out the form again
            self.remark.setText(whole)
            self.remark.setVisible(bool(whole))

    def show_count(self, count: str, remark: str) -> None:
        """Show how many objects the preview has, and how it differs from a run."""
        self.count.setText(count)
        self._say("preview", remark)

    def _change_outline(self, *_: object) -> None:
        self.split_by.enabled = bool(self.split.value)
        self.depth.number.enabled = bool(self.split.value) and self.split_by.value == "shape"
        self.outline_changed.emit()

    @guarded
    def _change_unit(self) -> None:
        """Show all lengths in the chosen unit."""
        unit = "" if self.unit.value == PIXELS else self.unit.value
        for each in self.lengths:
            each.show_unit(unit, self._spacing)
        self._change_histogram()

    @guarded
    def _change_histogram(self) -> None:
        self.background_method.enabled = bool(self.background.value)
        if self.source is not None and not self.source.problem:
            self._say("smoothing", question_smoothing(self.source, self.choices()))
        self.histogram_changed.emit()

    def show_source(self, source: Source | None) -> None:
        self.source = source
        self._remarks.clear()
        for part in (self._body, self._foot):
            part.setVisible(source is not None)
        self._say("image", "" if source else NO_IMAGE)
        if source is None:
            self.threshold.show_histogram(None)
            return
        self.axes.show_axes(source)

    @guarded
    def update_axes(self) -> None:
        if self.source is None:
            return
        self.source = source = replace(self.source, roles=self.axes.roles)
        self._say("axes", source.problem or source.explain_guess())
        if source.problem:
            return
        self._say("pixel size", source.doubt_pixel_size())
        self._spacing, unit = source.pixel_size
        rank = len(self._spacing)
        if rank != len(self.connectivity.choices):
            self.connectivity.choices = connectivities(rank)
            self.connectivity.value = rank
        self.statistics.offer(offered(source))
        self.color.visible = source.rgb
        self.channel.visible = "channel" in source.roles
        if "channel" in source.roles:
            self.channel.max = source.shape[source.roles.index("channel")] - 1
        self.track.visible = "time" in source.roles
        unit = length_unit(unit)
        offer(self.unit, [PIXELS, unit] if unit else [PIXELS])
        self.unit.visible = bool(unit)
        self.align()
        self._change_unit()

    def choices(self) -> Choices:
        plain = ("color", "channel", "background_method", "fill_holes", "split_by")
        ticked = ("exclude_border", "track", "method", "device")
        lengths = ("sigma", "closing", "opening", "min_size")
        hops = self.connectivity.value
        return Choices(
            **{name: getattr(self, name).value for name in (*plain, *ticked)},
            **{name: getattr(self, name).choice for name in lengths},
            threshold=self.threshold.choice,
            dark=self.threshold.dark.value,
            block_size=self.threshold.block_size.choice,
            offset=self.threshold.offset.value,
            background=self.background.choice or None,
            connectivity=None if hops == len(self._spacing) else hops,
            split=self.split.value and (self.split_by.value != "shape" or self.depth.choice),
            properties=self.statistics.names,
        )
