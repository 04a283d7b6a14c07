"""Launchers for histogram.cu: passes from pixels to histograms."""

import cupy

from equilabel.array_types import Array, HostArray
from equilabel.devices.cuda.kernels import THREADS, kernel, start

BINS = 12_000  # counters that fit the shared memory of every card
BLOCKS = 1024
# Threads and blocks that count in bins; few blocks, because each adds up 32 sets of counters.
COUNTERS, COUNTING = 1024, 264


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
