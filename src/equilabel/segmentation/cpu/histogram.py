"""Kernels that count pixels in histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

PIECE = 2**20  # pixels for each thread at least
MOST = 8  # threads at most: each needs its own table


def count_values(pixels: HostArray, bins: int) -> NDArray[np.int64]:
    """Count how often each value of (P,) uint8 or uint16 occurs: (bins,) int64.

    `bins` must be more than every pixel; not checked.
    """
    spans = _spans(pixels)
    tables = np.zeros((len(spans), 4, bins), np.int64)
    tasks = [(pixels[a:b], table) for (a, b), table in zip(spans, tables, strict=True)]
    threads.each(add_values, tasks)
    counts: NDArray[np.int64] = tables.sum(axis=(0, 1))
    return counts


def count_bins(pixels: HostArray, edges: HostArray) -> NDArray[np.int64]:
    """Count (P,) pixels in bins of equal width, as `add_bins`: (B,) int64."""
    spans = _spans(pixels)
    tables = np.zeros((len(spans), edges.size - 1), np.int64)
    tasks = [(pixels[a:b], edges, table) for (a, b), table in zip(spans, tables, strict=True)]
    threads.each(add_bins, tasks)
    counts: NDArray[np.int64] = tables.sum(axis=0)
    return counts


def _spans(pixels: HostArray) -> list[tuple[int, int]]:
    """Divide pixels among few threads."""
    pieces = min(pixels.size // PIECE, threads.available(), MOST)
    return threads.ranges(pixels.size, pieces * threads.WEIGHT)


# ---- Kernels


@njit(nogil=True, cache=True)
def add_values(pixels, counts):
    """Add how often each value of (P,) uint8 or uint16 occurs to (4, V) counts; V > every pixel.

    The four rows take turns, so that equal pixels in succession do not wait for the same counter.
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
    """Add the numbers of (P,) pixels in each bin to (B,) counts; edges are (B + 1,), of their type.

    Edges are ascending, finite and, except for rounding, evenly spaced; not checked. A bin includes
    its lower edge, the last one also its upper edge. NaN and pixels outside are left out.
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
