"""Convert options as they were typed to the options of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from . import parsing
from .options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Keyword arguments of `segment`, and options for reading and writing files.
SEGMENT = (
    *("threshold", "background", "background_method", "sigma", "dark", "block_size", "offset"),
    *(
        "closing",
        "opening",
        "fill_holes",
        "connectivity",
        "split",
        "track",
        "min_size",
        "max_size",
        "exclude_border",
        "properties",
        "method",
        "device",
    ),
)
FILES = (
    "spacing",
    "unit",
    "stacked",
    "channel",
    "slices",
    "series",
    "format",
    "labels_format",
    "unit_row",
    "overlay",
)
READERS: dict[str, Callable[[Any], Any]] = {
    "threshold": parsing.threshold,
    "sigma": partial(parsing.length, "sigma"),
    "closing": partial(parsing.length, "closing"),
    "opening": partial(parsing.length, "opening"),
    "background": partial(parsing.optional_length, "background"),
    "block_size": partial(parsing.optional_length, "block-size"),
    "split": parsing.split,
    "min_size": partial(parsing.size, "min-size"),
    "max_size": partial(parsing.size, "max-size"),
    "offset": parsing.offset,
    "properties": parsing.properties,
    "spacing": parsing.spacing,
    "unit": parsing.unit,
    "channel": parsing.channel,
}


def read_options(given: Mapping[str, Any]) -> Options:
    """Convert the values of the parameters of a command, by name, to the options of a run.

    Parameters that are not options are ignored. Raises RefusedError if a value cannot be parsed.

    >>> read_options({"sigma": "0.5", "channel": "1"}).parameters()["sigma"]
    0.5
    """
    values = {name.rstrip("_"): value for name, value in given.items()}
    read = {name: READERS.get(name, _keep)(value) for name, value in values.items()}
    own = {name: read[name] for name in ("command", *FILES) if name in read}
    if "memory_limit" in values:
        jobs = values.get("jobs", 1)
        own["too_large"] = values.get("too_large", "refuse")
        limit = values["memory_limit"]
        there = limit is None and "jobs" in values and values.get("scheduler")  # workers decide
        own["memory_limit"] = None if there else parsing.memory_limit(limit, jobs)
    return Options({name: read[name] for name in SEGMENT if name in read}, **own)


def _keep(value: Any) -> Any:
    return value


def is_typed(context: typer.Context, name: str) -> bool:
    """Return whether the user typed an option, so that its value is not the default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_missing(name: str, context: typer.Context) -> None:
    """Raise click's error for a missing argument, which is needed only without --from."""
    message = f"Missing argument {name!r}"
    raise typer.BadParameter.__mro__[1](message, context)
