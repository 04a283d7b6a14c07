"""Parsers for options that are one of a few words, or a number."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable


def one_of(name: str, *words: str) -> Callable[[Any], str]:
    """Return a function that reads one of some words, or raises RefusedError.

    >>> one_of("format", "csv", "parquet")("csv")
    'csv'
    """

    def read(text: Any) -> str:
        if text in words:
            return str(text)
        near = get_close_matches(str(text).lower(), words, n=1, cutoff=0.5)
        remedy = f"Did you mean {near[0]!r}?" if near else f"Pass {words[0]!r} if unsure."
        message = f"--{name} must be one of {list(words)}; got {text!r}. {remedy}"
        raise RefusedError(message)

    return read


def whole(name: str, example: str) -> Callable[[Any], int]:
    """Return a function that reads a whole number, or raises RefusedError.

    >>> whole("jobs", "4")("2")
    2
    """
    return _reads(int, f"--{name} must be a whole number", example)


def number(name: str, example: str) -> Callable[[Any], float]:
    """Return a function that reads a number, or raises RefusedError.

    >>> number("offset", "-20")("1e2")
    100.0
    """
    return _reads(float, f"--{name} must be a number", example)


def _reads(kind: Callable[[Any], Any], rule: str, example: str) -> Callable[[Any], Any]:
    """Return a function that reads a value; a named one, as click before 8.2 needs `__name__`."""

    def read(text: Any) -> Any:
        try:
            return kind(text)
        except ValueError:
            message = f"{rule}; got {text!r}. Try {example!r}."
            raise RefusedError(message) from None

    return read
