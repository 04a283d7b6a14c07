"""The field for the width of the Gaussian: a number, its unit, and what it comes to in pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magicgui.widgets import ComboBox, FloatSpinBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QLabel, QVBoxLayout, QWidget

from equilabel.widget.logic.choices import decimals_for
from equilabel.widget.viewer.notifications import guarded

from .layout import column

if TYPE_CHECKING:
    from collections.abc import Sequence

PIXELS = "pixels"


class SmoothingField(QWidget):
    """The width of a Gaussian, in pixels or in the unit of the layer.

    Attributes
    ----------
    changed : Signal()
        The width has changed.
    number, unit : magicgui.widgets.FloatSpinBox, magicgui.widgets.ComboBox
        What a person types and chooses.
    remark : QLabel
        Says how many pixels that is.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._pixel = 1.0
        self.number = FloatSpinBox(
            name="sigma",
            label="Smoothing, pixels",
            min=0.0,
            max=1e6,
            step=0.5,
            tooltip="Standard deviation of a Gaussian that smooths the image before the threshold. "
            "Intensities are measured in the original image.",
        )
        self.number.native.setDecimals(3)
        self.unit = ComboBox(
            name="sigma_unit",
            label="Smoothing in",
            choices=[PIXELS],
            tooltip="Pixels: the same number along each axis. A unit: the same length in all "
            "directions, converted with the pixel size of the layer.",
        )
        self.remark = QLabel()
        self.remark.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(column(self.number, self.unit).native)
        layout.addWidget(self.remark)
        self.number.changed.connect(self._change)
        self.unit.changed.connect(self._change_unit)

    @property
    def choice(self) -> float | str:
        """The width as `equilabel.segment` takes it: a number of pixels, or text with a unit."""
        number = float(self.number.value)
        return (
            number if self.unit.value == PIXELS or not number else f"{number:.15g}{self.unit.value}"
        )

    def show_units(self, unit: str, spacing: Sequence[float]) -> None:
        """Offer the unit of a layer beside pixels; pixels if it has none."""
        self._pixel = spacing[-1]
        choices = [PIXELS, unit] if unit else [PIXELS]
        if list(self.unit.choices) != choices:
            self.unit.choices = choices
        self.unit.visible = bool(unit)
        self._show_unit()

    def _show_unit(self) -> None:
        """Show the unit, and as many decimals as a pixel needs in it."""
        self.number.label = f"Smoothing, {self.unit.value}"
        pixel = 1.0 if self.unit.value == PIXELS else self._pixel
        self.number.native.setDecimals(max(3, decimals_for(pixel)))

    def show_remark(self, text: str) -> None:
        """Say how many pixels the width is."""
        self.remark.setText(text)
        self.remark.setVisible(bool(text))

    def _change(self, *_: object) -> None:
        self.changed.emit()

    @guarded
    def _change_unit(self) -> None:
        """Convert the width to the other unit: it stays what it is along the last axis."""
        factor = 1 / self._pixel if self.unit.value == PIXELS else self._pixel
        with self.number.changed.blocked():
            value = self.number.value * factor
            self._show_unit()
            self.number.value = round(value, self.number.native.decimals())
        self.changed.emit()
