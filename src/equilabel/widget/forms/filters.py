"""The filter: keep objects within ranges of their measurements, in a new layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui.widgets import ComboBox
from napari.layers import Labels
from qtpy.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from superqt import QLabeledDoubleRangeSlider

from equilabel.widget.logic.features import numeric_columns
from equilabel.widget.logic.filters import Range, find_kept, find_objects, keep_objects
from equilabel.widget.logic.outcome import KEY
from equilabel.widget.logic.scripts import with_filter
from equilabel.widget.logic.sources import Source
from equilabel.widget.logic.transforms import placement
from equilabel.widget.viewer.notifications import guarded, warn
from equilabel.widget.viewer.tasks import Task

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Layer, Viewer

NONE = "(all)"
ROWS = 3  # ranges that can be set


class RangeRow(QWidget):
    """Fields for a column and a range of it."""

    def __init__(self, changed: Any) -> None:
        super().__init__()
        self._changed = changed
        self._columns: dict[str, Any] = {}
        self.column = ComboBox(name="column", choices=[NONE])
        self.slider = QLabeledDoubleRangeSlider()
        self.slider.setVisible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.column.native)
        layout.addWidget(self.slider)
        self.column.changed.connect(self._change_column)
        self.slider.valueChanged.connect(self._changed)

    def set_columns(self, columns: dict[str, Any]) -> None:
        """Show the columns of a table; a range is kept if its column still exists."""
        before, ends = self.column.value, self.slider.value()
        self._columns = columns
        with self.column.changed.blocked():
            self.column.choices = [NONE, *columns]
            self.column.value = before if before in columns else NONE
        self._show_slider()
        if before in columns and before != NONE:
            low, high = self.slider.minimum(), self.slider.maximum()
            self.slider.blockSignals(True)
            self.slider.setValue(tuple(min(max(end, low), high) for end in ends))
            self.slider.blockSignals(False)

    def set_range(self, column: str, low: float, high: float) -> None:
        """Choose a column and its range."""
        self.column.value = column
        self.slider.setValue((low, high))

    @property
    def range(self) -> Range | None:
        """The range; an end of the slider that was not moved is not a limit."""
        if self.column.value == NONE:
            return None
        low, high = self.slider.value()
        return Range(
            self.column.value,
            -np.inf if low <= self.slider.minimum() else low,
            np.inf if high >= self.slider.maximum() else high,
        )

    def _change_column(self, *_: object) -> None:
        self._show_slider()
        self._changed()

    def _show_slider(self) -> None:
        """Set the range of the slider to that of the column, and show it if there is one."""
        chosen = self.column.value != NONE
        if chosen:
            values = self._columns[self.column.value]
            known = values[np.isfinite(values)]
            low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
            high = high if high > low else low + 1
            self.slider.blockSignals(True)
            self.slider.setRange(float(low), float(high))
            self.slider.setSingleStep(float(high - low) / 200)
            self.slider.setDecimals(int(np.clip(3 - np.floor(np.log10(high - low)), 0, 6)))
            self.slider.setValue((float(low), float(high)))
            self.slider.blockSignals(False)
        self.slider.setVisible(chosen)


class FilterForm(QWidget):
    """The form that keeps objects within ranges of their measurements.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer that gets the new layer.
    """

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self._columns: dict[str, Any] = {}
        self._total = 0
        self.task: Task | None = None
        self.count = QLabel()
        self.button = QPushButton("Keep in a new layer")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self.rows = [RangeRow(self._show_count) for _ in range(ROWS)]
        for row in self.rows:
            layout.addWidget(row)
        foot = QHBoxLayout()
        foot.addWidget(self.count)
        foot.addWidget(self.button)
        layout.addLayout(foot)
        self.button.clicked.connect(self._keep)

    @property
    def ranges(self) -> list[Range]:
        """The ranges chosen."""
        return [each for row in self.rows if (each := row.range) is not None]

    def set_layer(self, layer: Layer) -> None:
        """Use a labels layer, or its new table."""
        self._layer = layer
        self._columns = {} if layer is None else numeric_columns(layer.features)
        self._total = 0 if layer is None else int(find_objects(layer.features, self._columns).sum())
        for row in self.rows:
            row.set_columns(self._columns)
        self._show_count()

    @guarded
    def _show_count(self) -> None:
        if self._layer is None or not self._columns:
            self.count.setText("")
            self.button.setEnabled(False)
            return
        ranges = self.ranges
        kept = self._total
        if ranges:
            kept = int(find_kept(self._layer.features, ranges, self._columns).sum())
        self.count.setText(f"keep {kept} of {self._total}")
        self.button.setEnabled(True)

    @guarded
    def _keep(self) -> None:
        """Add a layer with the objects that are kept."""
        layer = self._layer
        if layer is None or (self.task is not None and self.task.running):
            return
        features, pixels, ranges = layer.features, layer.data, self.ranges
        transform = placement(Source.of(layer).transform)
        made = layer.metadata.get(KEY, {})
        text = f"{layer.name} kept"
        filtered = [(each.column, each.low, each.high) for each in ranges]

        def work(report: Any) -> tuple[Any, ...]:
            report("drop")
            data = pixels[0] if layer.multiscale else pixels
            return (*keep_objects(data, features, find_kept(features, ranges)), transform, text)

        self._made = {**made, "filter": [*made.get("filter", ()), *filtered]}
        if made.get("python"):
            line = with_filter(made["python"], filtered)
            self._made |= {"python": line, "batch": "", "no_batch": "a filter"}
        self.task = Task(f"filtering {layer.name!r}", work, ("drop",), self)
        self.task.done.connect(self._add_layer)
        self.task.failed.connect(warn)
        self.button.setEnabled(False)
        self.task.start()

    def _add_layer(self, result: tuple[Any, ...]) -> None:
        pixels, features, transform, name = result
        self.button.setEnabled(True)
        made = {**self._made, "kind": "filter", "objects": len(features) - 1}
        layer = Labels(pixels, name=name, features=features, metadata={KEY: made}, **transform)
        self._viewer.add_layer(layer)
