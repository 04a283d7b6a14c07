"""Kernels that count pixels in histograms, and their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

PIECE = 2**20  # pixels for each thread at least, where its table is large
FEW = 2**18  # and where there are few bins
ONE = np.uint64(1)
STRIP = 512  # pixels whose places are computed together
ROWS = 4  # tables, a power of 2, that take turns: equal pixels need not wait for each other
ROUNDING = 1e-6  # more than the rounding of margins
MOST = 8  # threads at most, where each needs a table of 65,536 values


def count_values(pixels: HostArray, bins: int) -> NDArray[np.int64]:
    """Count how often each value of (P,) uint8 or uint16 occurs: (bins,) int64.

    `bins` must be more than every pixel; not checked.
    """
    return _add_up(add_values, pixels, bins, min(MOST, pixels.size // PIECE))


def count_bins(pixels: HostArray, edges: HostArray) -> NDArray[np.int64]:
    """Count (P,) pixels in bins of equal width, as `add_bins`: (B,) int64."""
    bins, kind = edges.size - 1, edges.dtype.type
    with np.errstate(all="ignore"):  # of pixels near each other: then no number is sure
        scale = kind(bins / (np.float64(edges[-1]) - np.float64(edges[0])))
        margin = kind(np.abs((edges - edges[0]) * scale - np.arange(bins + 1)).max() + ROUNDING)
    places = np.array([0, bins, scale, margin, 1 - margin], kind)
    places[1] = np.nextafter(places[1], places[0])  # of its own type: NumPy 1 would widen it
    return _add_up(add_bins, pixels, bins, pixels.size // FEW, edges, places)


def mean(pixels: HostArray) -> Any:
    """Return the mean of floats, not empty, in their type."""
    return np.mean(pixels)


def separate(pixels: HostArray, level: Any) -> tuple[HostArray, HostArray]:
    """Return the pixels of (P,) that are not above a level, and those that are, in their order."""
    if pixels.dtype == np.float16:  # which numba does not have
        above = pixels > level
        return pixels[~above], pixels[above]
    level, cuts = pixels.dtype.type(level), threads.ranges(pixels.size, pixels.size)
    counts = threads.each(lambda a, b: np.count_nonzero(pixels[a:b] > level), cuts)
    ends = np.cumsum([0, *counts])
    dark, bright = (np.empty(n, pixels.dtype) for n in (pixels.size - ends[-1], ends[-1]))
    tasks = [
        (pixels[a:b], level, dark[a - above :], bright[above:])
        for (a, b), above in zip(cuts, ends[:-1], strict=True)
    ]
    threads.each(copy_apart, tasks)
    return dark, bright


def _add_up(
    kernel: Any, pixels: HostArray, bins: int, most: int, *edges: HostArray
) -> NDArray[np.int64]:
    """Divide pixels among up to `most` threads, and add up what they count."""
    pieces = min(threads.available(), most)
    spans = threads.ranges(pixels.size, pieces * threads.WEIGHT)
    tables = np.zeros((len(spans), ROWS, bins), np.int64)
    tasks = [(pixels[a:b], *edges, table) for (a, b), table in zip(spans, tables, strict=True)]
    threads.each(kernel, tasks)
    counts: NDArray[np.int64] = tables.sum(axis=(0, 1))
    return counts


# ---- Kernels


@njit(nogil=True, cache=True)
def add_values(pixels, counts):
    """Add how often each value of (P,) uint8 or uint16 occurs to (4, V) counts; V > every pixel."""
    end = pixels.size - pixels.size % ROWS
    for i in range(0, end, ROWS):
        for row in range(ROWS):
            counts[row, pixels[i + row]] += 1
    for i in range(end, pixels.size):
        counts[0, pixels[i]] += 1


@njit(nogil=True, cache=True)
def copy_apart(pixels, level, dark, bright):
    """Copy (P,) pixels to `bright` where they are above a level, to `dark` elsewhere."""
    below = above = 0
    for i in range(pixels.size):
        if pixels[i] > level:
            bright[above] = pixels[i]
            above += 1
        else:
            dark[below] = pixels[i]
            below += 1


@njit(nogil=True, cache=True)
def add_bins(pixels, edges, places, counts):
    """Add the numbers of (P,) pixels in each bin to (4, B) counts; edges are (B + 1,).

    Edges are ascending, finite and, except for rounding, evenly spaced; not checked. The last bin
    includes its upper edge. NaN and pixels outside are left out. `places`, of the type of the
    edges, are the first and the last place of a pixel among the bins, bins for a unit, and the
    margins of a bin: between them its number is sure, because rounding keeps the order of places.
    """
    bins = edges.size - 1
    lowest, highest = edges[0], edges[bins]
    first, last, scale, begin, end = places[0], places[1], places[2], places[3], places[4]
    numbers = np.empty(STRIP, np.int32)
    for start in range(0, pixels.size, STRIP):
        some = pixels[start : start + STRIP]
        sure = some.size == STRIP
        for i in range(some.size):
            place = (some[i] - lowest) * scale
            place = place if place > first else first  # NaN, too
            place = place if place < last else last
            whole = np.floor(place)
            numbers[i] = np.int32(whole)
            inside = (place - whole > begin) & (place - whole < end)
            sure &= inside | (some[i] == lowest)  # as in a background of zeros
        if sure:
            for i in range(0, STRIP, ROWS):
                for row in range(ROWS):
                    counts[row, np.uint64(numbers[i + row])] += 1
            continue
        for i in range(some.size):
            pixel, k = some[i], np.uint64(numbers[i])
            if pixel >= edges[k] and pixel < edges[k + ONE]:
                counts[i & (ROWS - 1), k] += 1
            elif pixel >= lowest and pixel <= highest:
                while pixel < edges[k]:
                    k -= ONE
                while k < bins - 1 and pixel >= edges[k + ONE]:
                    k += ONE
                counts[i & (ROWS - 1), k] += 1
