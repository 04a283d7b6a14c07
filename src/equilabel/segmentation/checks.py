"""Checks of the arguments of `segment` and its stages."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import arguments
from equilabel.arguments import check_choice, check_whole, is_sequence, normalize_bools, shown
from equilabel.devices import fetch, library, place, resolve, take, using
from equilabel.quantities import PIXEL, WIDEST, odd, parse, size_in_pixels

from .filters import widths_in_pixels
from .thresholds import THRESHOLDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.quantities import Size


# ---- Arguments of `binarize`

KINDS = "a number, (low, high) or"


def check_threshold(threshold: object) -> str | float | tuple[float, float]:
    """Return a method, a number or (low, high); raise TypeError or ValueError."""
    if isinstance(threshold, str):
        words = (*THRESHOLDS, "local", "per_object")
        known = threshold.lower() if threshold.lower() in words else threshold
        return check_choice("threshold", known, words, KINDS, "Pass 'otsu' if unsure.")
    if is_sequence(threshold) and len(threshold) == 2:  # type: ignore[arg-type]
        low, high = (check_number("threshold", number) for number in threshold)  # type: ignore[attr-defined]
        if low > high:
            message = (
                f"threshold must be (low, high) with low <= high; got {shown(threshold)}. Swap "
                "them."
            )
            raise ValueError(message)
        return low, high
    return check_number("threshold", threshold)


def check_number(name: str, value: Any) -> float:
    """Return a number that is not NaN; raise TypeError or ValueError. Integers stay integers."""
    level = name == "threshold"
    kinds = "a number, (low, high) or a method" if level else "a number"
    number = arguments.check_number(name, value, finite=not level, kinds=kinds)
    return int(value) if isinstance(value, Integral) and not math.isinf(number) else number


def check_block(block_size: Any, ndim: int, *, stacked: bool, **scale: Any) -> list[float]:
    """Return the sides of the block of a local threshold; raise TypeError or ValueError."""
    if block_size is None:
        message = (
            "block_size must be given where threshold='local'; got None. "
            "Pass an odd number of pixels larger than the objects, such as 51."
        )
        raise ValueError(message)
    how: Any = {"name": "block_size", "most": math.inf, "stacked": stacked, **scale}
    widths, inner = widths_in_pixels(block_size, ndim, **how)[stacked:], ndim - stacked
    sides = list(block_size)[-inner:] if is_sequence(block_size) else [block_size] * inner
    found = [1.0] * stacked
    for width, side in zip(widths, sides, strict=True):
        found.append(float(odd(width)) if parse("block_size", side).unit != PIXEL else width)
    if not all(1 <= side <= 6 * WIDEST + 1 and side % 2 == 1 for side in found) or max(found) < 3:
        message = (
            f"block_size must be odd, 3 to {6 * WIDEST + 1:.0f} pixels; got {shown(block_size)}. "
            "Pass an odd number larger than the objects, such as 51."
        )
        raise ValueError(message)
    return found


# ---- Arrays beside an image, and sizes


def renamed(labels: Array, known: NDArray[Any], numbers: NDArray[Any]) -> Array:
    """Return the numbers of labels, on their device; `known` are all labels, both are (N,)."""
    xp, most = library(labels), int(known.max())
    with using(resolve("auto", labels)):
        if most <= labels.size:
            table = np.zeros(most + 1, numbers.dtype)
            table[known] = numbers
            return xp.take(xp.asarray(table), labels)
        order = np.argsort(known)
        rows = xp.searchsorted(xp.asarray(known[order].astype(labels.dtype)), labels)
        return xp.take(xp.asarray(numbers[order]), rows)


def place_like(source: HostArray, made: HostArray) -> HostArray:
    """Return an array of the host on the device of another one."""
    where = resolve("auto", source)
    if where == "cpu":
        return made
    with using(where):
        there: HostArray = place(made, where)
    return there


def beside(name: str, array: Any, labels: HostArray, of: str = "labels") -> HostArray:
    """Return an array on the host; raise ValueError unless it has the shape of labels."""
    found: HostArray = fetch(normalize_bools(take(array, name)))
    if found.shape != labels.shape:
        message = f"{name} must have the shape of the {of}, {labels.shape}; got {found.shape}."
        raise ValueError(message)
    return found


def check_markers(markers: Any, labels: HostArray, of: str = "labels") -> HostArray:
    """Return markers on the host; raise TypeError or ValueError unless they are beside labels."""
    seeds = beside("markers", markers, labels, of)
    if seeds.dtype.kind not in "bui":
        message = f"markers must be a mask or integers; got {seeds.dtype}. Pass label(markers)."
        raise TypeError(message)
    if seeds.dtype.kind == "i" and (least := int(seeds.min(initial=0))) < 0:
        message = f"markers must not be negative; got {least}. Pass markers > 0, or number them."
        raise ValueError(message)
    return seeds


def finite(image: HostArray) -> NDArray[np.float64]:
    """Return gray values as floats, the lowest one for NaN."""
    values = image.astype(np.float64)
    if np.isfinite(values).all():
        return values
    return np.nan_to_num(values, nan=np.nanmin(values) if np.isfinite(values).any() else 0.0)


def image_of(labels: HostArray, image: Any) -> Any:
    """Return the image of labels, which may have channels behind their axes, or None; or raise."""
    if image is None:
        return None
    pixels = take(image)
    if pixels.shape[: labels.ndim] != labels.shape:
        message = (
            f"image must have the shape of labels, {labels.shape}; got {pixels.shape}. Pass the "
            "image that the labels were made of, with channels along the last axis."
        )
        raise ValueError(message)
    return pixels


def check_sizes(
    min_size: Size | None, max_size: Size | None, rank: int, **scale: Any
) -> tuple[int, int | None]:
    """Return the smallest and the largest size in pixels; raise TypeError or ValueError.

    >>> check_sizes("1um2", "2.1um2", 2, spacing=(0.5, 0.5), unit="um")
    (4, 8)
    """
    if min_size is None:
        message = "min_size must be a whole number or text; got None. Pass 0 to keep all objects."
        raise TypeError(message)
    found = []
    for name, size in (("min_size", min_size), ("max_size", max_size)):
        if size is not None and not isinstance(size, str):
            check_whole(name, size)
        found.append(np.inf if size is None else size_in_pixels(name, size, rank, **scale))
    smallest, largest = math.ceil(found[0]), None if max_size is None else math.floor(found[1])
    if largest is not None and largest < max(smallest, 1):
        given = f"{shown(max_size)} < {shown(min_size)}"
        pixels = "" if isinstance(max_size, Integral) else f", {largest} and {smallest} pixels"
        message = f"max_size must be at least min_size and 1; got {given}{pixels}."
        raise ValueError(message)
    return smallest, largest
