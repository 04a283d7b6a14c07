"""The list of layers, and the canvas, watched for as long as a form exists."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from qtpy.compat import isalive
from qtpy.QtCore import QObject
from qtpy.QtOpenGLWidgets import QOpenGLWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from qtpy.QtWidgets import QWidget


def watch_layers(viewer: Any, changed: Callable[..., Any]) -> None:
    """Call a method when layers come, go, move or get another name.

    napari holds methods weakly: it is forgotten with its object.
    """
    events = viewer.layers.events
    for event in (events.inserted, events.removed, events.reordered, events.renamed):
        event.connect(changed)


def while_alive(method: Callable[..., None]) -> Callable[..., None]:
    """Let a method of a widget do nothing once Qt has deleted the widget.

    What it is called with beside the widget, such as an event, is dropped.
    """

    @wraps(method)
    def call(self: Any, *_: Any) -> None:
        if isalive(self):
            method(self)

    return call


class CurrentCanvas(QObject):
    """Makes the OpenGL context of the canvas current before a layer goes.

    When a layer goes, napari 0.9 sends what it has not drawn yet to OpenGL, whichever context is
    current. Outside of drawing none is: buffers of the layers that stay are lost, and drawing them
    ends the process. Two layers that are cleared before another is added are enough.

    Parameters
    ----------
    viewer : napari.Viewer
        Whose layers go.
    form : QWidget
        Somewhere in its window.
    """

    def __init__(self, viewer: Any, form: QWidget) -> None:
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
