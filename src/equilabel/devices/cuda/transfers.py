"""Copies between the host and the current device, through pinned memory, in pieces that overlap.

The bus copies from and to pinned memory only. Several threads each take a piece, copy it to or from
a pinned buffer of their own, and let the bus copy another meanwhile.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import cupy
import numpy as np

from equilabel.array_types import Array

PIECE = 1 << 22  # bytes
THREADS = 8
SMALL = 1 << 15  # bytes that are not worth a buffer
LEAST_KEPT, MOST_HELD = 1 << 17, 1 << 28  # bytes of pinned memory that callers may get, and hold


def upload(array: np.ndarray) -> Array:
    """Copy an array of any type CuPy knows, and any strides, to the current device: C-contiguous.

    Work on the current stream may use it.
    """
    array = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    copy = cupy.empty(array.shape, array.dtype)
    if array.nbytes <= PIECE // 4:
        copy.set(array)
        return copy
    source = array.reshape(-1).view(np.uint8)

    def move(buffer: np.ndarray, begin: int, end: int, stream: Any) -> None:
        buffer[: end - begin] = source[begin:end]
        where, kind = copy.data.ptr + begin, cupy.cuda.runtime.memcpyHostToDevice
        cupy.cuda.runtime.memcpyAsync(where, buffer.ctypes.data, end - begin, kind, stream)
        cupy.cuda.runtime.streamSynchronize(stream)

    _share_out(source.size, move)
    return copy


def download(array: Array, out: np.ndarray | None = None, *, keep: bool = False) -> np.ndarray:
    """Copy an array of the current device to the host, once the current stream is done with it.

    `out` receives it: same shape, any integer type that can hold it; without it, a new C-contiguous
    array does. `keep` says whether a small array may stay in pinned memory, which is scarce: for
    those who soon let go.
    """
    array = array.copy(order="C") if not array.flags.c_contiguous else array
    straight = out is not None and out.flags.c_contiguous and out.dtype == array.dtype
    if keep and SMALL < array.nbytes <= PIECE:
        pinned = pinned_memory(array.nbytes)[: array.nbytes].view(array.dtype).reshape(array.shape)
        array.get(out=pinned)
        return np.asarray(pinned)
    host = out if out is not None and straight else np.empty(array.shape, array.dtype)
    if array.nbytes <= SMALL:
        array.get(out=host)
    elif array.nbytes <= PIECE:
        buffer = pinned_memory(array.nbytes)
        pinned = buffer[: array.nbytes].view(array.dtype).reshape(array.shape)
        array.get(out=pinned)
        host[...] = pinned
    else:
        target = host.reshape(-1).view(np.uint8)

        def move(buffer: np.ndarray, begin: int, end: int, stream: Any) -> None:
            where, kind = array.data.ptr + begin, cupy.cuda.runtime.memcpyDeviceToHost
            cupy.cuda.runtime.memcpyAsync(buffer.ctypes.data, where, end - begin, kind, stream)
            cupy.cuda.runtime.streamSynchronize(stream)
            target[begin:end] = buffer[: end - begin]

        _share_out(target.size, move)
    if out is None or straight:
        return host
    out[...] = host
    return out


class Pinned:
    """Memory of `size` numbers of 64 bits on the host, to which the current device can write.

    Arrays that `view` returns keep it. It is scarce, and slow to get if none was given back. The
    device finds it at `address`.
    """

    _held = 0  # bytes in the hands of callers

    def __init__(self, size: int) -> None:
        self._memory = cupy.cuda.alloc_pinned_memory(8 * size)
        self.address: int = self._memory.ptr
        self._size, self._kept = size, 0
        self.__array_interface__ = {
            "data": (self.address, False), "shape": (size,), "typestr": "=u8", "version": 3,
        }  # fmt: skip

    def view(self) -> np.ndarray:
        """Return it as an array of uint64."""
        return np.asarray(self)

    def keep(self, used: int) -> bool:
        """Return whether views of `used` bytes may go to callers, who let go nobody knows when."""
        size = 8 * self._size
        if used < LEAST_KEPT or 2 * used < size or Pinned._held + size > MOST_HELD:
            return False
        self._kept = size
        Pinned._held += size
        return True

    def __del__(self) -> None:
        kept = self.__dict__.get("_kept", 0)
        if kept:  # at the end of Python, the class may be gone
            type(self)._held -= kept


def _share_out(size: int, move: Callable[[np.ndarray, int, int, Any], None]) -> None:
    """Call `move` for every piece, in threads with a pinned buffer and a stream of their own.

    It is to return when the piece is where it belongs.
    """
    device = cupy.cuda.runtime.getDevice()
    cupy.cuda.get_current_stream().synchronize()
    begins = iter(range(0, size, PIECE))

    def work() -> None:
        with cupy.cuda.Device(device):
            buffer = pinned_memory(min(PIECE, size))
            stream = cupy.cuda.Stream(non_blocking=True)
            for begin in begins:  # a piece for whoever asks next
                move(buffer, begin, min(begin + PIECE, size), stream.ptr)

    threads = min(THREADS, -(-size // PIECE))
    for task in [_pool().submit(work) for _ in range(threads)]:
        task.result()


def pinned_memory(size: int) -> np.ndarray:
    """Return bytes of pinned memory; a pool takes it back when nobody uses it any more."""
    return np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "equilabel")
