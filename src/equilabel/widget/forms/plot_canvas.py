"""The plot, drawn by matplotlib, which is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_qtagg import FigureCanvasQTAgg
from matplotlib.figure import Figure
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.widget.napari_types import Event

BACK, FRONT, POINT, MARK = "#262930", "#d0d4dc", "#7fa8d9", "#ffd91a"
NEAR = 12  # distance on the screen within which a click finds a point
MOST_BINS = 60


class PlotCanvas(QWidget):
    """A histogram or a scatter plot of objects.

    Attributes
    ----------
    selected : Signal(object)
        Labels of the objects at a click; none if there are none.
    """

    selected = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.figure = Figure(facecolor=BACK, layout="constrained")
        self.canvas = FigureCanvasQTAgg(self.figure)
        self.axes = self.figure.add_subplot()
        self._rows = np.zeros(0, np.int64)
        self._x = np.zeros(0)
        self._y: NDArray[np.float64] | None = None
        self._edges = np.zeros(0)
        self._mark: Any = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        self.setMinimumHeight(220)
        self.canvas.mpl_connect("button_press_event", self._click)

    def draw_histogram(self, rows: NDArray[np.int64], x: NDArray[np.float64], name: str) -> None:
        """Draw a histogram of a column."""
        self._set(rows, x, None)
        self._clear(name, "objects")
        known = self._x
        if known.size:
            bins = min(MOST_BINS, max(5, int(np.sqrt(known.size) * 2)))
            _, self._edges, _ = self.axes.hist(known, bins=bins, color=POINT, edgecolor=BACK)
        self.canvas.draw_idle()

    def draw_scatter(
        self,
        rows: NDArray[np.int64],
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        names: tuple[str, str],
    ) -> None:
        """Draw a scatter plot of two columns: a point for each object."""
        self._set(rows, x, y)
        self._clear(*names)
        drawn = self._x[:0] if self._y is None else self._y
        size = float(np.clip(4000 / max(1, self._rows.size), 3, 26))
        self.axes.scatter(self._x, drawn, s=size, color=POINT, alpha=0.75, linewidths=0)
        self.canvas.draw_idle()

    def mark(self, labels: NDArray[np.int64]) -> None:
        """Mark objects that were selected in the viewer."""
        if self._mark is not None:
            self._mark.remove()
            self._mark = None
        hit = np.isin(self._rows, labels)
        if hit.any():
            if self._y is None:
                self._mark = self.axes.axvline(float(self._x[hit][0]), color=MARK, lw=2)
            else:
                self._mark = self.axes.scatter(
                    self._x[hit], self._y[hit], s=70, facecolors="none", edgecolors=MARK, lw=2
                )
        self.canvas.draw_idle()

    def labels_at(self, x: float, y: float) -> NDArray[np.int64]:
        """Return the labels at a position of the canvas."""
        if not self._rows.size:
            return self._rows
        if self._y is None:
            value = self.axes.transData.inverted().transform((x, y))[0]
            number = int(np.searchsorted(self._edges, value, side="right")) - 1
            if not 0 <= number < len(self._edges) - 1:
                return self._rows[:0]
            last = number == len(self._edges) - 2
            low, high = self._edges[number], self._edges[number + 1]
            inside = (self._x >= low) & ((self._x <= high) if last else (self._x < high))
            return np.asarray(self._rows[inside])
        points = self.axes.transData.transform(np.column_stack([self._x, self._y]))
        distances = np.hypot(points[:, 0] - x, points[:, 1] - y)
        nearest = int(np.argmin(distances))
        return np.asarray(self._rows[nearest : nearest + 1] if distances[nearest] <= NEAR else [])

    def _click(self, event: Event) -> None:
        if event.inaxes is self.axes:
            found = self.labels_at(event.x, event.y).astype(np.int64)
            self.mark(found if self._y is not None else found[:0])
            self.selected.emit(found)

    def _set(
        self,
        rows: NDArray[np.int64],
        x: NDArray[np.float64],
        y: NDArray[np.float64] | None,
    ) -> None:
        known = np.isfinite(x) & (rows != 0)
        if y is not None:
            known &= np.isfinite(y)
        self._rows, self._x = rows[known], x[known]
        self._y = None if y is None else y[known]

    def _clear(self, x: str, y: str) -> None:
        self._mark = None
        self._edges = np.zeros(0)
        self.axes.clear()
        self.axes.set_facecolor(BACK)
        self.axes.set_xlabel(x, color=FRONT)
        self.axes.set_ylabel(y, color=FRONT)
        self.axes.tick_params(colors=FRONT)
        for spine in self.axes.spines.values():
            spine.set_color(FRONT)
