"""Lengths and sizes of the form: in pixels, and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equilabel.quantities import known_unit, length_in_pixels, wide_blur

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .choices import Choices
    from .sources import Source


def widths_of(source: Source, choices: Choices, name: str = "sigma") -> tuple[float, ...]:
    """Return one of the lengths along each axis of space, in pixels."""
    spacing, unit = source.spacing(choices.roles)
    value = getattr(choices, name) or 0.0
    return length_in_pixels(name, value, len(spacing), spacing=spacing, unit=unit)


def block_of(source: Source, choices: Choices) -> tuple[int, ...]:
    """Return the sides of the block of a local threshold along each axis of space, in pixels."""
    spacing, unit = source.spacing(choices.roles)
    sides = length_in_pixels(
        "block_size", choices.block_size, len(spacing), spacing=spacing, unit=unit
    )
    return tuple(map(odd, sides))


def question_smoothing(source: Source, choices: Choices) -> str:
    """Question a Gaussian so wide that it merges objects; else ""."""
    shape = [source.shape[axis] for axis in source.arrangement(choices.roles).space]
    wide = wide_blur(widths_of(source, choices), shape)
    if wide is None:
        return ""
    _, blur, side = wide
    return (
        f"The image is blurred over {blur} pixels, more than a tenth of its {side}: "
        "objects may merge."
    )


def pixel_of(kind: str, spacing: Sequence[float]) -> float:
    """Return what a pixel counts for a kind of field, in the unit of the layer.

    Parameters
    ----------
    kind : {"radius", "block", "depth", "size"}
        A pixel along the last axis, for the first two; along the axis of the finest; or its area
        (volume).

    Examples
    --------
    >>> [pixel_of(kind, (2.0, 0.25, 0.5)) for kind in ("radius", "depth", "size")]
    [0.5, 0.25, 0.25]
    """
    if kind == "size":
        return math.prod(spacing)
    return min(spacing) if kind == "depth" else spacing[-1]


def describe_pixels(kind: str, value: float, spacing: Sequence[float]) -> str:
    """Say how many pixels a physical length or size is along the axes.

    Examples
    --------
    >>> describe_pixels("radius", 0.5, (2.0, 0.25, 0.25)), describe_pixels("radius", 0.5, (0.325,))
    ('0.25-2 px', '= 1.54 px')
    >>> describe_pixels("size", 5.0, (0.325, 0.325)), describe_pixels("size", 0, (1.0, 1.0))
    ('= 48 px', '')
    >>> describe_pixels("block", 10.0, (2.0, 0.5)), describe_pixels("block", 10.0, (0.3, 0.3))
    ('5-21 px', '= 33 px')
    """
    if not value:
        return ""
    if kind == "block":
        sides = sorted(odd(value / step) for step in spacing)
        return f"= {sides[0]} px" if sides[0] == sides[-1] else f"{sides[0]}-{sides[-1]} px"
    if kind != "radius":
        pixels = value / pixel_of(kind, spacing)
        return f"= {math.ceil(round(pixels, 9)) if kind == 'size' else format(pixels, '.3g')} px"
    least, most = value / max(spacing), value / min(spacing)
    if math.isclose(least, most, rel_tol=0.005):
        return f"= {least:.3g} px"
    return f"{least:.{2 + (least > 99)}g}-{most:.{2 + (most > 99)}g} px"


def odd(pixels: float) -> int:
    """Return the side of a block: the odd number nearest to a number of pixels.

    Examples
    --------
    >>> odd(51), odd(50.2), odd(49.9)
    (51, 51, 49)
    """
    return 2 * math.floor(pixels / 2) + 1


def decimals_for(step: float) -> int:
    """Return how many decimals a field needs so that a hundredth of a pixel is not rounded away.

    Parameters
    ----------
    step : float
        A pixel, in the unit of the field.

    Examples
    --------
    >>> decimals_for(1.0), decimals_for(0.0515), decimals_for(0.00013), decimals_for(25.0)
    (2, 4, 6, 2)
    """
    return int(min(12, max(2, 2 - math.floor(math.log10(step))))) if step > 0 else 2


def length_unit(unit: str) -> str:
    """Return the unit of a layer if lengths can be given in it, else "".

    Examples
    --------
    >>> length_unit("um"), length_unit("parsec"), length_unit("")
    ('µm', '', '')
    """
    try:
        return known_unit("unit", unit) or ""
    except ValueError:
        return ""
