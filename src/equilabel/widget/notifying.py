"""Sentences for the person at the viewer, in place of tracebacks."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from napari.utils.notifications import show_info, show_warning

from .explaining import explain

if TYPE_CHECKING:
    from collections.abc import Callable


def inform(sentence: str) -> None:
    """Say something good to know."""
    show_info(sentence)


def warn(sentence: str) -> None:
    """Say what is wrong and what would help."""
    show_warning(sentence)


def guarded(slot: Callable[..., Any]) -> Callable[..., None]:
    """Make what a slot raises a sentence: the viewer goes on.

    The slot is called with its own object alone, whatever a signal carries.
    """

    @wraps(slot)
    def call(self: Any, *_: Any, **__: Any) -> None:
        try:
            slot(self)
        except Exception as error:  # a person is told in a sentence, whatever it is
            warn(explain(error))

    return call
