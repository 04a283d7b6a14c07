"""Scripts that repeat a run: a line of Python, and a command for a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .choices import Choices
    from .sources import Source

SUFFIXES = (".tif", ".tiff")
WITHOUT_FILE = "image.tif"


def python_line(source: Source, choices: Choices) -> str:
    """Return a line of Python that repeats a run in the console of napari.

    Parameters
    ----------
    source : Source
        The layer.
    choices : Choices
        The values of the form.

    Returns
    -------
    str
        It assigns an `equilabel.Segmentation` to ``found``.
    """
    image = f"viewer.layers[{source.name!r}].data"
    if source.multiscale:
        image += "[0]"
    imports = "from equilabel import segment"
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
    return f"{imports}; found = segment({image}{words})"


def batch_command(source: Source, choices: Choices) -> str:
    """Return a command that repeats a run on files.

    Parameters
    ----------
    source : Source
        The layer. If it was not read from a TIFF, ``image.tif`` stands for it.
    choices : Choices
        The values of the form.

    Returns
    -------
    str
        Empty if `equilabel batch` cannot do the same.
    """
    if source.rgb and choices.color == "luminance":
        return ""
    if choices.roles.count("time") > 1:
        return ""
    file = source.path if source.path.lower().endswith(SUFFIXES) else WITHOUT_FILE
    words = ["equilabel", "batch", file, "--out", "results"]
    arguments = choices.arguments(source)
    if choices.properties is not None:
        arguments["properties"] = ("label", *choices.properties)
    spacing, unit = source.spacing(choices.roles)
    for name in ("channel_axis", "unit"):
        arguments.pop(name, None)
    if source.rgb:
        arguments["channel"] = ("red", "green", "blue").index(choices.color)
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
    return shlex.join(words)


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(_literal(each) for each in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value.item() if hasattr(value, "item") else value)
