"""Histogram and scatter plot of measurements; imported with the first plot, for matplotlib."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.backends.backend_qtagg import FigureCanvasQTAgg, NavigationToolbar2QT
from matplotlib.figure import Figure
from napari.utils.theme import get_theme

from equilabel.array_types import HostArray
from equilabel.widget import Event, Viewer

NEAR = 12  # largest distance on the screen of a click from a point
MOST_BINS = 60
MOST_RINGS = 5000  # around selected points
FADED = 0.3  # opacity of objects that a filter drops


class PlotCanvas(FigureCanvasQTAgg):
    """A histogram or a scatter plot in napari's colors; `select` gets clicked objects."""

    def __init__(self, viewer: Viewer, select: Callable[[Any], None]) -> None:
        super().__init__(Figure(layout="constrained"))
        self._viewer, self._select = viewer, select
        self.axes = self.figure.add_subplot()
        self._rows = np.zeros(0, np.int64)
        self._x = self._y = self._edges = np.zeros(0)
        self._bins = np.zeros(0, np.intp)
        self._names = ("", "")
        self._selected: Any = ()
        self._kept: Any = None
        self.setMinimumSize(80, 80)
        self.mpl_connect("button_press_event", self._click)
        viewer.events.theme.connect(self._redraw)

    def draw_columns(
        self, rows: HostArray, x: HostArray, y: HostArray | None, names: tuple[str, str]
    ) -> None:
        """Draw a point for each object, or a histogram without `y`."""
        known = np.isfinite(x) & (rows != 0) & (True if y is None else np.isfinite(y))
        self._rows, self._x = rows[known], x[known]
        self._y = np.zeros(0) if y is None else y[known]
        self._names = names
        self._edges = np.zeros(0)
        if y is None and self._x.size:
            bins = min(MOST_BINS, max(5, int(np.sqrt(self._x.size) * 2)))
            low, high = float(self._x.min()), float(self._x.max())
            if high - low <= 1e-9 * max(abs(low), abs(high)):  # too close together for bins
                bins, low, high = 1, low - 0.5, high + 0.5
            self._edges = np.histogram_bin_edges(self._x, bins, (low, high))
            self._bins = np.searchsorted(self._edges[1:-1], self._x, side="right")
        self._redraw()

    def save(self) -> None:
        NavigationToolbar2QT(self, self).save_figure()

    def mark(self, labels: Any, kept: Any = None) -> None:
        """Mark objects, and fade those that a filter drops; `kept` is None without a filter."""
        self._selected, self._kept = labels, kept
        self._redraw()

    def _click(self, event: Event) -> None:
        """Select the objects of a bar, the objects of the nearest point, or none."""
        if event.inaxes is not self.axes:
            return
        if self._edges.size:
            first, *inner, last = self._edges
            place = np.searchsorted(inner, event.xdata, side="right")
            hit = (self._bins == place) & (first <= event.xdata <= last)
        else:
            points = self.axes.transData.transform(np.column_stack([self._x, self._y]))
            distances = np.hypot(*(points - (event.x, event.y)).T)
            hit = distances <= distances.min(initial=NEAR)
        self._select(self._rows[hit].astype(np.int64))

    def _redraw(self, _: object = None) -> None:
        theme = get_theme(self._viewer.theme)
        colors = (theme.background, theme.text, theme.current, theme.warning)
        back, text, bright, mark = (color.as_hex() for color in colors)
        hit = np.isin(self._rows, self._selected)
        kept = np.isin(self._rows, self._rows if self._kept is None else self._kept)
        self.axes.clear()
        for part in (self.figure, self.axes):
            part.set_facecolor(back)
        if self._edges.size:
            every = np.ones(self._rows.size, bool)
            for part, color, alpha in ((every, bright, FADED), (kept, bright, 1), (hit, mark, 1)):
                heights = np.bincount(self._bins[part], minlength=self._edges.size - 1)
                self.axes.stairs(heights, self._edges, fill=True, color=color, alpha=alpha)
            self.axes.yaxis.get_major_locator().set_params(integer=True)
        else:
            size = float(np.clip(4000 / max(1, self._rows.size), 3, 26))
            for part, alpha in ((~kept, FADED), (kept, 1.0)):
                at = self._x[part], self._y[part]
                self.axes.scatter(*at, size, color=bright, alpha=alpha, linewidths=0)
            ring = {"s": 70, "facecolors": "none", "edgecolors": mark, "lw": 2}
            chosen = np.flatnonzero(hit)[:MOST_RINGS]
            self.axes.scatter(self._x[chosen], self._y[chosen], **ring)
        self.axes.set_xlabel(self._names[0], color=text)
        self.axes.set_ylabel(self._names[1], color=text)
        self.axes.tick_params(colors=text)
        self.axes.spines[:].set_color(text)
        self.axes.spines[["top", "right"]].set_visible(False)
        self.draw_idle()
