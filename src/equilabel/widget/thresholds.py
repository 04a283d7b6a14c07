"""The field for the threshold: a method or a slider, over the histogram of the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui.widgets import (
    CheckBox,
    ComboBox,
    FloatRangeSlider,
    FloatSlider,
    FloatSpinBox,
    SpinBox,
)
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QDoubleSpinBox, QLabel, QVBoxLayout, QWidget

from .fields import THRESHOLD_CHOICES, column
from .pictures import HistogramView, spell

if TYPE_CHECKING:
    from .histograms import Found, Spread

MOVES = 1000  # steps of the slider over the range of an image
MOST, LEAST = 2.0**31 - 1, 1e-9  # gray values and steps that a slider can count


class ThresholdField(QWidget):
    """What tells objects from background.

    Attributes
    ----------
    method_changed : Signal()
        Another method, or what it depends on.
    moved : Signal()
        The threshold is elsewhere.
    """

    method_changed = Signal()
    moved = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.histogram = HistogramView()
        self.method = ComboBox(
            name="threshold",
            label="Threshold",
            choices=THRESHOLD_CHOICES,
            value="otsu",
            tooltip="A method that finds it, or by hand: with the slider, or by dragging the line.",
        )
        self.slider = FloatSlider(name="level", label="Level", min=0, max=1, step=0.001)
        self.range = FloatRangeSlider(
            name="levels",
            label="Low, high",
            min=0,
            max=1,
            step=0.001,
            value=(0.25, 0.75),
            tooltip="What is above low, and connected to something above high.",
        )
        self.block_size = SpinBox(
            name="block_size",
            label="Block, pixels",
            min=3,
            max=6001,
            step=2,
            value=51,
            tooltip="Side of the block each pixel is compared with: larger than the objects.",
        )
        self.offset = FloatSpinBox(
            name="offset",
            label="Offset",
            min=-1e9,
            max=1e9,
            step=1.0,
            tooltip="Subtracted from the local threshold; negative asks for more contrast.",
        )
        self.dark = CheckBox(
            name="dark", text="Objects are dark", tooltip="Darker than what is around them."
        )
        self.words = QLabel()
        self.words.setWordWrap(True)
        self._found: float | None = None
        self._fresh = True
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.histogram)
        self._fields = column(
            *(self.method, self.slider, self.range, self.block_size, self.offset, self.dark)
        )
        layout.addWidget(self._fields.native)
        layout.addWidget(self.words)
        self.method.changed.connect(self._change_method)
        self.slider.changed.connect(self._move)
        self.range.changed.connect(self._move)
        for field in (self.block_size, self.offset):
            field.changed.connect(self._move)
        self.dark.changed.connect(self._turn)
        self.histogram.dragged.connect(self._drag)
        self._arrange()

    @property
    def choice(self) -> str | float | tuple[float, float]:
        """What to pass as ``threshold=``."""
        method: str = self.method.value
        if method == "number":
            return float(self.slider.value)
        if method == "hysteresis":
            low, high = self.range.value
            return float(low), float(high)
        return method

    @property
    def level(self) -> float | tuple[float, float] | None:
        """The threshold as a number, as far as it is known."""
        if self.method.value in ("number", "hysteresis"):
            return self.choice  # type: ignore[return-value]
        return self._found

    def show_spread(self, spread: Spread | None) -> None:
        """Show the histogram of another image, and let the sliders span its range."""
        self.histogram.show_spread(spread)
        if spread is None or not spread.counts.size:
            self.words.setText("")
            self._found = None
            return
        low, high = spread.low, spread.high if spread.high > spread.low else spread.low + 1
        step = (high - low) / MOVES
        if spread.whole:
            step = max(1.0, round(step))
        for field in (self.slider, self.range):
            with field.changed.blocked():
                field.enabled = max(abs(low), abs(high)) < MOST and step > LEAST
                if not field.enabled:  # beyond what a slider can count
                    continue
                before = field.value
                field.min, field.max = min(low, field.min), max(high, field.max)
                field.step = step
                field.value = _within(before, low, high)
                field.min, field.max = low, high
        readout = self.slider.native.findChild(QDoubleSpinBox)
        if readout is not None:
            readout.setDecimals(0 if spread.whole else int(np.clip(2 - np.log10(step), 0, 9)))
        self._show_lines()

    def show_found(self, found: Found) -> None:
        """Show the threshold a method found."""
        self._found = found.threshold
        words = ""
        if self.method.value not in ("number", "hysteresis", "local"):
            if found.problem:
                words = found.problem
            elif found.threshold is not None and not self.slider.enabled:
                words = f"Finds {spell(found.threshold)}; the range is too wide for a slider."
            elif found.threshold is not None:
                about = "" if found.exact else "about "
                rest = "" if found.exact else " (from a part of the image)"
                words = f"Finds {about}{spell(found.threshold)}{rest}."
                with self.slider.changed.blocked():
                    self.slider.value = _within(found.threshold, self.slider.min, self.slider.max)
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self._show_lines()

    def set_level(self, value: float) -> None:
        """Set a threshold by hand."""
        if self.method.value != "number":
            with self.method.changed.blocked():
                self.method.value = "number"
            self._arrange()
        self.slider.value = _within(value, self.slider.min, self.slider.max)
        self._move()

    def _change_method(self, *_: Any) -> None:
        if self.method.value == "hysteresis" and self._found is not None:
            low, high = self.range.min, self.range.max
            with self.range.changed.blocked():
                self.range.value = (
                    _within(self._found - (self._found - low) / 4, low, high),
                    _within(self._found + (high - self._found) / 4, low, high),
                )
        self._arrange()
        self._show_lines()
        self.method_changed.emit()

    def _arrange(self) -> None:
        method = self.method.value
        self.slider.visible = method not in ("hysteresis", "local")
        self.range.visible = method == "hysteresis"
        self.block_size.visible = self.offset.visible = method == "local"
        if method in ("number", "hysteresis", "local"):
            self.words.setVisible(False)

    def _move(self, *_: Any) -> None:
        if self.method.value not in ("number", "hysteresis", "local"):
            with self.method.changed.blocked():
                self.method.value = "number"  # whoever moves the slider means it
            self._arrange()
        self._show_lines()
        self.moved.emit()

    def _turn(self, *_: Any) -> None:
        self._show_lines()
        self.moved.emit()

    def _drag(self, line: int, value: float) -> None:
        if self.method.value == "hysteresis":
            low, high = self.range.value
            self.range.value = (min(value, high), high) if line == 0 else (low, max(value, low))
        else:
            self.set_level(value)

    def _show_lines(self) -> None:
        level = self.level
        lines = () if level is None else level if isinstance(level, tuple) else (level,)
        self.histogram.show_lines(lines, dark=self.dark.value)


def _within(value: Any, low: float, high: float) -> Any:
    if isinstance(value, tuple):
        return tuple(min(max(each, low), high) for each in value)
    return min(max(value, low), high)
