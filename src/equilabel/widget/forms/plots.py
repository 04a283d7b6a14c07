"""Histogram and scatter plot of measurements, and their form."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from matplotlib.backends.backend_qtagg import FigureCanvasQTAgg, NavigationToolbar2QT
from matplotlib.figure import Figure
from napari.utils.theme import get_theme

from equilabel.array_types import HostArray
from equilabel.storage.table import labels_of
from equilabel.widget.logic.objects import heading
from equilabel.widget.napari_types import Event, Layer, Viewer
from equilabel.widget.viewer.layers import made_by
from equilabel.widget.viewer.tasks import guarded

from .fields import field, offer
from .layout import Grid, button, side_by_side

# ---- The canvas


NEAR = 12  # largest distance on the screen of a click from a point
MOST_BINS = 60


class PlotCanvas(FigureCanvasQTAgg):
    """A histogram or a scatter plot of objects, in the colors of napari.

    `select` is called with the labels of the objects at a click.
    """

    def __init__(self, viewer: Viewer, select: Callable[[Any], None]) -> None:
        super().__init__(Figure(layout="constrained"))
        self._viewer, self._select = viewer, select
        self.axes = self.figure.add_subplot()
        self._rows = np.zeros(0, np.int64)
        self._x = self._y = self._edges = np.zeros(0)
        self._names = ("", "")
        self._selected: Any = ()
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
            self._edges = np.histogram_bin_edges(self._x, bins)
        self._redraw()

    def save(self) -> None:
        NavigationToolbar2QT(self, self).save_figure()

    def mark(self, labels: Any) -> None:
        self._selected = labels
        self._redraw()

    def labels_at(self, x: float, y: float) -> HostArray:
        """Return the labels at a position of the canvas."""
        if not self._rows.size:
            return self._rows
        if self._edges.size:
            value = self.axes.transData.inverted().transform((x, y))[0]
            bins = np.searchsorted(self._edges, self._x, side="right")
            bins -= self._x == self._edges[-1]  # the last bin includes its upper edge
            return np.asarray(self._rows[bins == np.searchsorted(self._edges, value, "right")])
        points = self.axes.transData.transform(np.column_stack([self._x, self._y]))
        distances = np.hypot(points[:, 0] - x, points[:, 1] - y)
        nearest = int(np.argmin(distances))
        return np.asarray(self._rows[nearest : nearest + 1] if distances[nearest] <= NEAR else [])

    def _click(self, event: Event) -> None:
        if event.inaxes is self.axes:
            self._select(self.labels_at(event.x, event.y).astype(np.int64))

    def _redraw(self, _: object = None) -> None:
        theme = get_theme(self._viewer.theme)
        colors = (theme.background, theme.text, theme.current, theme.warning)
        back, text, bright, mark = (color.as_hex() for color in colors)
        hit = np.isin(self._rows, self._selected)
        self.axes.clear()
        for part in (self.figure, self.axes):
            part.set_facecolor(back)
        if self._edges.size:
            self.axes.hist(self._x, bins=self._edges, color=bright, edgecolor=back)
            self.axes.hist(self._x[hit], bins=self._edges, color=mark)
        else:
            size = float(np.clip(4000 / max(1, self._rows.size), 3, 26))
            self.axes.scatter(self._x, self._y, s=size, color=bright, linewidths=0)
            ring = {"s": 70, "facecolors": "none", "edgecolors": mark, "lw": 2}
            self.axes.scatter(self._x[hit], self._y[hit], **ring)
        self.axes.set_xlabel(self._names[0], color=text)
        self.axes.set_ylabel(self._names[1], color=text)
        self.axes.tick_params(colors=text)
        self.axes.spines[:].set_color(text)
        self.axes.spines[["top", "right"]].set_visible(False)
        self.draw_idle()


# ---- The form


HISTOGRAM, SCATTER = "histogram", "scatter plot"
TIPS = {
    "kind": "Histogram: how many objects have which value. Scatter plot: a point for each object.",
    "x": "Column along the x axis.",
    "y": "Column along the y axis of a scatter plot.",
    "show": "Open the plot. A click on a bar or a point selects its objects.",
    "save": "Write the plot to a file: PNG, PDF, SVG, ...",
}


class PlotForm(Grid):
    """The form that plots columns.

    `open_plot` is called with the plot to show it; `select` with the labels of the objects whose
    bar or point was clicked.
    """

    kind = field(ComboBox, "Kind", TIPS["kind"], choices=[HISTOGRAM, SCATTER], then="_redraw")
    x = field(ComboBox, "x axis", TIPS["x"], choices=[], then="_redraw")
    y = field(ComboBox, "y axis", TIPS["y"], choices=[], enabled=False, then="_redraw")

    def __init__(
        self, viewer: Viewer, open_plot: Callable[[Any], None], select: Callable[[Any], None]
    ) -> None:
        super().__init__()
        self._viewer, self._open, self._select = viewer, open_plot, select
        self._layer: Layer = None
        self._columns: Mapping[str, Any] = {}
        self.canvas: Any = None
        self._marked: Any = ()
        self.button = button("Show plot", TIPS["show"], self._show)
        self.save_button = button("Save plot", TIPS["save"], self._save)
        self.fill(self.kind, self.x, self.y, side_by_side(self.button, self.save_button))

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        self._layer, self._columns = layer, columns
        for each, usual in ((self.x, "area"), (self.y, "intensity_mean")):
            offer(each, list(columns), usual if usual in columns else None)
        for each in (self.button, self.save_button):
            each.setEnabled(bool(columns))
        self._redraw()

    def mark(self, labels: Any) -> None:
        """Mark objects, also in a plot that is opened later."""
        self._marked = labels
        if self.canvas is not None:
            self.canvas.mark(labels)

    @guarded
    def _show(self) -> None:
        """Show the plot, or raise ImportError that says what to install."""
        if self.canvas is None:
            try:
                from .plots import PlotCanvas
            except ImportError as error:
                remedy = 'install it with `pip install "equilabel[plots]"`'
                message = f"A plot needs matplotlib: {remedy} ({error})."
                raise ImportError(message) from error
            self.canvas = PlotCanvas(self._viewer, self._select)
            self.canvas.mark(self._marked)
            self._redraw()
        self._open(self.canvas)

    @guarded
    def _save(self) -> None:
        self._show()
        if self.canvas is not None:
            self.canvas.save()

    @guarded
    def _redraw(self) -> None:
        scatter = self.kind.value == SCATTER
        self.y.enabled = scatter
        if self.canvas is None:
            return
        if self._layer is None or self.x.value is None:
            self.canvas.draw_columns(np.zeros(0, int), np.zeros(0), None, ("", ""))
            return
        made, rows = made_by(self._layer), labels_of(self._layer.features)
        y = self._columns[self.y.value] if scatter else None
        names = heading(self.x.value, made), heading(self.y.value if scatter else "objects", made)
        self.canvas.draw_columns(rows, self._columns[self.x.value], y, names)
