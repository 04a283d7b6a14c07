"""Where the viewer is, and where an object can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .canvas import camera

if TYPE_CHECKING:
    from collections.abc import Sequence

    from napari import Viewer

    from equilabel.widget.napari_types import Layer


def position(viewer: Viewer, layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the position of the viewer in pixels of a layer, and the axes on the screen."""
    offset = viewer.dims.ndim - layer.ndim
    world = np.asarray(viewer.dims.point)[offset:]
    point = tuple(int(at) for at in np.round(layer.world_to_data(world)))
    return point, tuple(axis - offset for axis in viewer.dims.displayed if axis >= offset)


def go_to(viewer: Viewer, layer: Layer, low: Sequence[int], high: Sequence[int]) -> None:
    """Show the plane of a box, and bring the box into view; the zoom stays.

    Parameters
    ----------
    viewer : napari.Viewer
    layer : napari.layers.Labels
        Not multiscale.
    low, high : sequence of int
        First and last pixel of the box along each axis of the layer; equal along hidden axes.
    """
    offset = viewer.dims.ndim - layer.ndim
    middle = np.asarray(layer.data_to_world((np.asarray(low) + high) / 2))
    axes = [axis for axis in viewer.dims.not_displayed if axis >= offset]
    viewer.dims.set_point(axes, [float(middle[axis - offset]) for axis in axes])
    shown = [axis - offset for axis in viewer.dims.displayed]
    first, last = layer.corner_pixels  # on the canvas
    hidden = (np.asarray(low) < first) | (np.asarray(high) > last)
    if len(shown) == 2 and hidden[shown].any():
        eye = camera(viewer)
        eye.center = (eye.center[0], *(float(middle[axis]) for axis in shown))
