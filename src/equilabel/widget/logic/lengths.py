"""Lengths and sizes of the form: pixels in a unit, and their number in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equilabel.quantities import known_unit

if TYPE_CHECKING:
    from collections.abc import Sequence


def pixel_of(kind: str, spacing: Sequence[float]) -> float:
    """Return what a pixel counts for a kind of field, in the unit of the layer.

    A pixel along the last axis for a "radius" or "block"; along the axis of the finest for a
    "depth"; its area (volume) for a "size".
    """
    if kind == "size":
        return math.prod(spacing)
    return min(spacing) if kind == "depth" else spacing[-1]


def describe_pixels(kind: str, value: float, spacing: Sequence[float]) -> str:
    """Say how many pixels a physical length or size is along the axes: "= 2 px", or "5-21 px"."""
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
    """Return the side of a block: the odd number nearest to a number of pixels."""
    return 2 * math.floor(pixels / 2) + 1


def decimals_for(step: float) -> int:
    """Return how many decimals a field needs to show a hundredth of a pixel of this length."""
    return int(min(12, max(2, 2 - math.floor(math.log10(step))))) if step > 0 else 2


def length_unit(unit: str) -> str:
    """Return the unit of a layer if lengths can be given in it, else ""."""
    try:
        return known_unit("unit", unit) or ""
    except ValueError:
        return ""
