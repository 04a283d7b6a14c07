"""Colors of labels by a column of their table."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from qtpy.QtCore import QSize
from qtpy.QtGui import QIcon, QImage, QPixmap

from equilabel.array_types import HostArray
from equilabel.storage.table import labels_of
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer.layers import color_labels, is_colored, make_scale, reset_colors
from equilabel.widget.viewer.notifications import guarded, warn
from equilabel.widget.viewer.tasks import LatestResult

from .fields import field
from .layout import Grid
from .ranges import RangeField

NORMAL = "(default colors)"
COLORMAPS = ("viridis", "magma", "plasma", "inferno", "turbo", "gray", "twilight")
HINT = "Colors from the least to the greatest."
ICON = QSize(64, 12)
TIP = "Column whose values color the objects, from the first to the last of the colors."


class ColorForm(Grid):
    """The form for the colors of a labels layer."""

    colormap = field(ComboBox, "Colormap", HINT, choices=COLORMAPS, then="_color")

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self._work = LatestResult("coloring objects", self._put_colormap, warn)
        self.range = RangeField(("Color by", "Limits"), TIP, NORMAL, self._color, inner=True)
        self.column, self.limits = self.range.column, self.range.slider
        self.colormap.native.setIconSize(ICON)
        for number, name in enumerate(COLORMAPS):
            self.colormap.native.setItemIcon(number, _icon_of(make_scale(name).colors))
        self.fill(*self.range.rows, self.colormap)

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        """Use a labels layer, or its new table; the column that colors it is kept."""
        same, self._layer = layer is self._layer, layer
        colored = layer is not None and is_colored(layer)
        self.range.set_columns(columns)
        if not same and not colored:
            self.range.clear()
        elif self.range.chosen and not colored:  # a run made new labels and a new table
            self._color()

    @guarded
    def _color(self) -> None:
        self._work.cancel()
        layer, values = self._layer, self.range.values
        if layer is None:
            return
        if not self.range.chosen:
            reset_colors(layer)
            return
        rows, scale = labels_of(layer.features), make_scale(self.colormap.value)
        ends = self.limits.value()

        def work() -> tuple[Layer, Any]:
            return layer, color_labels(rows, values, ends, scale, layer.data.dtype)

        self._work.submit(work)

    def _put_colormap(self, answer: tuple[Layer, Any]) -> None:
        layer, colormap = answer
        if layer in self._viewer.layers:
            layer.colormap = colormap


def _icon_of(colors: HostArray) -> QIcon:
    row = np.ascontiguousarray((colors[:, :3] * 255).astype(np.uint8))
    image = QImage(row.tobytes(), len(row), 1, 3 * len(row), QImage.Format.Format_RGB888)
    return QIcon(QPixmap.fromImage(image).scaled(ICON))
