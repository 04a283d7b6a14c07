"""The list of layers, watched for as long as a form exists."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from qtpy.compat import isalive

if TYPE_CHECKING:
    from collections.abc import Callable


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
