"""Colors of labels: by a column of their table, or of chosen objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from magicgui.widgets import ComboBox, FloatSpinBox
from napari.utils.colormaps import AVAILABLE_COLORMAPS, ensure_colormap
from qtpy.QtWidgets import QPushButton, QVBoxLayout, QWidget

from .choosing import make_colormap, select_rows
from .coloring import STEPS, colors_by_value, colors_of_chosen, limits
from .features import labels_of, numbers
from .fields import column
from .layers import back_to_normal
from .notifying import guarded, warn
from .pictures import Legend
from .running import Latest

NORMAL = "(by label)"
COLORMAPS = ("viridis", "magma", "plasma", "inferno", "turbo", "gray", "twilight")


class ColorForm(QWidget):
    """How the objects of a labels layer are colored.

    Parameters
    ----------
    viewer : napari.Viewer
    """

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Any = None
        self._chosen: Any = None
        self._work = Latest(self)
        self._work.answered.connect(self._put_colormap)
        self._work.failed.connect(warn)
        self.column = ComboBox(name="column", label="Color by", choices=[NORMAL])
        names = [name for name in COLORMAPS if name in AVAILABLE_COLORMAPS]
        self.colormap = ComboBox(name="colormap", label="Colormap", choices=names)
        self.low = _number("low", "From")
        self.high = _number("high", "To")
        self.legend = Legend()
        self.normal_button = QPushButton("Back to normal colors")
        self.normal_button.setToolTip("Color labels by their numbers.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(column(self.column, self.colormap, self.low, self.high).native)
        layout.addWidget(self.legend)
        layout.addWidget(self.normal_button)
        for field in (self.column, self.colormap):
            field.changed.connect(self._color_anew)
        for field in (self.low, self.high):
            field.changed.connect(self._color)
        self.normal_button.clicked.connect(self._back)

    @property
    def waiting(self) -> bool:
        """Whether colors are being made."""
        return self._work.waiting

    def take(self, layer: Any) -> None:
        """Color another layer, or the same with another table."""
        self._layer = layer
        columns = [] if layer is None else list(numbers(layer.features))
        before = self.column.value
        with self.column.changed.blocked():
            self.column.choices = [NORMAL, *columns]
            self.column.value = before if before in columns and _is_colored(layer) else NORMAL
        if self.column.value == NORMAL:
            self._show_none()

    def choose(self, chosen: Any) -> None:
        """Let objects stand out; none brings the normal colors back."""
        layer = self._layer
        if not len(chosen):
            self._back()
            return
        self._show_none()
        if len(chosen) == 1:
            layer.selected_label = int(chosen[0])
        self._chosen = chosen
        self._work.ask(lambda: (layer, make_colormap(colors_of_chosen(chosen), layer.data.dtype)))

    @guarded
    def _color_anew(self) -> None:
        """Take other limits for another column, and color."""
        if self._layer is not None and self.column.value != NORMAL:
            low, high = limits(numbers(self._layer.features)[self.column.value])
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
            self._back()
            return
        self._chosen = None
        layer, name = self._layer, self.column.value
        low, high = self.low.value, self.high.value
        scale = scale_of(self.colormap.value)
        rows, values = labels_of(layer.features), numbers(layer.features)[name]
        self.legend.show_scale(scale, low, high, name)
        self._work.ask(
            lambda: (
                layer,
                make_colormap(colors_by_value(rows, values, low, high, scale), layer.data.dtype),
            )
        )

    def _put_colormap(self, answer: tuple[Any, Any]) -> None:
        layer, colormap = answer
        if layer in self._viewer.layers:
            layer.colormap = colormap
            if self._chosen is not None:  # last, as other colors make napari's table select anew
                select_rows(self._viewer, layer, self._chosen)

    @guarded
    def _back(self) -> None:
        self._work.forget()
        self._show_none()
        if self._layer is not None:
            back_to_normal(self._layer)

    def _show_none(self) -> None:
        """Show that no column colors the labels."""
        with self.column.changed.blocked():
            self.column.value = NORMAL
        self.legend.show_scale(None, 0, 1, "")


def scale_of(name: str) -> Any:
    """Return the colors of a colormap from low to high."""
    return np.asarray(ensure_colormap(name).map(np.linspace(0, 1, STEPS)), dtype=np.float64)


def _is_colored(layer: Any) -> bool:
    return layer is not None and type(layer.colormap).__name__ == "DirectLabelColormap"


def _number(name: str, label: str) -> FloatSpinBox:
    field = FloatSpinBox(name=name, label=label, min=-1e15, max=1e15, step=1.0)
    field.native.setDecimals(4)
    return field
