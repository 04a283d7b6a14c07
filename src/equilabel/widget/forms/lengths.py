"""Fields for lengths and sizes: a number, in pixels or in the unit of the layer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from magicgui.widgets import FloatSpinBox
from magicgui.widgets.bases import Widget
from qtpy.QtWidgets import QAbstractSpinBox, QLabel

from equilabel.quantities import POWERS, decimals_for, describe_pixels, odd, pixel_of

from .fields import field
from .layout import side_by_side

WHOLE: dict[str, Callable[[float], int]] = {"size": int, "block": odd}  # rounding of pixels
MEASURED = 86  # width of the number of pixels after a number with a unit
MEASURED_BESIDE = 76  # its width if another field follows
NARROW = "min-width: 50px; padding: 1px 4px"


def length(kind: str, label: str, **options: Any) -> Any:
    """Declare a field for a length or size of a kind."""
    return field(LengthField, label, kind=kind, **options)


@dataclass(eq=False)
class LengthField:
    """A length or a size, followed by its value in pixels, which `pixel_of` converts for a kind.

    `start`, `least`, `most`, `step` and `decimals` are in pixels. The field `beside` is in the same
    row.
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
        self.pixels = QLabel()  # a length with a unit, in pixels
        self.pixels.setFixedWidth(MEASURED if self.beside is None else MEASURED_BESIDE)
        numbers = [each.native for each in (self.number, self.beside) if each is not None]
        self.native = side_by_side(*numbers, widths=(3, 2)[: len(numbers)])
        self.native.layout().insertWidget(1, self.pixels)
        if self.beside is not None:
            for each in numbers:
                each.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.NoButtons)
                each.setStyleSheet(NARROW)
        if not self.least:
            self.number.native.setSpecialValueText("none")
        self._show_unit()
        self.value = self.start
        self.changed.connect(self._show_pixels)

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
