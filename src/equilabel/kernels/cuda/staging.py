"""Copies of a worker with a stream of its own, through pinned memory that it keeps.

Others copy in pieces, by several threads, as one thread alone is slower than the bus. Where several
workers copy at once, each does so alone: nothing is handed from thread to thread.
"""

from typing import Any

import cupy
import numpy as np

from equilabel.array_types import Array

from .transfers import download, upload

MOST = 1 << 27  # bytes of one copy; more of them go in pieces


class Staging:
    """Pinned memory of one thread: what it holds is true until it is used again."""

    def __init__(self) -> None:
        self._memory: dict[str, Any] = {}

    def upload(self, array: np.ndarray) -> Array:
        """Copy an array to the current device; the current stream does so later.

        Parameters
        ----------
        array : numpy.ndarray
            Of any type CuPy knows, and any strides.

        Returns
        -------
        cupy.ndarray
            C-contiguous.
        """
        dtype = array.dtype.newbyteorder("=")
        if not 0 < array.nbytes <= MOST:
            return upload(array)
        runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr
        pinned = self._room("up", array.nbytes)
        runtime.streamSynchronize(stream)  # it may still read what was there
        pinned.view(dtype).reshape(array.shape)[...] = array
        copy = cupy.empty(array.shape, dtype)
        kind = runtime.memcpyHostToDevice
        runtime.memcpyAsync(copy.data.ptr, pinned.ctypes.data, array.nbytes, kind, stream)
        return copy

    def download(self, array: Array) -> np.ndarray:
        """Copy an array to the host, and wait for it.

        Returns
        -------
        numpy.ndarray
            C-contiguous; overwritten by the next call if it is in pinned memory.
        """
        if not 0 < array.nbytes <= MOST:
            return download(array)
        array = cupy.ascontiguousarray(array)
        runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr
        pinned, kind = self._room("down", array.nbytes), runtime.memcpyDeviceToHost
        runtime.memcpyAsync(pinned.ctypes.data, array.data.ptr, array.nbytes, kind, stream)
        runtime.streamSynchronize(stream)
        host: np.ndarray = pinned.view(array.dtype).reshape(array.shape)
        return host

    def _room(self, name: str, size: int) -> np.ndarray:
        """Return so many bytes of pinned memory, those of the last call if they suffice."""
        held = self._memory.get(name)
        if held is None or held.mem.size < size:
            self._memory.pop(name, None)
            held = self._memory[name] = cupy.cuda.alloc_pinned_memory(size)
        return np.frombuffer(held, np.uint8, size)
