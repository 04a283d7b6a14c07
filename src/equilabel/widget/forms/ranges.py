"""Sliders for a level and a range, and a field for a column and a range of its values."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtWidgets import QAbstractSlider, QLineEdit
from superqt import QLabeledDoubleRangeSlider, QLabeledDoubleSlider
from superqt.utils import signals_blocked

from equilabel.widget.logic.features import limits
from equilabel.widget.napari_types import Event

from .fields import offer
from .layout import Row

HEIGHT = 28  # of a slider
EDGES = QLabeledDoubleRangeSlider.EdgeLabelMode
KEY = Qt.Key
STEPS = {KEY.Key_Left: -1, KEY.Key_Down: -1, KEY.Key_Right: 1, KEY.Key_Up: 1}
KEYS = "Keys with arrows move the lower end, with Shift the upper."
ENDS = f"Least and greatest value: drag the ends, or type the numbers. {KEYS}"


class _Keys(QObject):
    """Moves a handle of a slider with the arrow keys, which superqt does not support."""

    def eventFilter(self, slider: Any, event: Event) -> bool:
        steps = STEPS.get(event.key()) if event.type() == QEvent.Type.KeyPress else None
        if steps:
            values = np.atleast_1d(slider.value())
            values[-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 0] += (
                steps * slider.singleStep()
            )
            if values[0] <= values[-1]:
                slider.setValue(tuple(values) if len(values) > 1 else values[0])
        return bool(steps)


def level_slider() -> QLabeledDoubleSlider:
    """Make a slider with one handle, and a field for its value."""
    return _prepared(QLabeledDoubleSlider(Qt.Orientation.Horizontal))


def range_slider() -> QLabeledDoubleRangeSlider:
    """Make a slider with two handles, between fields for their values."""
    slider = QLabeledDoubleRangeSlider(Qt.Orientation.Horizontal)
    slider.setHandleLabelPosition(QLabeledDoubleRangeSlider.LabelPosition.NoLabel)
    slider.setEdgeLabelMode(EDGES.LabelIsValue)
    return _prepared(slider)


def _prepared(slider: Any) -> Any:
    slider.setFixedHeight(HEIGHT)
    for inner in slider.findChildren(QAbstractSlider):
        inner.installEventFilter(_Keys(inner))
    return slider


def set_range(slider: Any, low: float, high: float, step: float, decimals: float) -> None:
    """Set the range of a slider, its step and the decimals of its numbers, as far as possible.

    superqt writes very large and very small numbers with an exponent, and some numbers are wider
    than their field: it is made as wide as they need.
    """
    largest = max(abs(low), abs(high))
    plain = 1e-3 < largest < 1e7 or largest == 0
    places = int(np.clip(decimals, 0, 9)) if plain else 4
    widest = f"-{largest:.{places}f}" if plain else "-1.0000e+00"
    with signals_blocked(slider):
        slider.setRange(low, high)
        slider.setSingleStep(step)
        for shown in slider.findChildren(QLineEdit):
            shown.setMinimumWidth(shown.fontMetrics().horizontalAdvance(widest))
        slider.setDecimals(places)


class RangeField:
    """Fields for a column and a range of its values; `none` is the choice of no column.

    `changed` is called when a person changes one of them. If the range is `inner`, it is initially
    that of most values instead of all.
    """

    def __init__(
        self,
        labels: tuple[str, str],
        tooltip: str,
        none: str,
        changed: Callable[..., None],
        *,
        inner: bool = False,
    ) -> None:
        self._none, self._changed, self._inner = none, changed, inner
        self._columns: Mapping[str, Any] = {}
        self.column = ComboBox(label=labels[0], choices=[none], tooltip=tooltip)
        self.slider = range_slider()
        self.rows = (self.column, Row(labels[1], ENDS, self.slider))
        self._fit()
        self.column.changed.connect(self._choose)
        self.slider.valueChanged.connect(changed)

    @property
    def chosen(self) -> str:
        """The column; "" for none."""
        return "" if self.column.value == self._none else str(self.column.value)

    @property
    def values(self) -> Any:
        """The values of the column."""
        return self._columns.get(self.chosen, np.zeros(0))

    @property
    def ends(self) -> tuple[float, float]:
        """The range; infinite at an end that was not moved."""
        low, high = self.slider.value()
        return (
            -np.inf if low <= self.slider.minimum() else low,
            np.inf if high >= self.slider.maximum() else high,
        )

    def set_columns(self, columns: Mapping[str, Any]) -> None:
        """Show the columns of a table; the range is kept if its column still exists."""
        before, (low, high) = self.chosen, self.ends
        self._columns = columns
        offer(self.column, [self._none, *columns])
        self._fit()
        if before and before == self.chosen and not self._inner:
            least, most = self.slider.value()
            with signals_blocked(self.slider):
                self.slider.setValue((max(low, least), min(high, most)))

    def clear(self) -> None:
        with self.column.changed.blocked():
            self.column.value = self._none
        self._fit()

    def _fit(self) -> None:
        """Set the slider to the values of the column."""
        known = self.values[np.isfinite(self.values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        high = high if high > low else low + 1
        decimals = min(6, 3 - np.floor(np.log10(high - low)))
        set_range(self.slider, low, high, (high - low) / 200, decimals)
        with signals_blocked(self.slider):
            self.slider.setValue(limits(known) if self._inner and known.size else (low, high))
        self.slider.setEnabled(bool(self.chosen))
        self.slider.setEdgeLabelMode(EDGES.LabelIsValue if self.chosen else EDGES.NoLabel)

    def _choose(self, _: object) -> None:
        self._fit()
        self._changed()
