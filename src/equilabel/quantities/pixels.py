"""Lengths and sizes as numbers of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np

from equilabel.arguments import check_sequence, shown
from equilabel.storage.units import LENGTHS

from .derived import PIXEL
from .quantity import KINDS, Quantity, known_unit, parse

Length: TypeAlias = float | str
Lengths: TypeAlias = Length | Sequence[Length]
Size: TypeAlias = float | str

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
    most: float = inf,
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
    single = isinstance(value, str) or not np.iterable(value)
    each: Sequence[Any] = [value] * rank if single else check_sequence(name, value)
    if len(each) != rank:
        message = (
            f"{name} must be one length, or one for each of {rank} axes; got {shown(value)}. "
            "Give one for all axes, or as many as there are."
        )
        raise ValueError(message)
    lengths = [parse(name, one) for one in each]
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
        return inf
