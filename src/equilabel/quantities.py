"""Convert lengths and sizes, given in pixels or with a unit, to numbers of pixels.

A plain number counts pixels; text may name a unit: "2", "2px", "0.3um", "5 µm²". A length is
measured along an axis, such as the width of a Gaussian; a size is that of an object, an area (2D)
or a volume (3D). Both need the pixel size if they have a unit.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equilabel.arguments import check_number, check_sequence, check_text, shown
from equilabel.storage.metadata import LENGTHS, PIXELS, SPELLINGS, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

Length: TypeAlias = float | str
Lengths: TypeAlias = Length | Sequence[Length]
Size: TypeAlias = float | str


# ---- Numbers with a unit, parsed from text

PIXEL = "px"
POWERS = {1: "", 2: "²", 3: "³"}
LONGEST = 100  # characters of a length
KINDS = {1: "a length", 2: "an area", 3: "a volume"}
_FORM = re.compile(
    r"\s*(?P<number>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?|nan\b|inf(?:inity)?\b))\s*"
    r"(?:(?P<unit>[^\W\d_]+)(?:(?:\s*(?:\^|\*\*)\s*)?(?P<power>[123]))?)?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quantity:
    """A number of pixels, a length, an area or a volume."""

    value: Fraction  # exactly as written; 0 or more
    unit: str  # "px", or a name in `equilabel.storage.metadata.LENGTHS`
    power: int  # 1: length, 2: area, 3: volume, 0: pixels of either kind, such as "30px"

    @property
    def is_physical(self) -> bool:
        """True if its number of pixels depends on the pixel size."""
        return self.unit != PIXEL

    def __str__(self) -> str:
        """Return text that can be parsed again: "2 px", "5 µm²"."""
        return f"{float(self.value):.15g} {self.unit}{POWERS.get(self.power, '')}"


def parse(name: str, value: object) -> Quantity:
    """Parse a length or a size: a number of pixels, or text with a number and a unit.

    Raises TypeError for other types; ValueError if it is negative or not finite, or the text is
    wrong or has an unknown unit. `name` is the parameter in messages.

    >>> print(parse("sigma", 2), parse("sigma", "0.3um"), parse("min_size", "5 um^2"), sep=", ")
    2 px, 0.3 µm, 5 µm²
    >>> parse("sigma", "0.3 mikron")
    Traceback (most recent call last):
    ...
    ValueError: sigma must be in px or one of ['km', ...]; got '0.3 mikron'. Did you mean 'µm'?
    """
    if isinstance(value, str):
        return _read(name, value)
    kinds, remedy = "a number of pixels, or text such as '0.3um'", "Pass 0 for none."
    number = check_number(name, value, 0, finite=True, kinds=kinds, remedy=remedy)
    return Quantity(Fraction(number), PIXEL, 0)


def _read(name: str, text: str) -> Quantity:
    known = unicodedata.normalize("NFKC", text)  # "µm²" becomes "μm2"
    found = _FORM.fullmatch(known) if len(known) <= LONGEST else None
    if found is None:
        remedy = "Write a point in place of the comma" if "," in text else "Write '2px' or '0.3um'"
        message = (
            f"{name} must be a number and, if it is not in pixels, its unit; got {shown(text)}. "
            f"{remedy}."
        )
        raise ValueError(message)
    if not 0 <= float(found["number"]) < math.inf:
        message = f"{name} must be 0 or more, and finite; got {shown(text)}. Pass 0 for none."
        raise ValueError(message)
    word, power = spelled(found["unit"] or ""), int(found["power"] or 0)
    if word.lower() in PIXELS:
        return Quantity(Fraction(found["number"]), PIXEL, power)
    if word not in LENGTHS:
        known = f"px or one of {list(LENGTHS)}"
        message = f"{name} must be in {known}; got {shown(text)}. {_suggest(word)}"
        raise ValueError(message)
    return Quantity(Fraction(found["number"]), word, power or 1)


def known_unit(name: str, unit: str | None) -> str | None:
    """Return a unit of length as spelled in this package; None for pixels or None.

    Raises ValueError for an unknown unit; `name` is the parameter in the message.

    >>> known_unit("unit", "micron"), known_unit("unit", None), known_unit("unit", "px")
    ('µm', None, None)
    """
    word = "" if unit is None else spelled(check_text(name, unit))
    if word.lower() in PIXELS:
        return None
    if word not in LENGTHS:
        message = f"{name} must be one of {list(LENGTHS)}; got {shown(unit)}. {_suggest(word)}"
        raise ValueError(message)
    return word


def _suggest(word: str) -> str:
    known = [name for name in (*LENGTHS, *SPELLINGS) if spelled(name) in LENGTHS and len(name) > 1]
    near = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f"Did you mean {spelled(near[0])!r}?" if near else "Pass for instance 'um'."


# ---- Lengths and sizes as numbers of pixels

# Largest standard deviation or radius of a filter in pixels. A Gaussian reaches four times as
# far on each side.
WIDEST = 1000.0


def length_in_pixels(
    name: str,
    value: Lengths,
    rank: int,
    *,
    spacing: Sequence[float] | None = None,
    unit: str | None = None,
    most: float = math.inf,
) -> tuple[float, ...]:
    """Return a length as a number of pixels along each of `rank` spatial axes.

    `value` is one length for all axes, or one for each. A physical length is equal in all
    directions, a number of pixels is equal along all axes. `spacing` is the pixel size along each
    axis in `unit`, None if unknown. Raises the errors of `parse`, and ValueError if the length is
    more than `most` pixels, is an area or a volume, has the wrong number of values, or is physical
    without a pixel size or unit; `name` is the parameter in messages.

    >>> length_in_pixels("sigma", 2, 3)
    (2.0, 2.0, 2.0)
    >>> length_in_pixels("sigma", "300nm", 3, spacing=(0.6, 0.1, 0.1), unit="µm")
    (0.5, 3.0, 3.0)
    >>> length_in_pixels("sigma", (0, "2px"), 2)
    (0.0, 2.0)
    """
    if (type(value) is int or type(value) is float) and 0 <= value <= min(most, WIDEST):
        return (float(value),) * rank  # as most are
    single = isinstance(value, str) or not np.iterable(value)
    each: Sequence[Any] = [value] * rank if single else check_sequence(name, value)
    if len(each) != rank:
        message = (
            f"{name} must be one length, or one for each of {rank} axes; got {shown(value)}. "
            "Give one for all axes, or as many as there are."
        )
        raise ValueError(message)
    lengths = [parse(name, value)] * rank if single else [parse(name, one) for one in each]
    for one, written in zip(lengths, each, strict=True):
        if one.power > 1:
            message = (
                f"{name} must be a length; got {shown(written)}, {KINDS[one.power]}. "
                f"Pass for instance '{float(one.value):g}{one.unit}'."
            )
            raise ValueError(message)
    found = tuple(
        _as_float(one.value * _per_pixel(name, one, written, spacing, unit, (axis,)))
        for axis, (one, written) in enumerate(zip(lengths, each, strict=True))
    )
    if max(found, default=0.0) > most:
        message = (
            f"{name} must be at most {most:g} pixels; got {shown(value)}, {max(found):g} pixels. "
            "Pass a smaller one, such as '2px'."
        )
        raise ValueError(message)
    return found


def size_in_pixels(
    name: str,
    value: Size,
    rank: int,
    *,
    spacing: Sequence[float] | None = None,
    unit: str | None = None,
) -> float:
    """Return the size of an object as a number of pixels, which may not be whole.

    `value` is a number of pixels, an area (2D) or a volume (3D); the other arguments and the errors
    are those of `length_in_pixels`.

    >>> size_in_pixels("min_size", "30px", 2)
    30.0
    >>> size_in_pixels("min_size", "5um2", 2, spacing=(0.5, 0.5), unit="µm")
    20.0
    >>> size_in_pixels("min_size", "1um3", 3, spacing=(1.0, 0.2, 0.5), unit="µm")
    10.0
    """
    size = parse(name, value)
    if size.power not in (rank, 0 if size.unit == PIXEL else rank):
        wanted = f"a number of pixels or {KINDS[rank]}" if rank in KINDS else "a number of pixels"
        right = f"{float(size.value):g}{size.unit}{rank}" if rank in KINDS else "30px"
        message = (
            f"{name} must be {wanted} for an image of {rank} axes; got {shown(value)}, "
            f"{KINDS[size.power]}. Pass for instance {right!r}."
        )
        raise ValueError(message)
    scale = _per_pixel(name, size, value, spacing, unit, range(rank))
    return _as_float(size.value * scale)


def _per_pixel(
    name: str,
    quantity: Quantity,
    written: object,
    spacing: Sequence[float] | None,
    unit: str | None,
    axes: Sequence[int],
) -> Fraction:
    """Return the exact number of pixels in one unit of a quantity, along some axes."""
    if quantity.unit == PIXEL:
        return Fraction(1)
    example = "2px" if quantity.power == 1 else "30px"
    if spacing is None:
        message = (
            f"{name} must be in pixels for an image without a pixel size; got {shown(written)}. "
            f"Pass pixels, such as {example!r}, or the pixel size, such as spacing=0.1 with "
            "unit='µm'."
        )
        raise ValueError(message)
    home = known_unit("unit", unit)
    if home is None:
        message = (
            f"{name} must be in pixels where the unit of the pixel size is not known; got "
            f"{shown(written)}. Pass pixels, such as {example!r}, or name the unit, such as "
            "unit='µm'."
        )
        raise ValueError(message)
    scale = Fraction(1)
    for axis in axes:
        scale *= LENGTHS[quantity.unit] / (LENGTHS[home] * Fraction(str(float(spacing[axis]))))
    return scale


def _as_float(pixels: Fraction) -> float:
    """Return a fraction as a float; infinity if it is too large."""
    try:
        return float(pixels)
    except OverflowError:
        return math.inf


# ---- Units of columns, and lengths and sizes as text


def derived_unit(kind: str, rank: int, unit: str, indices: Sequence[str] = ()) -> str:
    """Return the unit of a column of a table.

    `kind` is that of `equilabel.measuring.measurement.Property.unit`, `rank` the number of spatial
    axes, `unit` that of lengths ("" if unknown), and `indices` are those of the column: for a
    moment, the power of each coordinate.

    >>> derived_unit("size", 2, "µm"), derived_unit("size", 3, "µm"), derived_unit("radian", 2, "")
    ('µm²', 'µm³', 'rad')
    """
    if kind == "pixel":
        return PIXEL
    if kind == "radian":
        return "rad"
    power = {"length": 1, "area": 2, "size": rank}.get(kind, 0)
    if kind == "powers of length" and all(index.isdecimal() for index in indices):
        power = sum(map(int, indices))
    return f"{unit}{POWERS.get(power, f'^{power}')}" if unit and power else ""


def pixel_of(kind: str, spacing: Sequence[float]) -> float:
    """Return the size of a pixel for a kind of length or size, in the unit of `spacing`.

    For "radius" and "block" it is the side along the last axis, for "depth" the smallest side, for
    "size" the area or volume.

    >>> [pixel_of(kind, (2.0, 0.25, 0.5)) for kind in ("radius", "depth", "size")]
    [0.5, 0.25, 0.25]
    """
    if kind == "size":
        return math.prod(spacing)
    return min(spacing) if kind == "depth" else spacing[-1]


def describe_pixels(kind: str, value: float, spacing: Sequence[float]) -> str:
    """Describe a physical length or size (see `pixel_of`) in pixels along the axes; "" for 0.

    >>> describe_pixels("radius", 0.65, (0.325, 0.325)), describe_pixels("block", 10, (2.0, 0.5))
    ('= 2 px', '5-21 px')
    """
    if not value:
        return ""
    if kind == "block":
        sides = sorted(odd(value / distance) for distance in spacing)
        return f"= {sides[0]} px" if sides[0] == sides[-1] else f"{sides[0]}-{sides[-1]} px"
    if kind != "radius":
        pixels = value / pixel_of(kind, spacing)
        return f"= {math.ceil(round(pixels, 9)) if kind == 'size' else format(pixels, '.3g')} px"
    least, most = value / max(spacing), value / min(spacing)
    if math.isclose(least, most, rel_tol=0.005):
        return f"= {least:.3g} px"
    return f"{least:.{2 + (least > 99)}g}-{most:.{2 + (most > 99)}g} px"


def odd(pixels: float) -> int:
    """Return the side of a block: the nearest odd number of pixels.

    >>> odd(51), odd(50.2), odd(49.9)
    (51, 51, 49)
    """
    return 2 * math.floor(pixels / 2) + 1


def decimals_for(pixel: float) -> int:
    """Return the number of decimals that show a hundredth of a pixel of this length.

    >>> decimals_for(1.0), decimals_for(0.0515)
    (2, 4)
    """
    return int(min(12, max(2, 2 - math.floor(math.log10(pixel))))) if pixel > 0 else 2


# ---- Gaussians that are probably wider than the user intended

# Full width at half maximum in standard deviations; above this share of the image it is wide.
FULL_WIDTH, WIDE_SHARE = 2.355, 0.1
NEVER_WIDE = 2.0  # pixels, however small the image

_enabled = ContextVar("enabled", default=True)


@contextmanager
def without_blur_warnings() -> Iterator[None]:
    """Disable warnings about wide blurs in this thread, because the caller asks the user itself.

    Filters of `warnings` would affect all threads.
    """
    token = _enabled.set(False)
    try:
        yield
    finally:
        _enabled.reset(token)


def blur_warnings_enabled() -> bool:
    """Return whether warnings about wide blurs are enabled."""
    return _enabled.get()


def wide_blur(widths: Sequence[float], shape: Sequence[int]) -> tuple[float, int, int] | None:
    """Return the first axis along which a Gaussian blurs objects together, not only noise.

    `widths` are its standard deviations along the axes of `shape`, in pixels. Returns standard
    deviation, full width at half maximum and length of that axis, if the full width is more than a
    tenth of the length; None if there is no such axis. Up to `NEVER_WIDE` pixels are never too
    wide.

    >>> wide_blur((39, 39), (512, 512)), wide_blur((2, 2), (512, 512))
    ((39, 92, 512), None)
    """
    for width, side in zip(widths, shape, strict=True):
        if width > NEVER_WIDE and side > 1 and FULL_WIDTH * width > WIDE_SHARE * side:
            return width, round(FULL_WIDTH * width), side
    return None
