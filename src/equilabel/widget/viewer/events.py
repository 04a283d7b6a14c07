"""Events of the viewer, for as long as the widget that they call exists."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from qtpy.compat import isalive
from qtpy.QtCore import QEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.widget.napari_types import Event, Viewer


def connect_layers(viewer: Viewer, changed: Callable[..., Any]) -> None:
    """Call a method when layers are added, removed, moved or renamed.

    napari holds methods weakly: it is disconnected with its object.
    """
    for name in ("inserted", "removed", "reordered", "renamed"):
        getattr(viewer.layers.events, name).connect(changed)


def is_removal(form: Any, event: Event) -> bool:
    """Return whether an event says that a form was taken out of its dock, which is closed."""
    return event.type() == QEvent.Type.ParentChange and form.parent() is None


def while_alive(method: Callable[..., None]) -> Callable[..., None]:
    """Make a method of a widget do nothing once Qt has deleted the widget.

    Arguments, such as an event, are not passed on to the method.
    """

    @wraps(method)
    def call(self: Any, *_: object) -> None:
        if isalive(self):
            method(self)

    return call
