"""A column of a table and a range of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget
from superqt import QLabeledDoubleRangeSlider
from superqt.utils import signals_blocked

from equilabel.widget.logic.colors import limits

from .fields import offer
from .layout import column

HEIGHT = 48  # of a slider with its numbers
POSITION = QLabeledDoubleRangeSlider.LabelPosition


class RangeField(QWidget):
    """Fields for a column and a range of its values.

    Parameters
    ----------
    none, tooltip : str
        What stands for no column; of the column.
    label : str
        Of the column. Without one, column and range stand side by side.
    inner : bool
        Whether the range is at first that of most values, in place of all.

    Attributes
    ----------
    changed : Signal()
        A person chose a column or a range.
    """

    changed = Signal()

    def __init__(self, none: str, tooltip: str, label: str = "", *, inner: bool = False) -> None:
        super().__init__()
        self._none, self._inner = none, inner
        self._columns: dict[str, Any] = {}
        self.column = ComboBox(label=label, choices=[none], tooltip=tooltip)
        self.slider = QLabeledDoubleRangeSlider()
        self.slider.setToolTip("Least and greatest value: drag the ends, or type the numbers.")
        self.slider.setEdgeLabelMode(QLabeledDoubleRangeSlider.EdgeLabelMode.NoLabel)
        self.slider.setFixedHeight(HEIGHT)
        layout = QVBoxLayout(self) if label else QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        box = column(self.column)
        box.labels = bool(label)
        for part in (box.native, self.slider):
            layout.addWidget(part, 0 if label else 1)
        self.fit()
        self.column.changed.connect(self._choose)
        self.slider.valueChanged.connect(lambda _: self.changed.emit())

    @property
    def chosen(self) -> str:
        """The column; empty if there is none."""
        return "" if self.column.value == self._none else str(self.column.value)

    @property
    def ends(self) -> tuple[float, float]:
        """The range; an end that was not moved is no limit."""
        low, high = self.slider.value()
        return (
            -np.inf if low <= self.slider.minimum() else low,
            np.inf if high >= self.slider.maximum() else high,
        )

    def set_columns(self, columns: dict[str, Any]) -> None:
        """Show the columns of a table; a range is kept if its column still exists."""
        before, ends = self.chosen, self.ends
        self._columns = columns
        offer(self.column, [self._none, *columns])
        self.fit()
        if before and before == self.chosen and not self._inner:
            with signals_blocked(self.slider):
                self.slider.setValue(np.clip(ends, self.slider.minimum(), self.slider.maximum()))

    def set_range(self, name: str, low: float, high: float) -> None:
        """Choose a column and its range."""
        self.column.value = name
        self.slider.setValue((low, high))

    def clear(self) -> None:
        """Choose no column."""
        with self.column.changed.blocked():
            self.column.value = self._none
        self.fit()

    def fit(self) -> None:
        """Fit the slider to the values of the column."""
        values = self._columns.get(self.chosen, np.zeros(0))
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        high = high if high > low else low + 1
        with signals_blocked(self.slider):
            self.slider.setRange(low, high)
            self.slider.setSingleStep((high - low) / 200)
            self.slider.setDecimals(int(np.clip(3 - np.floor(np.log10(high - low)), 0, 6)))
            self.slider.setValue(limits(values) if self._inner and known.size else (low, high))
        self.slider.setEnabled(bool(self.chosen))
        shown = POSITION.LabelsAbove if self.chosen else POSITION.NoLabel
        self.slider.setHandleLabelPosition(shown)

    def _choose(self, _: object) -> None:
        self.fit()
        self.changed.emit()
