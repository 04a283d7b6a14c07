"""A column of a table and a range of its values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox, FloatRangeSlider
from qtpy.QtCore import QObject, Signal
from superqt import QDoubleRangeSlider, QLabeledDoubleRangeSlider
from superqt.utils import signals_blocked

from equilabel.widget.logic.colors import limits

from .fields import offer

HEIGHT = 28  # of a slider
EDGES = QLabeledDoubleRangeSlider.EdgeLabelMode
ENDS = "Least and greatest value: drag the ends, or type the numbers."


def range_slider(label: str, tooltip: str) -> FloatRangeSlider:
    """Make a slider with two handles, between fields for their values."""
    start: dict[str, Any] = {"min": 0, "max": 1, "step": 0.001, "value": (0.25, 0.75)}
    field = FloatRangeSlider(label=label, tooltip=tooltip, **start)
    field.native.setHandleLabelPosition(QLabeledDoubleRangeSlider.LabelPosition.NoLabel)
    field.native.setEdgeLabelMode(EDGES.LabelIsValue)
    field.native.setFixedHeight(HEIGHT)
    for slider in field.native.findChildren(QDoubleRangeSlider):
        # As napari draws it, not as magicgui does for some versions of macOS.
        getattr(slider, "_style", slider)._macpatch = False
        slider.setStyleSheet("")
    return field


class RangeField(QObject):
    """Fields for a column and a range of its values; `none` stands for no column.

    If it is `inner`, the range is at first that of most values, in place of all.
    """

    changed = Signal()  # a person chose a column or a range

    def __init__(
        self, none: str, tooltip: str, labels: tuple[str, str], *, inner: bool = False
    ) -> None:
        super().__init__()
        self._none, self._inner = none, inner
        self._columns: Mapping[str, Any] = {}
        self.column = ComboBox(label=labels[0], choices=[none], tooltip=tooltip)
        self.rows = (self.column, range_slider(labels[1], ENDS))
        self.slider = self.rows[1].native
        self._fit()
        self.column.changed.connect(self._choose)
        self.slider.valueChanged.connect(lambda _: self.changed.emit())

    @property
    def chosen(self) -> str:
        """The column; empty if there is none."""
        return "" if self.column.value == self._none else str(self.column.value)

    @property
    def values(self) -> Any:
        """The values of the column."""
        return self._columns.get(self.chosen, np.zeros(0))

    @property
    def ends(self) -> tuple[float, float]:
        """The range; an end that was not moved is no limit."""
        low, high = self.slider.value()
        return (
            -np.inf if low <= self.slider.minimum() else low,
            np.inf if high >= self.slider.maximum() else high,
        )

    def set_columns(self, columns: Mapping[str, Any]) -> None:
        """Show the columns of a table; a range is kept if its column still exists."""
        before, ends = self.chosen, self.ends
        self._columns = columns
        offer(self.column, [self._none, *columns])
        self._fit()
        if before and before == self.chosen and not self._inner:
            kept = np.clip(ends, self.slider.minimum(), self.slider.maximum()).tolist()
            with signals_blocked(self.slider):
                self.slider.setValue(tuple(kept))

    def clear(self) -> None:
        with self.column.changed.blocked():
            self.column.value = self._none
        self._fit()

    def _fit(self) -> None:
        """Fit the slider to the values of the column."""
        known = self.values[np.isfinite(self.values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        high = high if high > low else low + 1
        with signals_blocked(self.slider):
            self.slider.setRange(low, high)
            self.slider.setSingleStep((high - low) / 200)
            self.slider.setDecimals(int(np.clip(3 - np.floor(np.log10(high - low)), 0, 6)))
            self.slider.setValue(limits(known) if self._inner and known.size else (low, high))
        self.slider.setEnabled(bool(self.chosen))
        self.slider.setEdgeLabelMode(EDGES.LabelIsValue if self.chosen else EDGES.NoLabel)

    def _choose(self, _: object) -> None:
        self._fit()
        self.changed.emit()
