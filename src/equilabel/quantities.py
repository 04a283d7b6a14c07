"""Lengths and sizes, given in pixels or with a unit, as numbers of pixels.

A plain number counts pixels; text may name a unit: "2", "2px", "0.3um", "5 µm²". Lengths are those
along an axis, such as the width of a Gaussian. Sizes are what an object has: pixels, or an area of
an image of two axes and a volume of one of three. Physical ones need the pixel size and its unit.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from numbers import Real
from typing import TypeAlias

from .storage.units import LENGTHS, PIXELS, spelled

Length: TypeAlias = float | str
Lengths: TypeAlias = Length | Sequence[Length]
Size: TypeAlias = float | str

PIXEL = "px"
KINDS = {1: "a length", 2: "an area", 3: "a volume"}
_POWERS = {1: "", 2: "²", 3: "³"}
_FORM = re.compile(
    r"\s*(?P<number>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?|nan\b|inf(?:inity)?\b))\s*"
    r"(?:(?P<unit>[^\W\d_]+)(?:(?:\s*(?:\^|\*\*)\s*)?(?P<power>[123]))?)?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quantity:
    """A number of pixels, or a length, an area or a volume.

    Attributes
    ----------
    value : Fraction
        Exactly what was written; 0 or more.
    unit : str
        "px", or a name in `equilabel.storage.units.LENGTHS`.
    power : int
        1 for a length, 2 for an area, 3 for a volume; 0 for pixels without a power, "30px", which
        may be a length or a size.
    """

    value: Fraction
    unit: str
    power: int

    def __str__(self) -> str:
        """Write it as it can be read again: "2 px", "5 µm²"."""
        return f"{float(self.value):g} {self.unit}{_POWERS.get(self.power, '')}"


def parse(name: str, value: object) -> Quantity:
    """Read a length or a size.

    Parameters
    ----------
    name : str
        Of the parameter, for errors.
    value : number or str
        A number of pixels, or text: a number, and a unit if it is not pixels.

    Raises
    ------
    TypeError
        If it is neither.
    ValueError
        If it is negative or not finite, or the text has another form or an unknown unit.

    Examples
    --------
    >>> print(parse("sigma", 2), parse("sigma", "0.3um"), parse("min_size", "5 um^2"), sep=", ")
    2 px, 0.3 µm, 5 µm²
    >>> parse("sigma", "0.3 mim")
    Traceback (most recent call last):
    ...
    ValueError: sigma must be in px or one of ['km', ...]; got '0.3 mim'. Did you mean 'mm'?
    """
    if isinstance(value, str):
        return _read(name, value)
    if isinstance(value, bool) or not isinstance(value, Real):
        message = (
            f"{name} must be a number of pixels, or text with a unit; got {value!r}. "
            "Pass for instance 2 or '0.3um'."
        )
        raise TypeError(message)
    return Quantity(_checked(name, float(value), value), PIXEL, 0)


def _read(name: str, text: str) -> Quantity:
    found = _FORM.fullmatch(unicodedata.normalize("NFKC", text))  # "µm²" becomes "μm2"
    if found is None:
        remedy = "Write a point in place of the comma" if "," in text else "Write '2px' or '0.3um'"
        message = (
            f"{name} must be a number and, if it is not in pixels, its unit; got {text!r}. "
            f"{remedy}."
        )
        raise ValueError(message)
    _checked(name, float(found["number"]), text)
    word, power = spelled(found["unit"] or ""), int(found["power"] or 0)
    if word.lower() in PIXELS:
        return Quantity(Fraction(found["number"]), PIXEL, power)
    if word not in LENGTHS:
        near = get_close_matches(word.lower(), LENGTHS, n=1, cutoff=0.5)
        remedy = f"Did you mean {near[0]!r}?" if near else "Write for instance '2px' or '0.3um'."
        message = f"{name} must be in px or one of {list(LENGTHS)}; got {text!r}. {remedy}"
        raise ValueError(message)
    return Quantity(Fraction(found["number"]), word, power or 1)


def _checked(name: str, number: float, given: object) -> Fraction:
    if not 0 <= number < math.inf:
        message = f"{name} must be 0 or more, and finite; got {given!r}. Pass 0 for none."
        raise ValueError(message)
    return Fraction(number)


def length_in_pixels(
    name: str,
    value: Lengths,
    rank: int,
    *,
    spacing: Sequence[float] | None = None,
    unit: str | None = None,
) -> tuple[float, ...]:
    """Return a length as a number of pixels along each spatial axis.

    Parameters
    ----------
    name : str
        Of the parameter, for errors.
    value : number, str, or a sequence of them
        One length for all axes, or one for each. A physical length is the same in all directions;
        a number of pixels is the same number along all axes.
    rank : int
        Number of spatial axes.
    spacing : sequence of float, optional
        Pixel size along each; None where it is not known.
    unit : str, optional
        Unit of `spacing`.

    Raises
    ------
    TypeError, ValueError
        As for `parse`; and if it is an area or a volume, if a sequence has another length than
        `rank`, or if a physical length is asked of an image without pixel size or unit.

    Examples
    --------
    >>> length_in_pixels("sigma", 2, 3)
    (2.0, 2.0, 2.0)
    >>> length_in_pixels("sigma", "300nm", 3, spacing=(0.6, 0.1, 0.1), unit="µm")
    (0.5, 3.0, 3.0)
    >>> length_in_pixels("sigma", (0, "2px"), 2)
    (0.0, 2.0)
    """
    each = [value] * rank if isinstance(value, (str, Real)) else _listed(name, value)
    if len(each) != rank:
        message = (
            f"{name} must be one length, or one for each of {rank} axes; got {value!r}. "
            "Give one for all axes, or as many as there are."
        )
        raise ValueError(message)
    lengths = [parse(name, one) for one in each]
    for one, written in zip(lengths, each, strict=True):
        if one.power > 1:
            message = (
                f"{name} must be a length; got {written!r}, {KINDS[one.power]}. "
                f"Pass for instance '{float(one.value):g}{one.unit}'."
            )
            raise ValueError(message)
    return tuple(
        float(one.value * _per_pixel(name, one, written, spacing, unit, (axis,)))
        for axis, (one, written) in enumerate(zip(lengths, each, strict=True))
    )


def size_in_pixels(
    name: str,
    value: Size,
    rank: int,
    *,
    spacing: Sequence[float] | None = None,
    unit: str | None = None,
) -> float:
    """Return the size of an object as a number of pixels, which need not be whole.

    Parameters
    ----------
    name : str
        Of the parameter, for errors.
    value : number or str
        A number of pixels, an area of an image of two axes, or a volume of one of three.
    rank, spacing, unit
        As for `length_in_pixels`.

    Raises
    ------
    TypeError, ValueError
        As for `parse`; and if it is not the size of an object of `rank` axes, or physical where
        the image has no pixel size or unit.

    Examples
    --------
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
            f"{name} must be {wanted} for an image of {rank} axes; got {value!r}, "
            f"{KINDS[size.power]}. Pass for instance {right!r}."
        )
        raise ValueError(message)
    scale = _per_pixel(name, size, value, spacing, unit, range(rank))
    return float(size.value * scale)


def _per_pixel(
    name: str,
    quantity: Quantity,
    written: object,
    spacing: Sequence[float] | None,
    unit: str | None,
    axes: Sequence[int],
) -> Fraction:
    """Return how many pixels a quantity of 1 has, in the space of some axes; exact."""
    if quantity.unit == PIXEL:
        return Fraction(1)
    if spacing is None:
        message = (
            f"{name} must be in pixels for an image without a pixel size; got {written!r}. Pass "
            "pixels, such as '2px', or the pixel size, such as spacing=0.1 with unit='µm'."
        )
        raise ValueError(message)
    home = spelled(unit or "")
    if home not in LENGTHS:
        message = (
            f"{name} must be in pixels where the unit of the pixel size is not known; got "
            f"{written!r}. Pass pixels, such as '2px', or name the unit, such as unit='µm'."
        )
        raise ValueError(message)
    scale = Fraction(1)
    for axis in axes:
        scale *= LENGTHS[quantity.unit] / (LENGTHS[home] * Fraction(str(float(spacing[axis]))))
    return scale


def _listed(name: str, value: object) -> list[Length]:
    """Return a sequence or an array of one axis as a list."""
    try:
        each: list[Length] = list(value)  # type: ignore[call-overload]
    except TypeError:
        parse(name, value)  # raises the error for one value
        raise
    return each
