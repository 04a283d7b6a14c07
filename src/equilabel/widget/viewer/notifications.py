"""Notifications of napari: hints, warnings, and errors without a traceback."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from napari.utils.notifications import show_info, show_warning

from equilabel.widget.logic.messages import explain

if TYPE_CHECKING:
    from collections.abc import Callable

_shown: set[str] = set()


def inform(sentence: str) -> None:
    """Show a hint."""
    show_info(sentence)


def warn(sentence: str) -> None:
    """Show a warning: what is wrong, and what would help."""
    show_warning(sentence)


def warn_once(sentence: str) -> None:
    """Show a warning, unless it is empty or was shown by this process before."""
    if sentence and sentence not in _shown:
        _shown.add(sentence)
        warn(sentence)


def guarded(slot: Callable[..., Any]) -> Callable[..., None]:
    """Make a slot show the error it raises as a warning.

    Values of the signal are not passed on to the slot.
    """

    @wraps(slot)
    def call(self: Any, *_: object, **__: object) -> None:
        try:
            slot(self)
        except Exception as error:  # whatever it is
            warn(explain(error))

    return call
