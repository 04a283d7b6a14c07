"""Histograms of gray values: exact for integers, in 256 bins for floats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import fetch, is_on_cuda, library, passes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

WIDEST = 2**24  # gray values that a table may hold
COARSE = 2**16  # steps into which more gray values than that are gathered
BINS = 256
PIECE = 2**20  # pixels that are copied at once


def count_integers(
    pixels: HostArray, span: tuple[int, int] | None = None
) -> tuple[NDArray[np.int64], int, int]:
    """Count the gray values of an image of integers.

    Parameters
    ----------
    pixels : array of integer
        Any shape and layout; not empty.
    span : (int, int), optional
        Smallest and greatest gray value of the image that these are a part of: histograms of
        parts add up.

    Returns
    -------
    counts : (V,) array of int64
        The first and the last are not 0, in the whole image.
    first : int
        The gray value counted first.
    step : int
        Gray values counted together: 1, or more where the image spans more than 2^24.

    Examples
    --------
    >>> count_integers(np.array([[7, 5], [7, 8]]))
    (array([1, 0, 2, 1]), 5, 1)
    """
    if pixels.dtype.itemsize <= 2:
        counts, first = _count_narrow(pixels)
        if span is not None:
            behind = span[1] - first - len(counts) + 1
            return np.pad(counts, (first - span[0], behind)), span[0], 1
        return counts, first, 1
    first, last = span or (int(pixels.min()), int(pixels.max()))
    step = 1 if last - first < WIDEST else -(-(last - first + 1) // COARSE)
    xp = library(pixels)
    counts = xp.zeros((last - first) // step + 1, dtype=np.int64)
    for piece in _pieces(pixels):
        # The difference is right modulo 2^64, and it is less than that.
        offset = piece.astype(np.uint64) - np.uint64(first % 2**64)
        if step > 1:
            offset //= np.uint64(step)
        counts += xp.bincount(offset.astype(np.intp), minlength=counts.size)
    return fetch(counts), first, step


def count_floats(
    pixels: HostArray, lowest: float, highest: float
) -> tuple[NDArray[np.int64], HostArray]:
    """Count the pixels of a float image in 256 bins of equal width, as `numpy.histogram` does.

    Parameters
    ----------
    pixels : array of float32 or float64
        Any shape and layout; NaN and infinities are left out.
    lowest, highest : float
        Of the finite pixels; they differ.

    Returns
    -------
    counts : (256,) array of int64
    centers : (256,) array of the type of `pixels`
        Middle of each bin.

    Raises
    ------
    FloatingPointError
        If the type cannot tell 257 edges apart between the two.

    Examples
    --------
    >>> counts, centers = count_floats(np.linspace(0, 256, 1024), 0, 256)
    >>> counts[0], centers[:3]
    (np.int64(4), array([0.5, 1.5, 2.5]))
    """
    ends = np.array([lowest, highest], dtype=pixels.dtype)
    try:
        edges = np.histogram_bin_edges(ends, BINS)
    except ValueError as error:
        raise FloatingPointError(*error.args) from None
    if not (edges[1:] > edges[:-1]).all():
        raise FloatingPointError
    flat, centers = _flat(pixels), (edges[:-1] + edges[1:]) / 2
    return fetch(_passes(flat).count_bins(flat, edges)), centers


def _count_narrow(pixels: HostArray) -> tuple[NDArray[np.int64], int]:
    bits = 8 * pixels.dtype.itemsize
    flat = _flat(pixels).view(f"u{pixels.dtype.itemsize}")
    counts = fetch(_passes(flat).count_values(flat, 2**bits))
    lowest = 0
    if pixels.dtype.kind == "i":  # seen as unsigned, the negative ones come last
        counts, lowest = np.roll(counts, 2 ** (bits - 1)), -(2 ** (bits - 1))
    found = np.flatnonzero(counts)
    return counts[found[0] : found[-1] + 1], lowest + int(found[0])


def _passes(pixels: HostArray) -> ModuleType:
    """Load the passes for the device that holds an image."""
    return passes("histogram", "cuda" if is_on_cuda(pixels) else "cpu")


def _flat(pixels: HostArray) -> HostArray:
    """Return pixels as one axis, in their order in memory; copied only if they have gaps."""
    return pixels.ravel(order="K")


def _pieces(pixels: HostArray) -> Iterator[HostArray]:
    flat = _flat(pixels)
    for start in range(0, flat.size, PIECE):
        yield flat[start : start + PIECE]
