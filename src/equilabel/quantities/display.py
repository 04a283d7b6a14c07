"""Lengths and sizes as text: in a unit, and in pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """Return the side of a block: the nearest odd number of pixels.

    >>> odd(51), odd(50.2), odd(49.9)
    (51, 51, 49)
    """
    return 2 * math.floor(pixels / 2) + 1


def decimals_for(step: float) -> int:
    """Return the number of decimals that show a hundredth of a pixel of this length.

    >>> decimals_for(1.0), decimals_for(0.0515)
    (2, 4)
    """
    return int(min(12, max(2, 2 - math.floor(math.log10(step))))) if step > 0 else 2
