"""Arguments of `binarize`: checks and error messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from equilabel.quantities import WIDEST, length_in_pixels, odd, parse

from .lengths import per_axis
from .levels import THRESHOLDS


def check_threshold(threshold: object) -> str | float | tuple[float, float]:
    """Return a threshold as a method, a number or two numbers, or raise TypeError or ValueError."""
    if isinstance(threshold, str):
        if threshold not in (*THRESHOLDS, "local"):
            choices = (*THRESHOLDS, "local")
            raise ValueError(
                explain_unknown("threshold", threshold, choices, "a number, (low, high) or")
            )
        return threshold
    if isinstance(threshold, np.ndarray):
        threshold = threshold.tolist()
    if isinstance(threshold, Sequence) and len(threshold) == 2:
        low, high = (check_number("threshold", number) for number in threshold)
        if low > high:
            message = (
                f"threshold must be (low, high) with low <= high; got {threshold!r}. Swap them."
            )
            raise ValueError(message)
        return float(low), float(high)
    return check_number("threshold", threshold)


def check_number(name: str, value: Any) -> float:
    """Return a number that is not NaN, or raise TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, Real):
        kinds = "a number, (low, high) or a method" if name == "threshold" else "a number"
        message = f"{name} must be {kinds}; got {value!r}."
        raise TypeError(message)
    number = int(value) if isinstance(value, Integral) else float(value)
    if math.isnan(number) or (name != "threshold" and math.isinf(number)):
        kind = "a number other than NaN" if name == "threshold" else "a finite number"
        message = f"{name} must be {kind}; got {value!r}."
        raise ValueError(message)
    return number


def explain_unknown(name: str, word: object, choices: Sequence[str], kinds: str) -> str:
    """Return the error message for an unknown word, with the nearest known one."""
    near = get_close_matches(str(word).lower(), choices, n=1, cutoff=0.5)
    remedy = f"Did you mean {near[0]!r}?" if near else "Pass 'otsu' if unsure."
    return f"{name} must be {kinds} {list(choices)}; got {word!r}. {remedy}"


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
    if not isinstance(sides, str) and np.ndim(sides) == 1 and stacked and len(sides) == ndim:
        sides = sides[1:]
    steps = None
    if spacing is not None:
        steps = per_axis("spacing", spacing, ndim, stacked=stacked)[stacked:]
    found = list(length_in_pixels("block_size", sides, inner, spacing=steps, unit=unit))
    each = [sides] * inner if np.ndim(sides) == 0 else sides
    for axis, side in enumerate(each):
        if parse("block_size", side).is_physical:
            found[axis] = float(odd(found[axis]))
    found = [1.0] * stacked + found
    if not all(1 <= side <= 6 * WIDEST + 1 and side % 2 == 1 for side in found) or max(found) < 3:
        message = (
            f"block_size must be odd, 3 to {6 * WIDEST + 1:.0f} pixels; got {block_size!r}. "
            "Pass an odd number larger than the objects, such as 51."
        )
        raise ValueError(message)
    return found


def reject_unused(threshold: object, **given: tuple[object, object]) -> None:
    """Raise ValueError if an argument is given that the threshold does not use."""
    for name, (value, default) in given.items():
        if value != default:
            message = (
                f"{name} must be left out unless threshold='local'; "
                f"got {value!r} and threshold={threshold!r}. Leave it out, or pass 'local'."
            )
            raise ValueError(message)
