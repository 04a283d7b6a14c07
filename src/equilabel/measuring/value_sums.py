"""Sums of values under each label: exact for integers of any type."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    from .contract import Accumulator

LIMIT = 2**63  # what a sum may reach before its digits are summed instead


def sum_values(
    found: Accumulator, values: Array, pixels: NDArray[np.int64]
) -> tuple[HostArray, ...]:
    """Sum the values of each label, and find the least and greatest.

    Parameters
    ----------
    found : object
        What counted the labels: `Accumulator` of `equilabel.kernels.<device>.accumulate`.
    values : (P, C) array
        Values of every pixel in each channel, of NumPy or CuPy.
    pixels : (N,) array of int64
        Number of pixels of each label.

    Returns
    -------
    sums, lows, highs : (N, C) arrays
        Sums of integers are int64 and exact; float64, rounded once, only if one does not fit.
    squares : (N, C) array of int64
        Sums of squared values, exact; only for small integers whose sums of squares fit.
    """
    sums, lows, highs, *squares = found.values(values)
    if values.dtype.kind not in "ui" or not sums.size:
        return (sums, lows, highs, *squares)
    size = values.dtype.itemsize
    if size <= 2 and len(values) << 16 * size < LIMIT:  # whatever the values are
        return (sums, lows, highs, *squares)
    most = int(pixels.max())
    reach = max(abs(int(lows.min())), abs(int(highs.max())))
    if squares and most * reach**2 >= LIMIT:
        squares = []
    if size == 8 or (size > 1 and most * reach >= LIMIT):
        sums = _fitted(_exact_sums(found, values, most))
    return (sums, lows, highs, *squares)


def _exact_sums(found: Accumulator, values: Array, most: int) -> HostArray:
    """Sum digits of the values, and put them together as Python integers.

    The digits are so short that 64 bits hold the sums over `most` pixels.
    """
    width = 4 if most < 2**31 and values.dtype.itemsize > 4 else 2
    count = values.dtype.itemsize // width
    digits = values.copy(order="C").view(f"u{width}")
    total = np.zeros((1, values.shape[1]), object)
    for place in range(count):
        part = digits[:, (place if sys.byteorder == "little" else count - 1 - place) :: count]
        if place == count - 1:
            part = part.view(f"{values.dtype.kind}{width}")  # it has the sign
        total = total + (found.values(part)[0].astype(object) << 8 * width * place)
    return total


def _fitted(sums: HostArray) -> HostArray:
    """Return Python integers as int64 if all of them fit, otherwise as float64."""
    if all(-(2**63) <= value < 2**63 for value in sums.flat):
        return sums.astype(np.int64)
    return sums.astype(np.float64)
