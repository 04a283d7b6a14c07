"""Where the viewer is, and where an object can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from napari import Viewer

    from equilabel.widget.napari_types import Layer


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
