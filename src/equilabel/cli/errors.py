"""Errors as one line of text, with the names of command-line options."""

from __future__ import annotations

import errno
import re
from dataclasses import fields
from functools import cache
from inspect import signature

from equilabel.storage.errors import FULL, causes, is_shortage

from .inputs import printable
from .options import Options

HANDLES = (errno.EMFILE, errno.ENFILE)
LENGTHS = ("sigma", "closing", "opening", "background", "block-size")
MEMORY = "out of memory"  # a possible end of an attempt


def explain(error: BaseException) -> str:
    """Return the message of an error in one line, with a remedy."""
    if is_shortage(error):
        return (
            f"image must fit in memory; got {_memory(error)}. "
            "Pass fewer --jobs, or use a machine with more."
        )
    if isinstance(error, OSError) and error.strerror:
        name = f" for {printable(error.filename)!r}" if error.filename else ""
        if error.errno in FULL:
            return (
                f"the disk of --out must have room; got {error.strerror!r}{name}. "
                "Make room and run again with --resume."
            )
        if error.errno in HANDLES:
            return (
                f"files must be opened; got {error.strerror!r}. Raise the limit with `ulimit -n`, "
                "or pass fewer --jobs."
            )
        remedy = " Shorten the name." if error.errno == errno.ENAMETOOLONG else ""
        return f"files must be readable and writable; got {error.strerror!r}{name}.{remedy}"
    expected = isinstance(error, (ValueError, TypeError, RuntimeError, OSError, ImportError))
    text = one_line(error) or type(error).__name__
    return (
        name_options(text) if expected else f"{type(error).__name__}: {text}. Please report this."
    )


def name_options(text: str) -> str:
    """Replace the names of Python parameters in a message by options of the command line.

    >>> name_options("block_size must be left out unless threshold='local'; got 5.")
    '--block-size must be left out unless --threshold local; got 5.'
    >>> name_options("property 'frame' is defined for a stack; got stacked=False.")
    "property 'frame' is defined for a stack; got --no-stacked."
    >>> name_options("sigma=100.0 blurs the image over 236 pixels.")
    '--sigma 100px blurs the image over 236 pixels.'
    """
    names = "|".join(_parameters())
    long = "|".join(name for name in _parameters() if "_" in name)  # cannot be ordinary words
    given = rf"\b(?P<name>{names})=(?P<value>'[^']*'|[\w.:-]*\w)"
    first = rf"^(?P<name>{names})(?= (?:must|needs)\b)"
    text = text.replace("without an image", "without --image").replace(
        "Pass an image", "Pass --image"
    )
    for pattern in (given, first, rf"(?<![\w-])(?P<name>{long})\b"):
        text = re.sub(pattern, _as_option, text)
    return text


def _as_option(found: re.Match[str]) -> str:
    """Write a parameter, with its value if it has one, as a user types it."""
    word, value = found["name"].replace("_", "-"), found.groupdict().get("value")
    if value in (None, "True", "False"):
        return f"--no-{word}" if value == "False" else f"--{word}"
    if word in LENGTHS and value.replace(".", "", 1).isdecimal():
        return f"--{word} {float(value):g}px"  # in pixels, whatever unit was typed
    return f"--{word} {value.strip(chr(39))}"


@cache
def _parameters() -> tuple[str, ...]:
    """List the Python parameters that are options of `equilabel batch`."""
    from equilabel import segment, segment_chunked

    chunked = signature(segment_chunked).parameters
    names = {*signature(segment).parameters, *chunked, *(item.name for item in fields(Options))}
    return tuple(sorted(names - {"image", "channel_axis", "progress", "segment"}))


def one_line(text: object) -> str:
    """Join lines, and escape characters that cannot be printed."""
    return printable(" ".join(str(text).split()))


def _memory(error: BaseException) -> str:
    found = next((each for each in causes(error) if isinstance(each, MemoryError)), error)
    text = found.strerror if isinstance(found, OSError) else found
    return one_line(text or "").rstrip(".") or "no more of it"
