"""Plots of columns with matplotlib: a click on a bar or a point selects objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui.widgets import ComboBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

from equilabel.widget.logic.features import labels_of, numeric_columns
from equilabel.widget.viewer.notifications import guarded, warn

from .layout import button, column

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Layer, Viewer

HISTOGRAM = "(histogram)"
TITLE = "Plot (equilabel)"


class PlotForm(QWidget):
    """The form that plots columns.

    Attributes
    ----------
    selected : Signal(object)
        Labels of the objects whose bar or point was clicked.
    """

    selected = Signal(object)

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self.canvas: Any = None
        self._dock: Any = None
        self.x = ComboBox(name="x", label="X axis", choices=[])
        self.y = ComboBox(name="y", label="Y axis", choices=[HISTOGRAM])
        self.button = button(
            "Plot", "Open a plot. A click on a bar or a point selects its objects."
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(column(self.x, self.y).native)
        layout.addWidget(self.button)
        self.button.clicked.connect(self._plot)
        self.x.changed.connect(self._redraw)
        self.y.changed.connect(self._redraw)

    def set_layer(self, layer: Layer) -> None:
        """Use a labels layer, or its new table."""
        if self._layer is not None and self._layer is not layer:
            self._layer.events.selected_label.disconnect(self._mark)
        if layer is not None and layer is not self._layer:
            layer.events.selected_label.connect(self._mark)
        self._layer = layer
        columns = [] if layer is None else list(numeric_columns(layer.features))
        for field, extra in ((self.x, []), (self.y, [HISTOGRAM])):
            before = field.value
            with field.changed.blocked():
                field.choices = [*extra, *columns]
                if before in field.choices:
                    field.value = before
                elif not extra and "area" in columns:
                    field.value = "area"
        self.button.setEnabled(bool(columns))
        self._redraw()

    @guarded
    def _plot(self) -> None:
        """Open the plot, or warn what it needs."""
        try:
            from .plot_canvas import PlotCanvas
        except ImportError as error:
            warn(
                f"a plot needs matplotlib; got {error}. "
                'Install it with `pip install "equilabel[plots]"`.'
            )
            return
        if self._dock is None or self.canvas is None:
            self.canvas = PlotCanvas()
            self.canvas.selected.connect(self.selected)
            self.canvas.destroyed.connect(self._forget)
            self._dock = self._viewer.window.add_dock_widget(self.canvas, name=TITLE, area="bottom")
        self._dock.show()
        self._redraw()

    def _forget(self, *_: object) -> None:
        self.canvas = self._dock = None

    @guarded
    def _redraw(self) -> None:
        if self.canvas is None or self._layer is None or self.x.value is None:
            return
        features = self._layer.features
        columns = numeric_columns(features)
        rows = labels_of(features)
        x = columns[self.x.value]
        if self.y.value == HISTOGRAM:
            self.canvas.draw_histogram(rows, x, self.x.value)
        else:
            y = columns[self.y.value]
            self.canvas.draw_scatter(rows, x, y, (self.x.value, self.y.value))
        self._mark()

    def _mark(self, *_: object) -> None:
        if self.canvas is not None and self._layer is not None:
            self.canvas.mark(np.array([self._layer.selected_label]))
