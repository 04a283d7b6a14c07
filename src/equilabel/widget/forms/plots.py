"""Fields for a plot of columns: a click on a bar or a point of it selects objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magicgui.widgets import ComboBox
from qtpy.QtCore import Signal

from equilabel.widget.logic.features import labels_of, numeric_columns
from equilabel.widget.viewer.notifications import guarded, warn

from .fields import field, offer
from .layout import Grid, button, side_by_side

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Layer, Viewer

HISTOGRAM, SCATTER = "histogram", "scatter plot"


class PlotForm(Grid):
    """The form that plots columns."""

    wanted = Signal()  # the plot is to be shown; it is in `canvas`
    selected = Signal(object)  # labels of the objects whose bar or point was clicked

    kind = field(
        ComboBox,
        "Kind",
        "Histogram: how many objects have which value. Scatter plot: a point for each object.",
        choices=[HISTOGRAM, SCATTER],
    )
    x = field(ComboBox, "x axis", "Column along the x axis.", choices=[])
    y = field(
        ComboBox, "y axis", "Column along the y axis of a scatter plot.", choices=[], enabled=False
    )

    def __init__(self, viewer: Viewer) -> None:
        self.button = button(
            "Show plot", "Open the plot. A click on a bar or a point selects its objects."
        )
        self.save_button = button("Save plot", "Write the plot to a file: PNG, PDF, SVG, ...")
        super().__init__(self.kind, self.x, self.y, side_by_side(self.button, self.save_button))
        self._viewer = viewer
        self._layer: Layer = None
        self.canvas: Any = None
        self.button.clicked.connect(self._show)
        self.save_button.clicked.connect(self._save)
        for each in (self.kind, self.x, self.y):
            each.changed.connect(self._redraw)

    def set_layer(self, layer: Layer) -> None:
        """Use a labels layer, or its new table."""
        self._layer = layer
        names = [] if layer is None else list(numeric_columns(layer.features))
        for each, usual in ((self.x, "area"), (self.y, "intensity_mean")):
            offer(each, names, usual if usual in names else None)
        for each in (self.button, self.save_button):
            each.setEnabled(bool(names))
        self._redraw()

    def mark(self, labels: Any) -> None:
        """Mark objects that are selected."""
        if self.canvas is not None:
            self.canvas.mark(labels)

    @guarded
    def _show(self) -> None:
        """Make the plot, or warn what it needs."""
        if self.canvas is None:
            try:
                from .plot_canvas import PlotCanvas
            except ImportError as error:
                warn(
                    f'A plot needs matplotlib: install it with `pip install "equilabel[plots]"` '
                    f"({error})."
                )
                return
            self.canvas = PlotCanvas(self._viewer)
            self.canvas.selected.connect(self.selected)
        self._redraw()
        self.wanted.emit()

    @guarded
    def _save(self) -> None:
        self._show()
        if self.canvas is not None:
            self.canvas.save()

    @guarded
    def _redraw(self) -> None:
        scatter = self.kind.value == SCATTER
        self.y.enabled = scatter
        if self.canvas is None or self._layer is None or self.x.value is None:
            return
        columns = numeric_columns(self._layer.features)
        names = (self.x.value, self.y.value if scatter else "objects")
        y = columns[self.y.value] if scatter else None
        self.canvas.draw_columns(labels_of(self._layer.features), columns[names[0]], y, names)
