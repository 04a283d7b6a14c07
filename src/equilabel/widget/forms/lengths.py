"""Fields for lengths and sizes: a number, in pixels or in the unit of the layer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from magicgui.widgets import ComboBox, FloatSpinBox
from magicgui.widgets.bases import Widget
from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QAbstractSpinBox, QHBoxLayout, QLabel, QWidget

from equilabel.widget.logic.choices import decimals_for, describe_pixels, odd, pixel_of
from equilabel.widget.viewer.notifications import guarded

from .fields import field, offer

PIXELS = "pixels"
POWERS = {1: "", 2: "²", 3: "³"}
WHOLE: dict[str, Callable[[float], int]] = {"size": int, "block": odd}  # pixels of these kinds
MEASURED = 86  # width of what stands behind a number with a unit
MEASURED_BESIDE = 76  # where another field follows; both have room for a number alone
NARROW = "min-width: 50px; padding: 1px 4px"
UNITS = (
    "Pixels: the same number along each axis. The unit of the layer: the same length in all "
    "directions, converted with its pixel size."
)


def length(kind: str, label: str, tooltip: str, **options: float) -> Any:
    """Declare a field for a length or size of a kind."""
    return field(LengthField, label, tooltip, kind=kind, **options)


@dataclass(eq=False)
class LengthField:
    """A length or a size, and what it comes to in pixels, which `pixel_of` a kind says.

    What is shown at the start, the least number and the greatest, the step of the arrows and the
    decimals are those in pixels. Another field may stand beside it in the same row.
    """

    label: str
    tooltip: str
    kind: str
    start: float = 0.0
    least: float = 0.0
    most: float = 1e15
    step: float = 0.5
    decimals: int = 2
    beside: Widget | None = None

    def __post_init__(self) -> None:
        self._unit = ""
        self._spacing: tuple[float, ...] = (1.0,)
        self.number = FloatSpinBox(min=self.least, max=self.most, tooltip=self.tooltip)
        self.changed = self.number.changed
        self._pixels = QLabel()
        self._pixels.setFixedWidth(MEASURED if self.beside is None else MEASURED_BESIDE)
        self.native = QWidget()
        row = QHBoxLayout(self.native)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.number.native, 3)
        row.addWidget(self._pixels)
        if self.beside is not None:
            row.addWidget(self.beside.native, 2)
            for each in (self.number.native, self.beside.native):
                each.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.NoButtons)
                each.setStyleSheet(NARROW)
        if not self.least:
            self.number.native.setSpecialValueText("none")
        self._show_unit()
        self.value = self.start
        self.number.changed.connect(self._show_pixels)

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

    @property
    def pixels(self) -> str:
        """What a length with a unit comes to in pixels."""
        return str(self._pixels.text())

    def show_unit(self, unit: str, spacing: Sequence[float]) -> None:
        """Show the same length in another unit; in pixels if it is empty."""
        if self.kind == "size" and len(spacing) not in POWERS:
            unit = ""
        value = self.value
        if unit != self._unit:
            value /= pixel_of(self.kind, self._spacing) if self._unit else 1.0
            value *= pixel_of(self.kind, spacing) if unit else 1.0
        self._unit, self._spacing = unit, tuple(spacing)
        with self.number.changed.blocked():
            self._show_unit()
            self.value = self._rounded(value)
        self._show_pixels()

    def _rounded(self, value: float) -> float:
        """Round to the decimals shown; sizes down, for no object may be a pixel too small."""
        decimals = int(self.number.native.decimals())
        if self.kind != "size":
            return round(value, decimals)
        return math.floor(round(value * 10.0**decimals, 6)) / 10.0**decimals

    @property
    def _suffix(self) -> str:
        return self._unit + (POWERS[len(self._spacing)] if self.kind == "size" else "")

    def _show_unit(self) -> None:
        """Show the unit, with as many decimals as a pixel needs in it."""
        native, pixel, decimals = self.number.native, 1.0, self.decimals
        if self._unit:
            pixel = pixel_of(self.kind, self._spacing)
            block = self.kind == "block"  # rounded to an odd number of pixels
            decimals = decimals_for(10 * pixel) if block else max(3, decimals_for(pixel))
        native.setDecimals(decimals)
        self.number.min, self.number.max = self.least * pixel, self.most * pixel
        self.number.step = float(f"{self.step * pixel:.1g}")
        native.setSuffix(f" {self._suffix}" if self._unit else " px")
        self._pixels.setVisible(bool(self._unit))

    def _show_pixels(self, *_: object) -> None:
        text = describe_pixels(self.kind, self.value, self._spacing) if self._unit else ""
        self._pixels.setText(text)


class LengthFields(QObject):
    """Fields for lengths and sizes, and the unit that they share."""

    changed = Signal()  # the unit: all lengths are the same, in another unit

    unit = field(ComboBox, "Lengths in", UNITS, choices=[PIXELS])

    def __init__(self, *fields: LengthField) -> None:
        super().__init__()
        self._fields = fields
        self._spacing: tuple[float, ...] = (1.0, 1.0)
        self.unit.changed.connect(self._change)

    def show_units(self, unit: str, spacing: Sequence[float]) -> None:
        """Offer the unit of a layer beside pixels; pixels if it has none."""
        offer(self.unit, [PIXELS, unit] if unit else [PIXELS])
        self.unit.visible = bool(unit)
        self._spacing = tuple(spacing)
        self._show()

    def _show(self) -> None:
        unit = "" if self.unit.value == PIXELS else self.unit.value
        for each in self._fields:
            each.show_unit(unit, self._spacing)

    @guarded
    def _change(self) -> None:
        self._show()
        self.changed.emit()
