"""Launchers for smoothing.cu: Gaussian smoothing on a GPU."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.devices.cuda.kernels import THREADS, Kernel, kernel, start

READ = ("u1", "u2", "i2", "f4", "f8")  # types that are read as they are; others are converted
NEXT, APART = 8, 16  # neighboring places of a thread: next to each other in memory, and apart
REACH = 8  # most weights that are unrolled


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
    image = pixels.view(cupy.uint8) if pixels.dtype == cupy.bool_ else pixels
    image = cupy.ascontiguousarray(image, None if image.dtype.str[1:] in READ else dtype)
    axes = launches(image.shape, image.dtype.str[1:], dtype, weights, nearest)
    for axis in axes:
        out = cupy.empty(image.shape, dtype)
        told = ends if axis is axes[-1] else 0
        start(axis.function, axis.blocks, THREADS, image, out, *axis.arguments, told)
        image = out
    return image, _extremes(cupy.asnumpy(ends), dtype)


class Launch(NamedTuple):
    """The launch that smooths pixels of one shape and type along an axis: all but addresses."""

    function: Kernel
    blocks: int
    arguments: tuple[int, ...]  # between those of the two images and that of the extremes
    weights: Array  # which an argument points to


def launches(
    shape: tuple[int, ...],
    pixel: str,
    dtype: np.dtype[Any],
    weights: Sequence[HostArray],
    nearest: bool,
) -> list[Launch]:
    """Prepare to smooth C-contiguous pixels along all axes; `pixel` is their type."""
    found, device, size = [], cupy.cuda.runtime.getDevice(), prod(shape)
    for axis in [axis for axis, some in enumerate(weights) if some.size > 1] or [len(shape) - 1]:
        some = _copied(weights[axis].tobytes(), device)
        reach, length, inner = some.size - 1, shape[axis], prod(shape[axis + 1 :])
        places = NEXT if inner == 1 else APART
        types = f"{pixel}, {dtype.str[1:]}, {reach if reach <= REACH else 0}, {places}"
        function = kernel("segmentation/cuda/smoothing", f"smooth_axis<{types}>")
        groups, lines = -(-length // places), size // length // inner
        columns, rows = (groups, lines) if inner == 1 else (inner, lines * groups)
        wide = THREADS if columns >= THREADS else 32
        blocks = -(-columns // wide) * -(-rows // (THREADS // wide))
        how = (wide, some.data.ptr, reach, nearest, inner == 1 and length % places == 0)
        found.append(Launch(function, blocks, (rows, columns, length, inner, *how), some))
        pixel = dtype.str[1:]
    return found


def _extremes(told: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """Return the extremes, (2,), of which the keys are the first of the numbers from the device."""
    keys = told.view(f"u{dtype.itemsize}")[:2].copy()
    keys[0] = ~keys[0]
    top = keys.dtype.type(1 << (8 * dtype.itemsize - 1))
    return np.where(keys >= top, keys ^ top, ~keys).view(dtype)
