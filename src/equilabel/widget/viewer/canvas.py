"""The canvas of the viewer: its camera, and its OpenGL context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qtpy.QtCore import QObject
from qtpy.QtOpenGLWidgets import QOpenGLWidget

from .events import while_alive

if TYPE_CHECKING:
    from napari import Viewer
    from qtpy.QtWidgets import QWidget


def camera(viewer: Viewer) -> Any:
    """Return the camera, which is an attribute of the scene since napari 0.9."""
    return getattr(viewer, "scene", viewer).camera


class CurrentCanvas(QObject):
    """Makes the OpenGL context of the canvas current before a layer is removed.

    When a layer is removed, napari 0.9 sends pending commands to OpenGL, whichever context is
    current. Outside of drawing there is none: buffers of other layers are lost, and drawing them
    ends the process. It happens when two layers are removed at once and then one is added.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer.
    form : QWidget
        A widget in its window.
    """

    def __init__(self, viewer: Viewer, form: QWidget) -> None:
        super().__init__(form)
        self._form = form
        viewer.layers.events.removing.connect(self.make_current)

    @while_alive
    def make_current(self) -> None:
        """Make the context of the canvas current."""
        window = self._form
        while window.parentWidget() is not None:  # beyond a dock that floats
            window = window.parentWidget()
        for canvas in window.findChildren(QOpenGLWidget):
            canvas.makeCurrent()
