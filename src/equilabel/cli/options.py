"""What a run does with every image, and how it is written on a command line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

LABELS, OVERLAY = "_labels.tif", "_overlay.png"
ENDINGS = (LABELS, "_table.csv", "_table.parquet", OVERLAY)  # of all results there can be


class RefusedError(Exception):
    """What was asked for cannot be begun; the message is for the person who asked."""


@dataclass(frozen=True)
class Options:
    """Everything that decides what is written for an image.

    Attributes
    ----------
    segment : dict
        Keyword arguments of `equilabel.segment` that hold for every image.
    spacing : tuple of float, optional
        Replaces the spacing of the files: one number for all axes of space, or one for each.
    unit : str, optional
        Replaces the unit of the files.
    stacked : bool, optional
        Whether the first axis counts independent images; by default axis T does.
    channel : int or str, optional
        Index or name of the channel to label.
    series : int
        Which image of a file that holds several.
    format : {"csv", "parquet"}
        Of the tables.
    overlay : bool
        Whether to draw overlays.
    memory_limit : int, optional
        Bytes an image may decode to; by default half of the free memory. Decides whether there
        are results, not what is in them, and so is none of the parameters.
    """

    segment: dict[str, Any] = field(default_factory=dict)
    spacing: tuple[float, ...] | None = None
    unit: str | None = None
    stacked: bool | None = None
    channel: int | str | None = None
    series: int = 0
    format: str = "csv"
    overlay: bool = True
    memory_limit: int | None = None

    def endings(self) -> dict[str, str]:
        """Name the files written for an image: what each is, and how its name ends."""
        endings = {"labels": LABELS, "table": f"_table.{self.format}"}
        return {**endings, "overlay": OVERLAY} if self.overlay else endings

    def parameters(self) -> dict[str, Any]:
        """List everything under the names of the command line."""
        others = ("segment", "memory_limit")
        own = {name: value for name, value in vars(self).items() if name not in others}
        return {**self.segment, **own}


def threshold(text: str) -> str | float | tuple[float, float]:
    """Read a threshold: a word, a number, or two.

    Examples
    --------
    >>> threshold("otsu"), threshold("12.5"), threshold("10,20")
    ('otsu', 12.5, (10.0, 20.0))
    """
    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if not values and len(parts) == 1 and text.strip():
        return text.strip()
    if len(values) in (1, 2) and all(map(math.isfinite, values)):
        return values[0] if len(values) == 1 else (values[0], values[1])
    message = f"threshold must be a method, a number or 'low,high'; got {text!r}. Try 'otsu'."
    raise RefusedError(message)


def sigma(text: str) -> float | tuple[float, ...]:
    """Read the width of a Gaussian: one number, or one for each axis.

    Examples
    --------
    >>> sigma("1.5"), sigma("0, 2, 2")
    (1.5, (0.0, 2.0, 2.0))
    """
    values = _numbers(text, "sigma", "1.5")
    return values[0] if len(values) == 1 else values


def offset(value: float) -> float:
    """Let only finite numbers pass."""
    if not math.isfinite(value):
        message = f"offset must be a finite number; got {value!r}."
        raise RefusedError(message)
    return value


def spacing(text: str | None) -> tuple[float, ...] | None:
    """Read distances of elements: one number, or one for each axis of space.

    Examples
    --------
    >>> spacing("0.5,0.1,0.1")
    (0.5, 0.1, 0.1)
    """
    if text is None:
        return None
    values = _numbers(text, "spacing", "0.5,0.1,0.1")
    if len(values) > 3 or min(values) <= 0:
        message = f"spacing must be 1 to 3 numbers above 0; got {text!r}. Try '0.5,0.1,0.1'."
        raise RefusedError(message)
    return values


def properties(text: str | None) -> tuple[str, ...] | None:
    """Read names of columns.

    Examples
    --------
    >>> properties("label, area")
    ('label', 'area')
    """
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        message = f"properties must be names with commas between; got {text!r}. Try 'label,area'."
        raise RefusedError(message)
    return names


def channel(text: str | None) -> int | str | None:
    """Read a channel: its index or its name.

    Examples
    --------
    >>> channel("1"), channel("DAPI")
    (1, 'DAPI')
    """
    if text is None or not text.isdecimal():
        return text
    return int(text)


def unit(text: str | None) -> str | None:
    """Read a unit of length.

    Examples
    --------
    >>> unit("um"), unit("micron")
    ('µm', 'µm')
    """
    from equilabel.storage.units import LENGTHS, spelled

    if text is None or spelled(text) in LENGTHS:
        return None if text is None else spelled(text)
    message = f"unit must be one of {list(LENGTHS)}; got {text!r}."
    raise RefusedError(message)


def memory_limit(text: str | None, jobs: int) -> int:
    """Read how many bytes an image may decode to; by default a share of half the free memory.

    Examples
    --------
    >>> memory_limit("500M", 1), memory_limit("1.5 GB", 4), memory_limit("2GiB", 1)
    (500000000, 1500000000, 2147483648)
    """
    from equilabel.storage.memory import UNITS, half_of_free

    if text is None:
        return half_of_free() // max(1, jobs)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    power = ["", *(unit[0].lower() for unit in UNITS[1:])].index(found[2]) if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if size < 1:
        message = f"memory_limit must be a size above 0; got {text!r}. Try '4GB' or '500MB'."
        raise RefusedError(message)
    return size


def _numbers(text: str, name: str, example: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(map(math.isfinite, values)):
        message = f"{name} must be numbers with commas between; got {text!r}. Try {example!r}."
        raise RefusedError(message)
    return values
