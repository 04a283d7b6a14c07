"""The list of layers, watched for as long as a form exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from qtpy.QtWidgets import QWidget


def watch_layers(form: QWidget, viewer: Any, changed: Callable[..., Any]) -> None:
    """Call a form when layers come, go, move or get another name; no longer when it is gone."""
    events = viewer.layers.events
    watched = [events.inserted, events.removed, events.reordered, events.renamed]
    for event in watched:
        event.connect(changed)

    def stop(*_: Any) -> None:
        for event in watched:
            event.disconnect(changed)

    form.destroyed.connect(stop)
