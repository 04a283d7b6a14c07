"""Kernels that count pixels in histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

PIECE = 2**20  # pixels for each thread at least
ONE = np.uint64(1)
STRIP = 512  # pixels whose places are computed together
MOST = 8  # threads at most, where each needs a table of 65,536 values


def count_values(pixels: HostArray, bins: int) -> NDArray[np.int64]:
    """Count how often each value of (P,) uint8 or uint16 occurs: (bins,) int64.

    `bins` must be more than every pixel; not checked.
    """
    return _add_up(add_values, pixels, bins, MOST)


def count_bins(pixels: HostArray, edges: HostArray) -> NDArray[np.int64]:
    """Count (P,) pixels in bins of equal width, as `add_bins`: (B,) int64."""
    return _add_up(add_bins, pixels, edges.size - 1, threads.available(), edges)


def _add_up(
    kernel: Any, pixels: HostArray, bins: int, most: int, *edges: HostArray
) -> NDArray[np.int64]:
    """Divide pixels among up to `most` threads, and add up what they count."""
    pieces = min(pixels.size // PIECE, threads.available(), most)
    spans = threads.ranges(pixels.size, pieces * threads.WEIGHT)
    tables = np.zeros((len(spans), 4, bins), np.int64)
    tasks = [(pixels[a:b], *edges, table) for (a, b), table in zip(spans, tables, strict=True)]
    threads.each(kernel, tasks)
    counts: NDArray[np.int64] = tables.sum(axis=(0, 1))
    return counts


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
    """Add the numbers of (P,) pixels in each bin to (4, B) counts; edges are (B + 1,).

    Edges are ascending, finite and, except for rounding, evenly spaced; not checked. The last bin
    includes its upper edge. NaN and pixels outside are left out. Rows take turns.
    """
    bins = edges.size - 1
    lowest, highest = edges[0], edges[bins]
    scale = bins / (np.float64(highest) - np.float64(lowest))
    last = np.float64(bins - 1)
    places = np.empty(STRIP, np.int32)
    for begin in range(0, pixels.size, STRIP):
        some = pixels[begin : begin + STRIP]
        for i in range(some.size):
            place = (np.float64(some[i]) - np.float64(lowest)) * scale
            place = place if place > 0.0 else 0.0  # NaN, too
            places[i] = np.int32(place if place < last else last)
        for i in range(some.size):
            pixel, k = some[i], np.uint64(places[i])
            if pixel >= edges[k] and pixel < edges[k + ONE]:
                counts[i & 3, k] += 1
            elif pixel >= lowest and pixel <= highest:
                while pixel < edges[k]:
                    k -= ONE
                while k < bins - 1 and pixel >= edges[k + ONE]:
                    k += ONE
                counts[i & 3, k] += 1
