"""Parse the text of options into arguments of `segment`."""

from __future__ import annotations

import math
import re

from equilabel.quantities import KINDS, Quantity, parse

from .options import RefusedError
from .splitting import DEFAULT


def threshold(text: str) -> str | float | tuple[float, float]:
    """Parse a threshold: a method, a number, or two numbers.

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
    message = f"--threshold must be a method, a number or 'low,high'; got {text!r}. Try 'otsu'."
    raise RefusedError(message)


def length(name: str, text: str) -> float | str | tuple[float | str, ...]:
    """Parse a length, or one for each axis, in pixels or with a unit.

    `name` is that of the option, without hyphens in front.

    >>> length("sigma", "1.5"), length("sigma", "2px"), length("sigma", "0.3 um")
    (1.5, 2.0, '0.3µm')
    >>> length("sigma", "0, 2, 2"), length("sigma", "1um,300nm")
    ((0.0, 2.0, 2.0), ('1µm', '300nm'))
    """
    parts = text.split(",")
    found = [_quantity(name, part, text) for part in parts]
    written = [part.strip()[-1:].isdigit() for part in parts]
    if any(written) and not all(written):  # "0,3um" may be a decimal comma
        message = (
            f"--{name} must have a unit for each axis, or for none; got {text!r}. "
            f"Write a point in place of the comma, or '{parts[0].strip()}px,...'."
        )
        raise RefusedError(message)
    for quantity in found:
        if quantity.power > 1:
            message = (
                f"--{name} must be a length; got {text!r}, {KINDS[quantity.power]}. "
                f"Pass for instance '{float(quantity.value):g}{quantity.unit}'."
            )
            raise RefusedError(message)
    values = tuple(map(_short, found))
    return values[0] if len(values) == 1 else values


def split(text: str | None) -> bool | float | str | tuple[float | str, ...]:
    """Parse the depth of necks at which objects are split: a length, None, or the default.

    >>> split(None), split("default"), split("1.5"), split("0.3um")
    (False, True, 1.5, '0.3µm')
    """
    return text is not None if text in (None, DEFAULT) else length("split", text)


def optional_length(name: str, text: str | None) -> float | str | tuple[float | str, ...] | None:
    """Parse a length, or one for each axis, or None."""
    return None if text is None else length(name, text)


def size(name: str, text: str | None) -> int | str | None:
    """Parse the size of an object: whole pixels, or an area or a volume with its unit.

    >>> size("min-size", "30"), size("min-size", "30px"), size("min-size", "5 um^2")
    (30, 30, '5µm²')
    """
    if text is None:
        return None
    found = _short(_quantity(name, text, text))
    if isinstance(found, str):
        return found
    if found != int(found):
        message = f"--{name} must be whole pixels; got {text!r}. Try '{found:.0f}'."
        raise RefusedError(message)
    return int(found)


def _quantity(name: str, text: str, whole: str) -> Quantity:
    try:
        return parse(f"--{name}", text)
    except ValueError as error:
        message = str(error).replace(f"got {text!r}", f"got {whole!r}")
        raise RefusedError(message) from error


def _short(quantity: Quantity) -> float | str:
    """Return pixels as a number, so that --resume treats "2" and "2px" as equal."""
    if quantity.power == 0:
        return float(quantity.value)
    return str(quantity).replace(" ", "")


def offset(value: float) -> float:
    """Return a finite number, or raise RefusedError."""
    if not math.isfinite(value):
        message = f"--offset must be a finite number; got {value!r}. Pass 0 for none."
        raise RefusedError(message)
    return value


def spacing(text: str | None) -> tuple[float, ...] | None:
    """Parse the pixel size: one number, or one for each spatial axis.

    >>> spacing("0.5,0.1,0.1")
    (0.5, 0.1, 0.1)
    """
    if text is None:
        return None
    values = _numbers(text, "spacing", "0.1")
    if len(values) > 3 or min(values) <= 0:
        message = (
            f"--spacing must be 1 to 3 numbers above 0; got {text!r}. "
            "Try '0.1', or '0.5,0.1,0.1' for z, y and x."
        )
        raise RefusedError(message)
    return values


def chunks(text: str | None) -> int | tuple[int, ...] | None:
    """Parse the sides of a block: one whole number, or one for each axis.

    >>> chunks("256"), chunks("1,512,-1")
    (256, (1, 512, -1))
    """
    if text is None:
        return None
    try:
        values = tuple(int(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or any(value < 1 and value != -1 for value in values):
        message = (
            f"--chunks must be whole numbers of 1 or more, or -1, separated by commas; got "
            f"{text!r}. Try '256', or '64,256,256' for z, y and x."
        )
        raise RefusedError(message)
    return values[0] if len(values) == 1 else values


def properties(text: str | None) -> tuple[str, ...] | None:
    """Parse names of columns.

    >>> properties("label, area")
    ('label', 'area')
    """
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        message = f"--properties must be names separated by commas; got {text!r}. Try 'label,area'."
        raise RefusedError(message)
    return names


def channel(text: str | None) -> int | str | None:
    """Parse a channel: its index or its name.

    >>> channel("1"), channel("DAPI")
    (1, 'DAPI')
    """
    if text is None or not text.isdecimal():
        return text
    return int(text)


def unit(text: str | None) -> str | None:
    """Parse a unit of length.

    >>> unit("um"), unit("micron")
    ('µm', 'µm')
    """
    from equilabel.storage.units import LENGTHS, spelled

    if text is None or spelled(text) in LENGTHS:
        return None if text is None else spelled(text)
    message = f"--unit must be one of {list(LENGTHS)}; got {text!r}."
    raise RefusedError(message)


def memory_limit(text: str | None, jobs: int) -> int:
    """Parse the memory limit of an image in bytes; by default 9/10 of the free memory by `jobs`.

    >>> memory_limit("500M", 1), memory_limit("1.5 GB", 4), memory_limit("2GiB", 1)
    (500000000, 1500000000, 2147483648)
    """
    from equilabel.storage.memory import UNITS, free

    if text is None:
        return free() * 9 // 10 // max(1, jobs)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    power = ["", *(unit[0].lower() for unit in UNITS[1:])].index(found[2]) if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if size < 1:
        message = f"--memory-limit must be a size above 0; got {text!r}. Try '4GB' or '500MB'."
        raise RefusedError(message)
    return size


def _numbers(text: str, name: str, example: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(map(math.isfinite, values)):
        message = f"--{name} must be numbers separated by commas; got {text!r}. Try {example!r}."
        raise RefusedError(message)
    return values
