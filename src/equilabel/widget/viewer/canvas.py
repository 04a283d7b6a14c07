"""Position and camera of the canvas of the viewer, and its OpenGL context."""

from collections.abc import Sequence

import numpy as np
from qtpy.QtCore import QObject
from qtpy.QtOpenGLWidgets import QOpenGLWidget
from qtpy.QtWidgets import QWidget

from equilabel.widget.napari_types import Layer, Viewer

from .notifications import guarded

AROUND = 10  # pixels between an object that is moved into view and the edge of the canvas


def position(viewer: Viewer, layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the position of the viewer in pixels of a layer, and the displayed axes."""
    offset = viewer.dims.ndim - layer.ndim
    world = np.asarray(viewer.dims.point)[offset:]
    point = tuple(int(at) for at in np.round(layer.world_to_data(world)))
    return point, tuple(axis - offset for axis in viewer.dims.displayed if axis >= offset)


def go_to(viewer: Viewer, layer: Layer, low: Sequence[int], high: Sequence[int]) -> None:
    """Show the plane of a box of pixels, and move the canvas just far enough to show the box.

    The zoom stays. `low` and `high` are equal along axes that are not displayed. The layer has one
    level; if it is rotated, the box is centered.
    """
    offset = viewer.dims.ndim - layer.ndim
    middle = np.asarray(layer.data_to_world((np.asarray(low) + high) / 2))
    axes = [axis for axis in viewer.dims.not_displayed if axis >= offset]
    viewer.dims.set_point(axes, [float(middle[axis - offset]) for axis in axes])
    shown = [axis - offset for axis in viewer.dims.displayed]
    first, last = layer.corner_pixels  # that are visible on the canvas
    before, after = np.minimum(np.asarray(low) - first, 0), np.maximum(np.asarray(high) - last, 0)
    beyond = np.where(before * after < 0, 0, before + after)  # 0 if it covers the whole canvas
    if len(shown) == 2 and beyond[shown].any():
        eye = viewer.scene.camera
        if np.allclose(layer.rotate, np.eye(layer.ndim)):
            shift = beyond + AROUND * np.sign(beyond)
            moved = np.subtract(layer.data_to_world(shift), layer.data_to_world(0 * shift))
            middle[shown] = eye.center[-2:] + moved[shown]
        eye.center = (eye.center[0], *map(float, middle[shown]))


class CurrentCanvas(QObject):
    """Makes the OpenGL context of the canvas current before a layer is removed.

    When a layer is removed, napari 0.9 sends pending commands to the current OpenGL context.
    Outside of drawing there is none: buffers of other layers are lost, and drawing these ends the
    process. This happens when two layers are removed at once and then one is added.
    """

    def __init__(self, viewer: Viewer, form: QWidget) -> None:
        super().__init__(form)
        self._form = form
        viewer.layers.events.removing.connect(self.make_current)

    @guarded
    def make_current(self) -> None:
        window = self._form
        while window.parentWidget() is not None:  # the main window, also from a floating dock
            window = window.parentWidget()
        for canvas in window.findChildren(QOpenGLWidget):
            canvas.makeCurrent()
