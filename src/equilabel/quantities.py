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
    unit, power = known_unit(name, found["unit"], text), int(found["power"] or 0)
    return Quantity(Fraction(found["number"]), unit or PIXEL, power or int(unit is not None))


def known_unit(name: str, unit: str | None, text: str = "") -> str | None:
    """Return a unit of length as spelled in this package; None for pixels or None.

    Raises ValueError for an unknown unit, which shows the parameter `name` and its `text`.

    >>> known_unit("unit", "micron"), known_unit("unit", None), known_unit("unit", "px")
    ('µm', None, None)
    """
    word = "" if unit is None else spelled(check_text(name, unit))
    if word.lower() in PIXELS:
        return None
    if word not in LENGTHS:
        names = [one for one in (*LENGTHS, *SPELLINGS) if spelled(one) in LENGTHS and len(one) > 1]
        near = get_close_matches(word.lower(), names, n=1, cutoff=0.6)
        remedy = f"Did you mean {spelled(near[0])!r}?" if near else "Pass for instance 'um'."
        message = f"{name} must be in px or one of {list(LENGTHS)}; got {shown(text or unit)}. "
        raise ValueError(message + remedy)
    return word


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
    """Return a length, or one for each axis, in pixels along each of `rank` spatial axes.

    `spacing` is the pixel size along each axis in `unit`, None if unknown. Raises the errors of
    `parse`, and ValueError if the length has more than `most` pixels or cannot be converted.

    >>> length_in_pixels("sigma", "300nm", 3, spacing=(0.6, 0.1, 0.1), unit="µm")
    (0.5, 3.0, 3.0)
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
    wrong = next((one for one in lengths if one.power > 1), None)
    if wrong is not None:
        message = (
            f"{name} must be a length; got {shown(value)}, {KINDS[wrong.power]}. "
            f"Pass for instance '{float(wrong.value):g}{wrong.unit}'."
        )
        raise ValueError(message)
    found = tuple(
        _convert(name, one, value, spacing, unit, (axis,)) for axis, one in enumerate(lengths)
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
    """Return an area (2D) or a volume (3D) in pixels; arguments as for `length_in_pixels`.

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
    return _convert(name, size, value, spacing, unit, range(rank))


def _convert(
    name: str,
    quantity: Quantity,
    written: object,
    spacing: Sequence[float] | None,
    unit: str | None,
    axes: Sequence[int],
) -> float:
    """Return the number of pixels in a quantity along some axes; infinity if it is too large."""
    pixels = quantity.value
    if quantity.unit != PIXEL:
        home = None if spacing is None else known_unit("unit", unit)
        if spacing is None or home is None:
            example = "2px" if quantity.power == 1 else "30px"
            rule = "must be in pixels for an image without a pixel size"
            remedy = "pixel size, such as spacing=0.1 with unit='µm'"
            if spacing is not None:
                rule, remedy = f"{rule} in a known unit", "unit, such as unit='µm'"
            message = (
                f"{name} {rule}; got {shown(written)}. Pass pixels, such as {example!r}, or the "
                f"{remedy}."
            )
            raise ValueError(message)
        for axis in axes:
            pixels *= LENGTHS[quantity.unit] / (LENGTHS[home] * Fraction(str(float(spacing[axis]))))
    try:
        return float(pixels)
    except OverflowError:
        return math.inf


# ---- Units of columns, and lengths and sizes as text


def derived_unit(kind: str, rank: int, unit: str, indices: Sequence[str] = ()) -> str:
    """Return the unit of a column whose `Property.unit` is `kind`, with lengths in `unit`.

    `rank` is the number of spatial axes; `indices` of a moment are the powers of its coordinates.

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
    """Return the last side ("radius", "block"), least side ("depth") or size of a pixel."""
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
    """Return the side of a block: the nearest odd number of pixels."""
    return 2 * math.floor(pixels / 2) + 1


def decimals_for(pixel: float) -> int:
    """Return the number of decimals that show a hundredth of a pixel of this length."""
    return int(min(12, max(2, 2 - math.floor(math.log10(pixel))))) if pixel > 0 else 2


# ---- Gaussians that are probably wider than the user intended

# Full width at half maximum in standard deviations; above this share of the image it is wide.
FULL_WIDTH, WIDE_SHARE = 2.355, 0.1
NEVER_WIDE = 2.0  # pixels, however small the image

blur_warnings = ContextVar("blur_warnings", default=True)  # whether wide blurs are warned of


@contextmanager
def without_blur_warnings() -> Iterator[None]:
    """Disable warnings about wide blurs in this thread, because the caller asks the user itself.

    Filters of `warnings` would affect all threads.
    """
    token = blur_warnings.set(False)
    try:
        yield
    finally:
        blur_warnings.reset(token)


def wide_blur(widths: Sequence[float], shape: Sequence[int]) -> tuple[float, int, int] | None:
    """Return the first axis along which a Gaussian is wider than a tenth of the side, or None.

    `widths` are its standard deviations. Returns that of the axis, its full width at half maximum
    and the side, in pixels.

    >>> wide_blur((39, 39), (512, 512)), wide_blur((2, 2), (512, 512))
    ((39, 92, 512), None)
    """
    for width, side in zip(widths, shape, strict=True):
        if width > NEVER_WIDE and side > 1 and FULL_WIDTH * width > WIDE_SHARE * side:
            return width, round(FULL_WIDTH * width), side
    return None
