"""Fields for a plot of columns, in which a click on a bar or a point selects objects."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox

from equilabel.storage.table import labels_of
from equilabel.widget.logic.objects import heading
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer.layers import made_by
from equilabel.widget.viewer.notifications import guarded

from .fields import field, offer
from .layout import Grid, button, side_by_side

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
                from .plot_canvas import PlotCanvas
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
