"""Passes from pixels to histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

PIECE = 2**20  # pixels that are worth a thread
MOST = 8  # threads: each needs a table of its own


def count_values(pixels: HostArray, bins: int) -> NDArray[np.int64]:
    """Count how often each value occurs.

    Parameters
    ----------
    pixels : (P,) array of uint8 or uint16
    bins : int
        More than every pixel; not checked.

    Returns
    -------
    (bins,) array of int64
    """
    spans = _spans(pixels)
    tables = np.zeros((len(spans), 4, bins), np.int64)
    tasks = [(pixels[a:b], table) for (a, b), table in zip(spans, tables, strict=True)]
    threads.each(add_values, tasks)
    counts: NDArray[np.int64] = tables.sum(axis=(0, 1))
    return counts


def count_bins(pixels: HostArray, edges: HostArray) -> NDArray[np.int64]:
    """Count the pixels in each of many bins of equal width.

    Parameters
    ----------
    pixels : (P,) array of float32 or float64
        NaN and pixels outside of the edges are left out.
    edges : (B + 1,) array of the type of `pixels`
        Ascending, finite, evenly spaced but for rounding. Not checked.

    Returns
    -------
    (B,) array of int64
    """
    spans = _spans(pixels)
    tables = np.zeros((len(spans), edges.size - 1), np.int64)
    tasks = [(pixels[a:b], edges, table) for (a, b), table in zip(spans, tables, strict=True)]
    threads.each(add_bins, tasks)
    counts: NDArray[np.int64] = tables.sum(axis=0)
    return counts


def _spans(pixels: HostArray) -> list[tuple[int, int]]:
    """Cut pixels among few threads."""
    pieces = min(pixels.size // PIECE, threads.available(), MOST)
    return threads.ranges(pixels.size, pieces * threads.WEIGHT)


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def add_values(pixels, counts):
    """Count how often each value occurs.

    Four tables take turns, so that a long stretch of one value does not wait for its own count.

    Parameters
    ----------
    pixels : (P,) array of uint8 or uint16
    counts : (4, V) array of int64
        Added to. ``V`` exceeds every pixel; not checked.
    """
    end = pixels.size - pixels.size % 4
    for i in range(0, end, 4):
        counts[0, pixels[i]] += 1
        counts[1, pixels[i + 1]] += 1
        counts[2, pixels[i + 2]] += 1
        counts[3, pixels[i + 3]] += 1
    for i in range(end, pixels.size):
        counts[0, pixels[i]] += 1


@njit(nogil=True, cache=True)
def add_bins(pixels, edges, counts):
    """Count the pixels in each of many bins of equal width.

    Parameters
    ----------
    pixels : (P,) array of float32 or float64
        NaN and pixels outside of the edges are left out.
    edges : (B + 1,) array of the type of `pixels`
        Ascending, finite, evenly spaced but for rounding. A bin holds its lower edge, the last
        one also its upper edge. Not checked.
    counts : (B,) array of int64
        Added to.
    """
    bins = counts.size
    lowest = edges[0]
    highest = edges[bins]
    scale = bins / (np.float64(highest) - np.float64(lowest))
    for i in range(pixels.size):
        pixel = pixels[i]
        if pixel >= lowest and pixel <= highest:
            k = min(int((np.float64(pixel) - np.float64(lowest)) * scale), bins - 1)
            while pixel < edges[k]:
                k -= 1
            while k < bins - 1 and pixel >= edges[k + 1]:
                k += 1
            counts[k] += 1
