"""Launchers for histogram.cu: passes from pixels to histograms, and to their mean."""

import math
from typing import Any

import cupy

from equilabel.array_types import Array, HostArray
from equilabel.devices import fetch
from equilabel.devices.cuda.kernels import THREADS, kernel, launch, start

BINS = 12_000  # counters that fit the shared memory of every card
BLOCKS = 1024
# Threads and blocks that count in bins; few blocks, because each adds up 32 sets of counters.
COUNTERS, COUNTING = 1024, 264
LANES, LEAF = 8, 128  # threads that add pixels, and how many without halving them


def count_values(pixels: Array, bins: int) -> Array:
    """Count how often each value of (P,) uint8 or uint16 occurs: (bins,) int64.

    `bins` must be more than every pixel; not checked.
    """
    counts = cupy.zeros(bins, cupy.int64)
    first, last = 0, bins
    if bins > BINS:  # few images span the whole range of their type
        first, last = int(pixels.min()), int(pixels.max()) + 1
    function = kernel("segmentation/cuda/histogram", f"count_values<{pixels.dtype.str[1:]}>")
    for begin in range(first, last, BINS):
        part = min(BINS, last - begin)
        arguments = (pixels, pixels.size, begin, part, counts[begin:])
        blocks = min(-(-pixels.size // THREADS), BLOCKS)
        function((blocks,), (THREADS,), arguments, shared_mem=4 * part)
    return counts


def count_bins(pixels: Array, edges: HostArray) -> Array:
    """Count (P,) pixels in bins of equal width: (B,) int64; (B + 1,) edges, up to 256 bins.

    Edges are ascending, finite, evenly spaced except for rounding; not checked. NaN and pixels
    outside are left out.
    """
    bins = edges.size - 1
    counts = cupy.zeros(bins, cupy.int64)
    function = kernel("segmentation/cuda/histogram", f"count_bins<{pixels.dtype.str[1:]}>")
    there = cupy.asarray(edges)
    blocks = min(-(-pixels.size // COUNTERS), COUNTING)
    start(function, blocks, COUNTERS, pixels, pixels.size, there, bins, counts)
    return counts


def separate(pixels: Array, level: Any) -> tuple[Array, Array]:
    """Return the pixels of (P,) that are not above a level, and those that are, in their order."""
    above = pixels > level
    return pixels[~above], pixels[above]


def mean(pixels: Array) -> Any:
    """Return the mean of float32 or float64, not empty, in their type, as NumPy computes it.

    NumPy adds the sums of halves; before 2.3 of pieces. Raise FloatingPointError if it overflows.
    """
    flat, kind = pixels.ravel(), pixels.dtype
    depth, longest = 0, flat.size
    while longest > LEAF:
        longest -= longest // 16 * 8
        depth += 1
    leaves = cupy.empty(1 << depth, kind)
    function = kernel("segmentation/cuda/histogram", f"sum_leaves<{kind.str[1:]}>")
    launch(function, LANES * leaves.size, flat, flat.size, depth, leaves)
    sums = fetch(leaves)
    while len(sums) > 1:
        sums = sums[::2] + sums[1::2]
    if not math.isfinite(sums[0]):
        raise FloatingPointError
    return kind.type(float(sums[0]) / flat.size)
