"""Selection of objects: rows of the table of napari, and colors on the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from napari.utils.colormaps import DirectLabelColormap
from qtpy.QtCore import QItemSelection, QItemSelectionModel
from qtpy.QtWidgets import QTableView

from equilabel.widget.logic.features import labels_of

if TYPE_CHECKING:
    from napari import Viewer
    from numpy.typing import NDArray

    from equilabel.widget.napari_types import LabelColors, Layer

TABLE = ("napari", "Features table widget")
MOST_ROWS = 5000  # that are selected in the table: Qt is slow with more


def open_table(viewer: Viewer, layer: Layer) -> Any:
    """Open the features table of napari on a layer."""
    dock, table = viewer.window.add_plugin_dock_widget(*TABLE)
    dock.show()
    dock.raise_()
    viewer.layers.selection = {layer}
    viewer.layers.selection.active = layer
    return table


def make_colormap(colors: LabelColors, dtype: Any) -> DirectLabelColormap:
    """Make a colormap of labels and prepare it for use.

    What napari prepares when a colormap is first used takes a second for 100,000 labels. It is
    done here, so that it can run in a thread.

    Parameters
    ----------
    colors : dict
        Label to an array of red, green, blue and opacity.
    dtype : numpy.dtype
        Of the labels.
    """
    colormap = DirectLabelColormap(color_dict={0: colors[0], None: colors[None]})
    colormap.color_dict.update(colors)  # as an argument, each color would be checked
    colormap.map(np.arange(2, dtype=dtype))
    return colormap


def position(viewer: Viewer, layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the position of the viewer in pixels of a layer, and the axes on the screen."""
    offset = viewer.dims.ndim - layer.ndim
    world = np.asarray(viewer.dims.point)[offset:]
    point = tuple(int(at) for at in np.round(layer.world_to_data(world)))
    return point, tuple(axis - offset for axis in viewer.dims.displayed if axis >= offset)


def go_to(viewer: Viewer, layer: Layer, point: tuple[int, ...]) -> None:
    """Show the plane at a position in pixels of a layer; the camera stays where it is."""
    offset = viewer.dims.ndim - layer.ndim
    world = np.asarray(layer.data_to_world(point))
    axes = [axis for axis in viewer.dims.not_displayed if axis >= offset]
    viewer.dims.set_point(axes, [float(world[axis - offset]) for axis in axes])


def select_rows(viewer: Viewer, layer: Layer, selected: NDArray[np.int64]) -> None:
    """Select objects in the features table, if it is open, and scroll to the first."""
    found = viewer.window.dock_widgets.get(f"{TABLE[1]} ({TABLE[0]})")
    view = None if found is None else found.findChild(QTableView)
    if view is None or layer not in viewer.layers.selection:
        return
    rows = np.flatnonzero(np.isin(labels_of(layer.features), selected))[:MOST_ROWS]
    proxy = view.model()
    source, last = proxy.sourceModel(), proxy.columnCount() - 1
    selection = QItemSelection()
    for row in rows.tolist():
        index = proxy.mapFromSource(source.index(row, 0))
        selection.select(proxy.index(index.row(), 0), proxy.index(index.row(), last))
    flags = QItemSelectionModel.SelectionFlag
    view.selectionModel().select(selection, flags.ClearAndSelect | flags.Rows)
    if rows.size:
        view.scrollTo(proxy.mapFromSource(source.index(int(rows[0]), 0)))
