"""Arguments of `binarize`: checks and error messages."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from equilabel import arguments
from equilabel.arguments import check_choice, is_sequence, shown
from equilabel.quantities import WIDEST, length_in_pixels, odd, parse

from .lengths import per_axis
from .levels import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = "a number, (low, high) or"


def check_threshold(threshold: object) -> str | float | tuple[float, float]:
    """Return a threshold as a method, a number or two numbers, or raise TypeError or ValueError."""
    if isinstance(threshold, str):
        words = (*THRESHOLDS, "local")
        return check_choice("threshold", threshold, words, KINDS, "Pass 'otsu' if unsure.")
    if is_sequence(threshold) and len(threshold) == 2:  # type: ignore[arg-type]
        low, high = (check_number("threshold", number) for number in threshold)  # type: ignore[attr-defined]
        if low > high:
            message = (
                f"threshold must be (low, high) with low <= high; got {shown(threshold)}. Swap "
                "them."
            )
            raise ValueError(message)
        return float(low), float(high)
    return check_number("threshold", threshold)


def check_number(name: str, value: Any) -> float:
    """Return a number that is not NaN, or raise TypeError or ValueError; integers are kept."""
    level = name == "threshold"
    kinds = "a number, (low, high) or a method" if level else "a number"
    number = arguments.check_number(name, value, finite=not level, kinds=kinds)
    return int(value) if isinstance(value, Integral) and not math.isinf(number) else number


def check_block(
    block_size: Any,
    ndim: int,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool,
) -> list[float]:
    """Return the sides of the block of a local threshold, or raise TypeError or ValueError."""
    if block_size is None:
        message = (
            "block_size must be given where threshold='local'; got None. "
            "Pass an odd number of pixels larger than the objects, such as 51."
        )
        raise ValueError(message)
    inner = ndim - stacked
    sides: Any = block_size
    if is_sequence(sides) and stacked and len(sides) == ndim:
        sides = sides[1:]
    steps = None
    if spacing is not None:
        steps = per_axis("spacing", spacing, ndim, stacked=stacked)[stacked:]
    found = list(length_in_pixels("block_size", sides, inner, spacing=steps, unit=unit))
    for axis, side in enumerate(sides if is_sequence(sides) else [sides] * inner):
        if parse("block_size", side).is_physical:
            found[axis] = float(odd(found[axis]))
    found = [1.0] * stacked + found
    if not all(1 <= side <= 6 * WIDEST + 1 and side % 2 == 1 for side in found) or max(found) < 3:
        message = (
            f"block_size must be odd, 3 to {6 * WIDEST + 1:.0f} pixels; got {shown(block_size)}. "
            "Pass an odd number larger than the objects, such as 51."
        )
        raise ValueError(message)
    return found


def reject_unused(threshold: object, **given: tuple[object, object]) -> None:
    """Raise ValueError if an argument is given that the threshold does not use."""
    for name, (value, default) in given.items():
        alike = isinstance(value, Real) and value == default
        if value is not default and not alike:
            message = (
                f"{name} must be left out unless threshold='local'; "
                f"got {shown(value)} and threshold={shown(threshold)}. Leave it out, or pass "
                "'local'."
            )
            raise ValueError(message)
