"""Launchers for smoothing.cu: Gaussian smoothing on a GPU."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import cupy
import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.devices.cuda.kernels import THREADS, kernel, launch

READ = ("u1", "u2", "i2", "f4", "f8")  # types that are read as they are; others are converted
BLOCKS = 1024


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
    image = pixels.view(cupy.uint8) if pixels.dtype == cupy.bool_ else pixels
    image = cupy.ascontiguousarray(image, None if image.dtype.str[1:] in READ else dtype)
    for axis, some in enumerate(weights):
        if some.size > 1:
            out = cupy.empty(image.shape, dtype)
            types = f"{image.dtype.str[1:]}, {dtype.str[1:]}"
            function = kernel("segmentation/cuda/smoothing", f"smooth_axis<{types}>")
            inner, reach = prod(image.shape[axis + 1 :]), some.size - 1
            sides = (image.size, image.shape[axis], inner)
            device = cupy.cuda.runtime.getDevice()
            how = (_copied(some.tobytes(), device), np.int32(reach), np.int32(nearest))
            launch(function, image.size, image, out, *sides, *how)
            image = out
    image = image if image.dtype == dtype else image.astype(dtype)
    return image, extremes(image)


def extremes(values: Array) -> HostArray:
    """Return the smallest and the largest of float32 or float64 values, (2,) on the host."""
    whole = np.dtype(f"i{values.dtype.itemsize}")
    limits = np.iinfo(whole)
    none = np.array([limits.max, limits.min] * 2, whole).view(np.float64)
    ends = _copied(none.tobytes(), cupy.cuda.runtime.getDevice()).view(whole).copy()
    function = kernel("segmentation/cuda/smoothing", f"find_extremes<{values.dtype.str[1:]}>")
    blocks = min(-(-values.size // THREADS), BLOCKS)
    function((blocks,), (THREADS,), (values, values.size, ends))
    found: HostArray = cupy.asnumpy(ends)[:2]
    found = np.where(found < 0, found ^ limits.max, found).astype(whole)
    return found.view(values.dtype)
