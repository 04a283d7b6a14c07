"""Launchers for smoothing.cu: Gaussian smoothing on a GPU."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import cupy
import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.devices.cuda.kernels import THREADS, kernel, start

READ = ("u1", "u2", "i2", "f4", "f8")  # types that are read as they are; others are converted
PLACES, REACH = 4, 8  # places of a thread, as in smoothing.cu; most weights that are unrolled
BINS, BLOCKS = 256, 1024
Counted = tuple[HostArray, HostArray]  # (B,) int64, and edges, (B + 1,)


@lru_cache(maxsize=256)
def _copied(data: bytes, device: int) -> Array:
    """Return (N,) float64 numbers on the current device, which is `device`; copied once."""
    found = cupy.asarray(np.frombuffer(data))
    cupy.cuda.get_current_stream().synchronize()  # others may read them next
    return found


def smooth(
    pixels: Array, dtype: np.dtype[Any], weights: Sequence[HostArray], nearest: bool
) -> tuple[Array, HostArray]:
    """Smooth finite pixels along all axes; return the result and its extremes, (2,) on the host.

    Arguments and result are those of the CPU, to the last bit.
    """
    ends = cupy.zeros(2, np.uint64)
    image = _smooth(pixels, dtype, weights, nearest, ends.data.ptr)
    return image, _extremes(cupy.asnumpy(ends), dtype)


def smooth_and_count(
    pixels: Array, dtype: np.dtype[Any], weights: Sequence[HostArray], nearest: bool
) -> tuple[Array, HostArray, Counted]:
    """Smooth as `smooth`, and count the result in bins between its extremes; wait once."""
    told = cupy.zeros(3 + 2 * BINS, np.uint64)
    ends = told.data.ptr
    counts, edges = ends + 16, ends + 16 + 8 * BINS
    image, name = _smooth(pixels, dtype, weights, nearest, ends), dtype.str[1:]
    function = kernel("segmentation/cuda/smoothing", f"find_edges<{name}>")
    start(function, BINS // THREADS + 1, THREADS, ends, BINS, edges)
    function = kernel("segmentation/cuda/histogram", f"count_bins<{name}>")
    blocks = min(-(-image.size // THREADS), BLOCKS)
    start(function, blocks, THREADS, image, image.size, edges, BINS, counts)
    host = cupy.asnumpy(told)
    found = host[2 + BINS :].view(dtype)[: BINS + 1]
    return image, _extremes(host, dtype), (host[2 : 2 + BINS].view(np.int64), found)


def _smooth(
    pixels: Array, dtype: np.dtype[Any], weights: Sequence[HostArray], nearest: bool, ends: int
) -> Array:
    """Start to smooth; keys of the extremes, as in smoothing.cu, go to an address that holds 0."""
    image = pixels.view(cupy.uint8) if pixels.dtype == cupy.bool_ else pixels
    image = cupy.ascontiguousarray(image, None if image.dtype.str[1:] in READ else dtype)
    device, shape = cupy.cuda.runtime.getDevice(), image.shape
    axes = [axis for axis, some in enumerate(weights) if some.size > 1] or [image.ndim - 1]
    for axis in axes:
        out, some, own = cupy.empty(shape, dtype), weights[axis], image.dtype.str[1:]
        reach, length, inner = some.size - 1, shape[axis], prod(shape[axis + 1 :])
        types = f"{own}, {dtype.str[1:]}, {reach if reach <= REACH else 0}"
        function = kernel("segmentation/cuda/smoothing", f"smooth_axis<{types}>")
        groups, lines = -(-length // PLACES), image.size // length // inner
        columns, rows = (groups, lines) if inner == 1 else (inner, lines * groups)
        wide = THREADS if columns >= THREADS else 32
        blocks = -(-columns // wide) * -(-rows // (THREADS // wide))
        how = (wide, _copied(some.tobytes(), device), reach, int(nearest))
        aligned, last = int(inner == 1 and length % PLACES == 0), ends if axis == axes[-1] else 0
        sides = (rows, columns, length, inner)
        start(function, blocks, THREADS, image, out, *sides, *how, aligned, last)
        image = out
    return image


def _extremes(told: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """Return the extremes, (2,), of which the keys are the first of the numbers from the device."""
    keys = told.view(f"u{dtype.itemsize}")[:2].copy()
    keys[0] = ~keys[0]
    top = keys.dtype.type(1 << (8 * dtype.itemsize - 1))
    return np.where(keys >= top, keys ^ top, ~keys).view(dtype)
