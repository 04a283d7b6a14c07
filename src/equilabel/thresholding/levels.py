"""The threshold that a method finds in an image, whatever the type of its pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .criteria import CRITERIA, li_of_floats
from .histograms import count_floats, count_integers
from .smoothing import extremes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

THRESHOLDS: tuple[str, ...] = ("otsu", "li", "triangle", "yen", "isodata", "mean", "minimum")
EXACT = 2**53  # beyond, not every integer is a float


def find_level(pixels: HostArray, method: str) -> tuple[float, bool]:
    """Find the threshold of an image by a method.

    Parameters
    ----------
    pixels : array of bool, integer, float32 or float64
        Any shape and layout.
    method : str
        One of `THRESHOLDS`.

    Returns
    -------
    level : int or float
        Foreground exceeds it. NaN where no pixel is finite; 0.5 for bool.
    constant : bool
        Whether all finite pixels are equal to it.

    Examples
    --------
    >>> find_level(np.array([1, 2, 2, 9]), "otsu")
    (2, False)
    """
    if pixels.dtype == np.bool_:
        return 0.5, False
    if pixels.size == 0:
        return math.nan, False
    with np.errstate(all="ignore"):
        if pixels.dtype.kind == "f":
            return _find_in_floats(pixels, method)
        return _find_in_integers(pixels, method)


def _find_in_integers(pixels: HostArray, method: str) -> tuple[float, bool]:
    counts, first, step = count_integers(pixels)
    if len(counts) == 1 and step == 1:
        return first, True
    if method == "mean":
        if pixels.dtype.itemsize > 2:
            return float(np.mean(pixels)), False
        total = int(np.dot(counts, np.arange(len(counts)))) + first * pixels.size
        return total / pixels.size, False
    return level_of_integers(counts, first, step, method), False


def level_of_integers(counts: NDArray[np.int64], first: int, step: int, method: str) -> float:
    """Find the threshold of integers from their histogram, as `count_integers` returns it."""
    criterion = CRITERIA[method]
    last = first + (len(counts) - 1) * step
    if step == 1 and first >= -EXACT and last <= EXACT:
        return criterion(counts, np.arange(first, last + 1))
    level = math.floor(criterion(counts, np.arange(len(counts))))
    return first + (level + 1) * step - 1


def _find_in_floats(pixels: HostArray, method: str) -> tuple[float, bool]:
    lowest, highest, finite = extremes(pixels)
    if lowest > highest:
        return math.nan, False
    if lowest == highest:
        return float(lowest), True
    try:
        with np.errstate(over="raise"):
            return _apply(pixels, method, lowest, highest, finite=finite), False
    except FloatingPointError:
        pass
    # The numbers are too large, or too close together, for their type: scale them to 0 to 1.
    lowest, highest = np.float64(lowest), np.float64(highest)
    half = 0.5 if np.isinf(highest - lowest) else 1.0
    low, high = half * lowest, half * highest
    scaled = (pixels.astype(np.float64) * half - low) / (high - low)
    share = _apply(scaled, method, np.float64(0), np.float64(1), finite=finite)
    level = (low * (1 - share) + high * share) / half
    below = np.nextafter(pixels.dtype.type(highest), pixels.dtype.type(-np.inf))
    return float(np.clip(level, lowest, below)), False


def _apply(pixels: HostArray, method: str, lowest: Any, highest: Any, *, finite: bool) -> float:
    if method == "mean":
        return float(np.mean(pixels if finite else pixels[np.isfinite(pixels)]))
    if method == "li":
        return li_of_floats(pixels.flatten() if finite else pixels[np.isfinite(pixels)])
    return CRITERIA[method](*count_floats(pixels, lowest, highest))
