"""Scripts that repeat a run: a line of Python, and a command for a terminal."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from equilabel.storage.images import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .choices import Choices
    from .sources import Source

WITHOUT_FILE = "image.tif"


def python_line(source: Source, choices: Choices, *, chunked: bool = False) -> str:
    """Return a line of Python that repeats a run in the console of napari.

    Parameters
    ----------
    source : Source
        The layer.
    choices : Choices
        The values of the form.
    chunked : bool
        Whether the image is labeled block by block.

    Returns
    -------
    str
        It assigns an `equilabel.Segmentation` to ``found``.
    """
    image = f"viewer.layers[{source.name!r}].data"
    if source.multiscale:
        image += "[0]"
    function = "segment_chunked" if chunked else "segment"
    imports = f"from equilabel import {function}"
    if chunked:
        imports += "; import dask.array"
        image = f"dask.array.asarray({image})"
    if source.rgb:
        imports += "; from equilabel.widget import gray"
        image = f"gray({image}, {choices.color!r})"
    arrangement = source.arrangement(choices.roles)
    last = [] if arrangement.channel is None else [arrangement.channel]
    order = [*arrangement.times, *arrangement.space, *last]
    if order != sorted(order):
        image += f".transpose({', '.join(map(str, order))})"
    if len(arrangement.times) > 1:
        kept = [str(source.shape[axis]) for axis in [*arrangement.space, *last]]
        image += f".reshape(-1, {', '.join(kept)})"
    arguments = choices.arguments(source)
    if choices.properties is not None:
        arguments["properties"] = ("label", *choices.properties)
    words = "".join(f", {name}={_literal(value)}" for name, value in arguments.items())
    return f"{imports}; found = {function}({image}{words})"


def batch_command(source: Source, choices: Choices, *, chunked: bool = False) -> str:
    """Return a command that repeats a run on files.

    Parameters
    ----------
    source : Source
        The layer. If it was not read from a file, ``image.tif`` stands for it.
    choices : Choices
        The values of the form.
    chunked : bool
        Whether files that do not fit into memory are labeled block by block.

    Returns
    -------
    str
        Empty if `equilabel batch` cannot do the same.
    """
    if why_no_command(source, choices):
        return ""
    file = source.path if has_file(source) else WITHOUT_FILE
    words = ["equilabel", "batch", file, "--out", "results"]
    arguments = choices.arguments(source)
    if choices.properties is not None:
        arguments["properties"] = ("label", *choices.properties)
    spacing, unit = source.spacing(choices.roles)
    for name in ("channel_axis", "unit"):
        arguments.pop(name, None)
    arguments["spacing"] = (
        spacing[0] if len(set(spacing)) == 1 else spacing
    )  # replaces the one in the file
    for name, value in arguments.items():
        option = f"--{name.replace('_', '-')}"
        if name == "stacked":
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, tuple):
            words += [f"{option}={','.join(map(str, value))}"]
        else:
            words += [f"{option}={value}"]
    words.append("--stacked" if "time" in choices.roles else "--no-stacked")
    if unit:
        words.append(f"--unit={unit}")
    if chunked:
        words.append("--too-large=chunked")
    return shlex.join(words)


def has_file(source: Source) -> bool:
    """Return whether a layer was read from a file that `equilabel batch` reads, too."""
    return source.path.lower().endswith(SUFFIXES)


def why_no_command(source: Source, choices: Choices) -> str:
    """Return what `equilabel batch` cannot repeat; empty if it can repeat the run."""
    if source.rgb:
        return "a color image, of which it would measure each color"
    if choices.roles.count("time") > 1:
        return "several axes of time"
    return ""


def with_filter(line: str, ranges: Sequence[tuple[str, float, float]]) -> str:
    """Add to a line of Python that objects are kept by ranges of their measurements.

    Examples
    --------
    >>> with_filter("found = segment(image)", [("area", 20.0, math.inf)]).split("; ")[-1]
    "found = keep(found, {'area': (20.0, None)})"
    """
    words = ", ".join(f"{name!r}: ({_end(low)}, {_end(high)})" for name, low, high in ranges)
    return f"{line}; from equilabel.widget import keep; found = keep(found, {{{words}}})"


def _end(limit: float) -> str:
    return repr(float(limit)) if math.isfinite(limit) else "None"


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(_literal(each) for each in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value.item() if hasattr(value, "item") else value)
