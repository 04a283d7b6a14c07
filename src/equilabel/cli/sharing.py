"""Share the options of one command with other commands."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

FOR_MEASURING = (
    *(
        "from_",
        "properties",
        "format_",
        "unit_row",
        "spacing",
        "unit",
        "stacked",
        "track",
        "series",
    ),
    *(
        "recursive",
        "jobs",
        "time_limit",
        "memory_limit",
        "resume",
        "overwrite",
        "overlay",
        "dry_run",
    ),
)
OF_A_RUN = (
    "context",
    "recursive",
    "jobs",
    "time_limit",
    "too_large",
    "resume",
    "dry_run",
)  # not needed for a single image


def takes_options_of(
    other: Callable[..., Any], *, without: Collection[str] = (), only: Collection[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the parameters of another command to those of a function.

    The function takes `**options`; the decorator sets its signature, which typer reads. `only` are
    the names of parameters to add, by default all; `without` are those to leave out.

    >>> def batch(inputs: list, out: str, sigma: float = 0.0): ...
    >>> @takes_options_of(batch, without=["inputs"])
    ... def label(image: str, out: str = ".", **options): ...
    >>> print(inspect.signature(label))
    (image: 'str', out: 'str' = '.', sigma: 'float' = 0.0)
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = list(inspect.signature(function).parameters.values())[:-1]
        known = {*without, *(parameter.name for parameter in own)}
        theirs = inspect.signature(other).parameters.values()
        added = [
            parameter
            for parameter in theirs
            if parameter.name not in known and (not only or parameter.name in only)
        ]
        function.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
        function.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
        return function

    return decorate
