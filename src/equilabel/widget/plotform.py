"""Plots of columns, by matplotlib where it is: a click on a bin or a point chooses objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QPushButton, QVBoxLayout, QWidget

from .features import labels_of, numbers
from .fields import column
from .notifying import guarded, warn

HISTOGRAM = "(histogram)"
TITLE = "Plot (equilabel)"


class PlotForm(QWidget):
    """Which columns to plot.

    Attributes
    ----------
    chosen : Signal(object)
        Labels of the objects whose bin or point was clicked.
    """

    chosen = Signal(object)

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Any = None
        self.picture: Any = None
        self._dock: Any = None
        self.across = ComboBox(name="across", label="Across", choices=[])
        self.up = ComboBox(name="up", label="Up", choices=[HISTOGRAM])
        self.button = QPushButton("Plot")
        self.button.setToolTip("Open a plot; a click on a bin or a point chooses its objects.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(column(self.across, self.up).native)
        layout.addWidget(self.button)
        self.button.clicked.connect(self._plot)
        self.across.changed.connect(self._redraw)
        self.up.changed.connect(self._redraw)

    def take(self, layer: Any) -> None:
        """Plot another layer, or the same with another table."""
        if self._layer is not None and self._layer is not layer:
            self._layer.events.selected_label.disconnect(self._mark)
        if layer is not None and layer is not self._layer:
            layer.events.selected_label.connect(self._mark)
        self._layer = layer
        columns = [] if layer is None else list(numbers(layer.features))
        for field, extra in ((self.across, []), (self.up, [HISTOGRAM])):
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
        """Open the plot, or say what it needs."""
        try:
            from .plotting import Picture
        except ImportError as error:
            warn(
                f"a plot needs matplotlib; got {error}. "
                'Install it with `pip install "equilabel[plots]"`.'
            )
            return
        if self._dock is None or self.picture is None:
            self.picture = Picture()
            self.picture.chosen.connect(self.chosen)
            self.picture.destroyed.connect(self._forget)
            self._dock = self._viewer.window.add_dock_widget(
                self.picture, name=TITLE, area="bottom"
            )
        self._dock.show()
        self._redraw()

    def _forget(self, *_: Any) -> None:
        self.picture = self._dock = None

    @guarded
    def _redraw(self) -> None:
        if self.picture is None or self._layer is None or self.across.value is None:
            return
        features = self._layer.features
        columns = numbers(features)
        rows = labels_of(features)
        across = columns[self.across.value]
        if self.up.value == HISTOGRAM:
            self.picture.draw_histogram(rows, across, self.across.value)
        else:
            up = columns[self.up.value]
            self.picture.draw_scatter(rows, across, up, (self.across.value, self.up.value))
        self._mark()

    def _mark(self, *_: Any) -> None:
        if self.picture is not None and self._layer is not None:
            self.picture.mark(np.array([self._layer.selected_label]))
