"""Copies of a worker with a stream of its own, through pinned memory that CuPy keeps.

Others copy in pieces, by several threads, as one thread alone is slower than the bus. Where several
workers copy at once, each does so alone: nothing is handed from thread to thread. Arrays that a
caller has in pinned memory are read and written by kernels.
"""

import cupy
import numpy as np

from equilabel.array_types import Array

from .blocks import AXES, copy_block, renumber_block, renumber_into
from .transfers import download, pinned_memory, upload

MOST = 1 << 27  # bytes of one copy; more of them go in pieces
HOST = 1  # type of memory that CUDA has pinned


class Staged:
    """Pixels, of any type CuPy knows and any strides, that the bus can copy."""

    def __init__(self, array: np.ndarray) -> None:
        self._straight = is_pinned(array)
        if not self._straight and 0 < array.nbytes <= MOST:
            dtype = array.dtype.newbyteorder("=")
            pinned = room(array.nbytes).view(dtype).reshape(array.shape)
            pinned[...] = array
            self.array = pinned
        else:
            self.array = array

    def send(self) -> Array:
        """Copy it to the current device, C-contiguous.

        The current stream does so later, and needs it till then.
        """
        array = self.array
        if self._straight and not array.flags.c_contiguous:
            return copy_block(array)
        if not 0 < array.nbytes <= MOST:
            return upload(array)
        copy = cupy.empty(array.shape, array.dtype)
        runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr
        kind = runtime.memcpyHostToDevice
        runtime.memcpyAsync(copy.data.ptr, array.ctypes.data, array.nbytes, kind, stream)
        return copy


def is_pinned(array: np.ndarray) -> bool:
    """Return whether kernels can read or write an array of the host."""
    if not (array.size and array.dtype.isnative and array.flags.aligned and array.ndim <= AXES):
        return False
    if array.itemsize > 8 or any(stride % array.itemsize for stride in array.strides):
        return False
    steps = zip(array.shape, array.strides, strict=True)
    if any(stride < 0 for stride in array.strides):
        return False
    last = array.ctypes.data + sum((side - 1) * stride for side, stride in steps)
    known = cupy.cuda.runtime.pointerGetAttributes
    return all(known(place).type == HOST for place in (array.ctypes.data, last))


def fetch(array: Array) -> np.ndarray:
    """Copy an array to pinned memory, C-contiguous, and wait for it.

    As long as what is returned is used, its memory is not used again.
    """
    if not 0 < array.nbytes <= MOST:
        return download(array)
    array = cupy.ascontiguousarray(array)
    runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr
    pinned, kind = room(array.nbytes), runtime.memcpyDeviceToHost
    runtime.memcpyAsync(pinned.ctypes.data, array.data.ptr, array.nbytes, kind, stream)
    runtime.streamSynchronize(stream)
    host: np.ndarray = pinned.view(array.dtype).reshape(array.shape)
    return host


def fetch_renumbered(labels: Array, numbers: Array, out: np.ndarray | None) -> np.ndarray | None:
    """Copy the number of each label to the host, and wait for it.

    `labels` and `numbers` are those of `renumber_block`; `out`, of the shape of the labels and the
    type of the numbers, is where they belong. Return them in pinned memory, or None if a kernel has
    written them to `out`.
    """
    if out is None or not is_pinned(out):
        return fetch(renumber_block(labels, numbers))
    renumber_into(labels, numbers, out)
    cupy.cuda.get_current_stream().synchronize()
    return None


def room(size: int) -> np.ndarray:
    """Return so many bytes of pinned memory; of few sizes, so that they come from the pool."""
    return pinned_memory(1 << max(size - 1, 0).bit_length())[:size]
