"""Colors of labels: by a column of their table, or bright for selected objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui.widgets import ComboBox, FloatSpinBox
from napari.utils.colormaps import AVAILABLE_COLORMAPS, ensure_colormap
from qtpy.QtWidgets import QVBoxLayout, QWidget

from equilabel.widget.logic.colors import STEPS, colors_by_value, colors_of_selection, limits
from equilabel.widget.logic.features import labels_of, numeric_columns
from equilabel.widget.viewer.layers import reset_colors
from equilabel.widget.viewer.notifications import guarded, warn
from equilabel.widget.viewer.selection import make_colormap, select_rows
from equilabel.widget.viewer.tasks import LatestResult

from .layout import button, column
from .legend import Legend

if TYPE_CHECKING:
    from equilabel.widget.napari_types import LabelColors, Layer, Viewer

NORMAL = "(by label)"
COLORMAPS = ("viridis", "magma", "plasma", "inferno", "turbo", "gray", "twilight")


class ColorForm(QWidget):
    """The form for the colors of a labels layer.

    Parameters
    ----------
    viewer : napari.Viewer
    """

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self._selected: Any = None
        self._work = LatestResult(self)
        self._work.returned.connect(self._put_colormap)
        self._work.failed.connect(warn)
        self.column = ComboBox(name="column", label="Color by", choices=[NORMAL])
        names = [name for name in COLORMAPS if name in AVAILABLE_COLORMAPS]
        self.colormap = ComboBox(name="colormap", label="Colormap", choices=names)
        self.low = _number("low", "From")
        self.high = _number("high", "To")
        self.legend = Legend()
        self.reset_button = button("Reset colors", "Color objects by their labels again.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(column(self.column, self.colormap, self.low, self.high).native)
        layout.addWidget(self.legend)
        layout.addWidget(self.reset_button)
        for field in (self.column, self.colormap):
            field.changed.connect(self._color_by_column)
        for field in (self.low, self.high):
            field.changed.connect(self._color)
        self.reset_button.clicked.connect(self._reset)

    @property
    def waiting(self) -> bool:
        """Whether a colormap is being made."""
        return self._work.waiting

    def set_layer(self, layer: Layer) -> None:
        """Use a labels layer, or its new table."""
        same, self._layer = layer is self._layer, layer
        columns = [] if layer is None else list(numeric_columns(layer.features))
        before = self.column.value
        kept = before in columns and (same or _is_colored(layer))
        with self.column.changed.blocked():
            self.column.choices = [NORMAL, *columns]
            self.column.value = before if kept else NORMAL
        if self.column.value == NORMAL:
            self._show_none()
        elif not _is_colored(layer):  # a run has made new labels and a new table
            self._color_by_column()

    def select(self, selected: Any) -> None:
        """Show objects in a bright color, the others as they are colored by a column, or faint."""
        layer, name = self._layer, self.column.value
        if not len(selected):
            self._color()
            return
        if len(selected) == 1:
            layer.selected_label = int(selected[0])
        self._selected = selected
        dtype, bright = layer.data.dtype, colors_of_selection(selected)
        if name == NORMAL:
            self._work.submit(lambda: (layer, make_colormap(bright, dtype)))
            return
        rows, values = labels_of(layer.features), numeric_columns(layer.features)[name]
        ends, scale = (self.low.value, self.high.value), scale_of(self.colormap.value)
        chosen: LabelColors = {int(label): bright[int(label)] for label in selected}
        self._work.submit(
            lambda: (
                layer,
                make_colormap({**colors_by_value(rows, values, *ends, scale), **chosen}, dtype),
            )
        )

    @guarded
    def _color_by_column(self) -> None:
        """Set the limits to those of the column, and color."""
        if self._layer is not None and self.column.value != NORMAL:
            low, high = limits(numeric_columns(self._layer.features)[self.column.value])
            for field, value in ((self.low, low), (self.high, high)):
                with field.changed.blocked():
                    field.value = value
                    field.step = max((high - low) / 50, 1e-9)
        self._color()

    @guarded
    def _color(self) -> None:
        if self._layer is None:
            return
        if self.column.value == NORMAL:
            self._reset()
            return
        self._selected = None
        layer, name = self._layer, self.column.value
        low, high = self.low.value, self.high.value
        scale = scale_of(self.colormap.value)
        rows, values = labels_of(layer.features), numeric_columns(layer.features)[name]
        self.legend.show_scale(scale, low, high, name)
        self._work.submit(
            lambda: (
                layer,
                make_colormap(colors_by_value(rows, values, low, high, scale), layer.data.dtype),
            )
        )

    def _put_colormap(self, answer: tuple[Any, Any]) -> None:
        layer, colormap = answer
        if layer in self._viewer.layers:
            layer.colormap = colormap
            if self._selected is not None:  # last: new colors change the selection of the table
                select_rows(self._viewer, layer, self._selected)

    @guarded
    def _reset(self) -> None:
        self._work.cancel()
        self._show_none()
        if self._layer is not None:
            reset_colors(self._layer)

    def _show_none(self) -> None:
        """Show that labels are not colored by a column."""
        with self.column.changed.blocked():
            self.column.value = NORMAL
        self.legend.show_scale(None, 0, 1, "")


def scale_of(name: str) -> Any:
    """Return the colors of a colormap from low to high."""
    return np.asarray(ensure_colormap(name).map(np.linspace(0, 1, STEPS)), dtype=np.float64)


def _is_colored(layer: Layer) -> bool:
    return layer is not None and type(layer.colormap).__name__ == "DirectLabelColormap"


def _number(name: str, label: str) -> FloatSpinBox:
    field = FloatSpinBox(name=name, label=label, min=-1e15, max=1e15, step=1.0)
    field.native.setDecimals(4)
    return field
