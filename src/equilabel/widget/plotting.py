"""The plot itself. Loads matplotlib, which is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_qtagg import FigureCanvasQTAgg
from matplotlib.figure import Figure
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

if TYPE_CHECKING:
    from numpy.typing import NDArray

BACK, FRONT, POINT, MARK = "#262930", "#d0d4dc", "#7fa8d9", "#ffd91a"
NEAR = 12  # points of the screen within which a click finds a point
MOST_BINS = 60


class Picture(QWidget):
    """A histogram or a scatter plot of objects.

    Attributes
    ----------
    chosen : Signal(object)
        Labels under a click; none where nothing was.
    """

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.figure = Figure(facecolor=BACK, layout="constrained")
        self.canvas = FigureCanvasQTAgg(self.figure)
        self.axes = self.figure.add_subplot()
        self._rows = np.zeros(0, np.int64)
        self._across = np.zeros(0)
        self._up: NDArray[np.float64] | None = None
        self._edges = np.zeros(0)
        self._mark: Any = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        self.setMinimumHeight(220)
        self.canvas.mpl_connect("button_press_event", self._click)

    def draw_histogram(
        self, rows: NDArray[np.int64], across: NDArray[np.float64], name: str
    ) -> None:
        """Draw how many objects there are for each value of a column."""
        self._take(rows, across, None)
        self._clear(name, "objects")
        known = self._across
        if known.size:
            bins = min(MOST_BINS, max(5, int(np.sqrt(known.size) * 2)))
            _, self._edges, _ = self.axes.hist(known, bins=bins, color=POINT, edgecolor=BACK)
        self.canvas.draw_idle()

    def draw_scatter(
        self,
        rows: NDArray[np.int64],
        across: NDArray[np.float64],
        up: NDArray[np.float64],
        names: tuple[str, str],
    ) -> None:
        """Draw a point for each object."""
        self._take(rows, across, up)
        self._clear(*names)
        drawn = self._across[:0] if self._up is None else self._up
        size = float(np.clip(4000 / max(1, self._rows.size), 3, 26))
        self.axes.scatter(self._across, drawn, s=size, color=POINT, alpha=0.75, linewidths=0)
        self.canvas.draw_idle()

    def mark(self, labels: NDArray[np.int64]) -> None:
        """Mark objects that were chosen elsewhere."""
        if self._mark is not None:
            self._mark.remove()
            self._mark = None
        hit = np.isin(self._rows, labels)
        if hit.any():
            if self._up is None:
                self._mark = self.axes.axvline(float(self._across[hit][0]), color=MARK, lw=2)
            else:
                self._mark = self.axes.scatter(
                    self._across[hit], self._up[hit], s=70, facecolors="none", edgecolors=MARK, lw=2
                )
        self.canvas.draw_idle()

    def under(self, x: float, y: float) -> NDArray[np.int64]:
        """Return the labels at a place of the canvas, in its points."""
        if not self._rows.size:
            return self._rows
        if self._up is None:
            value = self.axes.transData.inverted().transform((x, y))[0]
            number = int(np.searchsorted(self._edges, value, side="right")) - 1
            if not 0 <= number < len(self._edges) - 1:
                return self._rows[:0]
            last = number == len(self._edges) - 2
            low, high = self._edges[number], self._edges[number + 1]
            inside = (self._across >= low) & (
                (self._across <= high) if last else (self._across < high)
            )
            return np.asarray(self._rows[inside])
        places = self.axes.transData.transform(np.column_stack([self._across, self._up]))
        far = np.hypot(places[:, 0] - x, places[:, 1] - y)
        nearest = int(np.argmin(far))
        return np.asarray(self._rows[nearest : nearest + 1] if far[nearest] <= NEAR else [])

    def _click(self, event: Any) -> None:
        if event.inaxes is self.axes:
            chosen = self.under(event.x, event.y).astype(np.int64)
            self.mark(chosen if self._up is not None else chosen[:0])
            self.chosen.emit(chosen)

    def _take(
        self,
        rows: NDArray[np.int64],
        across: NDArray[np.float64],
        up: NDArray[np.float64] | None,
    ) -> None:
        known = np.isfinite(across) & (rows != 0)
        if up is not None:
            known &= np.isfinite(up)
        self._rows, self._across = rows[known], across[known]
        self._up = None if up is None else up[known]

    def _clear(self, across: str, up: str) -> None:
        self._mark = None
        self._edges = np.zeros(0)
        self.axes.clear()
        self.axes.set_facecolor(BACK)
        self.axes.set_xlabel(across, color=FRONT)
        self.axes.set_ylabel(up, color=FRONT)
        self.axes.tick_params(colors=FRONT)
        for spine in self.axes.spines.values():
            spine.set_color(FRONT)
