"""Fields of forms: lengths, levels, layers, methods, devices, roles of axes, statistics."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox
from qtpy import QtWidgets
from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtWidgets import QLabel, QTreeWidget, QTreeWidgetItem, QWidget
from superqt import QLabeledDoubleRangeSlider, QLabeledDoubleSlider
from superqt.utils import signals_blocked

import equilabel
from equilabel.colors import COLORS
from equilabel.options import describe
from equilabel.quantities import POWERS, decimals_for, describe_pixels, odd, pixel_of
from equilabel.widget import Event, Layer
from equilabel.widget.logic.choices import GROUPS, TICKED
from equilabel.widget.logic.sources import ROLES, Role, Source, name_axes

from .layout import Grid, column, side_by_side

# ---- Lengths


WHOLE: dict[str, Callable[[float], int]] = {"size": int, "block": odd}  # rounding of pixels
MEASURED = 86  # width of the number of pixels after a number with a unit


def length(kind: str, label: str, **options: Any) -> Any:
    """Declare a field for a length or size of a kind."""
    return field(LengthField, label, kind=kind, **options)


@dataclass(eq=False)
class LengthField:
    """A length or size of a kind, then its value in pixels; arguments are in pixels."""

    label: str
    tooltip: str
    kind: str
    start: float = 0.0
    least: float = 0.0
    most: float = 1e15
    step: float = 0.5
    decimals: int = 2

    def __post_init__(self) -> None:
        self._unit = ""
        self._spacing: tuple[float, ...] = (1.0,)
        self.number = FloatSpinBox(min=self.least, max=self.most, tooltip=self.tooltip)
        self.changed = self.number.changed
        self.number.native.lineEdit().textEdited.connect(self._take_comma)
        self.pixels = QLabel()  # a length with a unit, in pixels
        self.pixels.setFixedWidth(MEASURED)
        self.native = side_by_side(self.number.native, self.pixels, widths=(1, 0))
        if not self.least:
            self.number.native.setSpecialValueText("none")
        self._show_unit()
        self.value = self.start
        self.changed.connect(self._show_pixels)

    def _take_comma(self, text: str) -> None:
        """Take a decimal comma for a point; Qt takes it for a separator of thousands."""
        edit = self.number.native.lineEdit()
        if "," in text and self.number.native.decimals():
            place = edit.cursorPosition()
            edit.setText(text.replace(",", "."))
            edit.setCursorPosition(place)

    @property
    def value(self) -> float:
        return float(self.number.value)

    @value.setter
    def value(self, number: float) -> None:
        self.number.value = number

    @property
    def choice(self) -> float | str:
        """The argument of `equilabel.segment`: a number of pixels, or text with a unit."""
        if self._unit and self.value:
            return f"{self.value:.15g}{self._suffix}"
        return WHOLE.get(self.kind, float)(self.value)

    def show_unit(self, unit: str, spacing: Sequence[float]) -> None:
        """Show the same length in another unit, or in pixels for ""."""
        if self.kind == "size" and len(spacing) not in POWERS:
            unit = ""
        value, pixel, same = self.value, self._pixel, unit == self._unit
        self._unit, self._spacing = unit, tuple(spacing)
        with self.changed.blocked():
            self._show_unit()
            self.value = self._rounded(value if same else value / pixel * self._pixel)
        self._show_pixels()

    def _rounded(self, value: float) -> float:
        """Round to the decimals shown; a size so that it stays the same number of pixels."""
        decimals = int(self.number.native.decimals())
        if self.kind != "size":
            return round(value, decimals)
        nearest = math.floor if self._unit else math.ceil
        return nearest(round(value * 10.0**decimals, 6)) / 10.0**decimals

    @property
    def _pixel(self) -> float:
        return pixel_of(self.kind, self._spacing) if self._unit else 1.0

    @property
    def _suffix(self) -> str:
        return self._unit + (POWERS[len(self._spacing)] if self.kind == "size" else "")

    def _show_unit(self) -> None:
        """Show the unit, with as many decimals as a pixel needs in it."""
        native, pixel, decimals = self.number.native, self._pixel, self.decimals
        if self._unit:
            block = self.kind == "block"  # rounded to an odd number of pixels
            decimals = decimals_for(10 * pixel) if block else max(3, decimals_for(pixel))
        native.setDecimals(decimals)
        self.number.min, self.number.max = self.least * pixel, self.most * pixel
        self.number.step = float(f"{self.step * pixel:.1g}")
        native.setSuffix(f" {self._suffix}" if self._unit else " px")
        self.pixels.setVisible(bool(self._unit))

    def _show_pixels(self, *_: object) -> None:
        text = describe_pixels(self.kind, self.value, self._spacing) if self._unit else ""
        self.pixels.setText(text)
        self.pixels.setToolTip(text)


# ---- Sliders for a level and a range


HEIGHT = 28  # of a slider
EDGES = QLabeledDoubleRangeSlider.EdgeLabelMode
STEPS = {
    **dict.fromkeys((Qt.Key.Key_Left, Qt.Key.Key_Down), -1),
    **dict.fromkeys((Qt.Key.Key_Right, Qt.Key.Key_Up), 1),
    **{Qt.Key.Key_PageDown: -10, Qt.Key.Key_PageUp: 10},
    **{Qt.Key.Key_Home: -np.inf, Qt.Key.Key_End: np.inf},
}
KEYS = "Arrows, Page Up, Page Down, Home and End move the lower end, with Shift the upper."


class _Keys(QObject):
    """Moves a handle of a slider with the keys for it, which superqt does not support."""

    def eventFilter(self, slider: Any, event: Event) -> bool:
        steps = STEPS.get(event.key()) if event.type() == QEvent.Type.KeyPress else None
        if steps:
            values = np.atleast_1d(slider.value())
            upper = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            low, high = slider.minimum(), slider.maximum()
            if len(values) > 1:  # the handles do not pass each other
                low, high = (values[0], high) if upper else (low, values[1])
            values[-upper] = np.clip(values[-upper] + steps * slider.singleStep(), low, high)
            slider.setValue(tuple(values) if len(values) > 1 else values[0])
        return bool(steps)


def make_slider(*, several: bool = False) -> Any:
    """Make a slider with a field for its value, or with two handles between two fields."""
    kind = QLabeledDoubleRangeSlider if several else QLabeledDoubleSlider
    slider = kind(Qt.Orientation.Horizontal)
    if several:
        slider.setHandleLabelPosition(kind.LabelPosition.NoLabel)
        slider.setEdgeLabelMode(EDGES.LabelIsValue)
    slider.setFixedHeight(HEIGHT)
    for inner in slider.findChildren(QtWidgets.QAbstractSlider):
        inner.installEventFilter(_Keys(inner))
    return slider


def set_range(slider: Any, low: float, high: float, step: float, decimals: float) -> None:
    """Set the range, step and decimals of a slider, and make its fields wide enough."""
    largest = max(abs(low), abs(high))
    plain = 1e-3 < largest < 1e7 or largest == 0
    places = int(np.clip(decimals, 0, 9)) if plain else 4
    widest = f"-{largest:.{places}f}" if plain else "-1.0000e+00"
    with signals_blocked(slider):
        slider.setRange(low, high)
        slider.setSingleStep(step)
        for shown in slider.findChildren(QtWidgets.QLineEdit):
            shown.setMinimumWidth(shown.fontMetrics().horizontalAdvance(widest))
        slider.setDecimals(places)


# ---- Other fields


AXES = (
    "Space: objects extend along this axis. Time: the images along it are independent. "
    "Channel: objects are found in one channel, and measured in all."
)
# napari's style has no box for unticked items of a tree.
BOX = "QTreeView::indicator:unchecked {border: 1px solid gray; width: 9px; height: 9px;}"
STATES = (Qt.CheckState.Unchecked, Qt.CheckState.Checked)


def field(
    kind: Callable[..., Any], label: str, tooltip: str = "", /, *, then: str = "", **options: Any
) -> Any:
    """Declare a field, made when a form first uses it; changes call its method named `then`."""
    words = "text" if kind is CheckBox else "label"

    def make(form: Any) -> Any:
        hint = tooltip or describe(declared.attrname or "")
        made = kind(**{words: label}, tooltip=hint, **options)
        if then:
            made.changed.connect(getattr(form, then))
        return made

    declared = cached_property(make)
    return declared


def layer_field(label: str, tooltip: str, then: str = "") -> Any:
    """Declare a field for a layer, whose choices are set by `offer_layers`."""
    return field(ComboBox, label, tooltip, choices=[], nullable=True, then=then)


def color_field(then: str = "") -> Any:
    """Declare a field for the gray values of a color image."""
    hint = "Gray values of a color image: its luminance, or one of its colors."
    return field(ComboBox, "Color", hint, choices=COLORS, then=then)


def device_field(**words: str) -> ComboBox:
    """Make a field for the device; tooltips say why a device cannot be used."""
    reports = equilabel.devices()
    hints = {each.name: each.description if each.available else each.reason for each in reports}
    made = _explained(hints, **words)
    for number, report in enumerate(reports, start=1):
        made.native.model().item(number).setEnabled(report.available)
    return made


def method_field(**words: str) -> ComboBox:
    """Make a field for the method, with a tooltip for each."""
    rows = [row for row in equilabel.METHODS.values() if "grid" in row.domains]
    return _explained({row.name: row.summary for row in rows}, **words)


def _explained(hints: dict[str, str], *, label: str, tooltip: str) -> ComboBox:
    """Make a field for "auto" and other choices, with a hint for each of them."""
    tooltip = "\n".join([tooltip, *(f"{each}: {hint}" for each, hint in hints.items())])
    made = ComboBox(label=label, choices=["auto", *hints], tooltip=tooltip)
    for number, hint in enumerate(hints.values(), start=1):
        made.native.model().item(number).setToolTip(hint)
    return made


def offer(field: ComboBox, choices: Any, usual: Any = None) -> None:
    """Set the choices of a field; its value is kept if it is among them, else it is `usual`."""
    before = field.value
    with field.changed.blocked():
        field.choices = choices
        if before is not None and before in field.choices:
            field.value = before
        elif usual is not None:
            field.value = usual


def offer_layers(field: ComboBox, layers: Sequence[Layer], others: Sequence[Layer] = ()) -> None:
    """Offer layers, the last one at first, and others that only a person can choose."""
    offered = [each for each in field.choices if each is not None and each not in others]
    left_empty = field.value is None and bool(offered)
    usual = layers[-1] if layers and not left_empty else None
    offer(field, [(each.name, each) for each in (*layers, *others)], usual)


class AxesField(QWidget):
    """A field for the role of each axis of a layer; calls `changed` when one changes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        self._fields: list[ComboBox] = []
        self._grid = Grid()
        column(self._grid, into=self)

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(field.value for field in self._fields)

    def show_axes(self, source: Source) -> None:
        """Show the axes of another layer; this counts as a change."""
        self._source = source
        self._fields = [ComboBox(choices=ROLES, value=role, tooltip=AXES) for role in source.roles]
        for field in self._fields:
            field.changed.connect(self._change)
        old, self._grid = self._grid, Grid(*self._fields)
        self.layout().replaceWidget(old, self._grid)
        old.hide()
        old.deleteLater()
        self._change()

    def _change(self, *_: object) -> None:
        """Label the fields with the names that axes have in their roles."""
        names = name_axes(self.roles, self._source.transform["axis_labels"])
        for title, name, length in zip(self._grid.titles, names, self._source.shape, strict=True):
            title.setText(f"{name} ({length})")
        self._changed()


class StatisticsField(QTreeWidget):
    """Statistics with check boxes, in groups, each with a tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setMinimumHeight(240)
        self.setStyleSheet(BOX)
        self._items: dict[str, QTreeWidgetItem] = {}
        self._known: dict[str, bool] = {}  # ticks, also of what is not offered now
        self._groups = {title: QTreeWidgetItem(self, [title]) for title in GROUPS}
        for group in self._groups.values():
            group.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self._groups[TICKED].setExpanded(True)

    def offer(self, groups: Mapping[str, Sequence[Any]]) -> None:
        """Show properties by groups; those that were ticked or unticked before stay so."""
        self._known |= self.ticks
        self._items.clear()
        for title, rows in groups.items():
            group = self._groups[title]
            group.takeChildren()
            group.setHidden(not rows)
            for row in rows:
                self._items[row.name] = item = QTreeWidgetItem(group, [row.name])
                item.setToolTip(0, row.summary)
                self.tick(row.name, self._known.get(row.name, title == TICKED))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, ticked in self.ticks.items() if ticked)

    @property
    def ticks(self) -> dict[str, bool]:
        return {name: item.checkState(0) == STATES[1] for name, item in self._items.items()}

    def tick(self, name: str, ticked: bool = True) -> None:
        self._items[name].setCheckState(0, STATES[ticked])
