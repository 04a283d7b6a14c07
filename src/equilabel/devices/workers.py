"""GPUs for workers that label parts of one image: one each, in turn, and copies of its own."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .arrays import index_of, is_on_cuda
from .reports import count_gpus
from .using import free_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equilabel.array_types import Array, HostArray


_idle: dict[int, list[tuple[Any, Any]]] = {}  # what threads that have ended had on each GPU


class _Lane:
    """A stream on a GPU, and pinned memory for its copies; the next thread takes them over.

    CuPy keeps memory that was freed for the stream that had it.
    """

    def __init__(self, gpu: int) -> None:
        self._others = _idle.setdefault(gpu, [])  # at the end of Python, the name is gone
        try:
            self.stream, self.staging = self._others.pop()
        except IndexError:
            self.stream = import_module("cupy").cuda.Stream(non_blocking=True)
            self.staging = import_module("equilabel.kernels.cuda.staging").Staging()

    def __del__(self) -> None:
        if "staging" in self.__dict__:
            self._others.append((self.stream, self.staging))


class _Worker(threading.local):
    """What belongs to a thread: its number, a lane on each GPU, and the one it is on."""

    def __init__(self) -> None:
        self.number = 0
        self.lanes: dict[int, _Lane] = {}
        self.lane: _Lane | None = None


_worker = _Worker()


def set_worker(number: int) -> None:
    """Give this thread its number among the workers of this host, from 0."""
    _worker.number = number


@contextmanager
def own_gpu(device: str, held: Array = None) -> Iterator[None]:
    """Make the GPU of this worker current, with a stream of its own.

    So copies of one worker overlap the kernels of others.

    Parameters
    ----------
    device : str
        Any device that `resolve` takes. "cuda" is any GPU: the worker's number chooses. Nothing is
        done for "cpu" and "auto".
    held : cupy.ndarray, optional
        What the work is about: the GPU that holds it is taken.
    """
    if not device.startswith("cuda"):
        yield
        return
    cupy = sys.modules.get("cupy") or import_module("cupy")
    gpu = index_of(held) if held is not None else _own_index(device)
    with cupy.cuda.Device(gpu):
        before = _worker.lane
        lane = _worker.lane = _worker.lanes.get(gpu) or _worker.lanes.setdefault(gpu, _Lane(gpu))
        try:
            with lane.stream:
                yield
        finally:
            _worker.lane = before


def _own_index(device: str) -> int:
    """Return the number of the GPU of this worker."""
    _, _, index = device.partition(":")
    return int(index) if index else _worker.number % count_gpus()


def send_block(pixels: HostArray) -> Array:
    """Copy a block to the GPU that `own_gpu` made current, on its stream."""
    return _staging().upload(pixels)


def fetch_block(labels: Array) -> HostArray:
    """Copy a block from the GPU that `own_gpu` made current; the next call overwrites it."""
    host: HostArray = _staging().download(labels) if is_on_cuda(labels) else labels
    return host


def fetch_together(arrays: list[Array]) -> list[HostArray]:
    """Bring arrays of one type to the host, in one copy if they are of a GPU."""
    if not arrays or not is_on_cuda(arrays[0]):
        return arrays
    joined = sys.modules["cupy"].concatenate([array.reshape(-1) for array in arrays])
    flat: HostArray = _staging().download(joined).copy()
    found, begin = [], 0
    for array in arrays:
        found.append(flat[begin : begin + array.size].reshape(array.shape))
        begin += array.size
    return found


def room_on_gpus(device: str) -> dict[int, int]:
    """Return how many bytes are free on each GPU that workers may use."""
    cuda = import_module("cupy").cuda
    _, _, index = device.partition(":")
    found = {}
    for gpu in [int(index)] if index else range(count_gpus()):
        with cuda.Device(gpu):
            found[gpu] = free_memory()
    return found


def _staging() -> Any:
    """Return the pinned memory of the lane that this worker is on."""
    if _worker.lane is None:
        message = "blocks are copied within own_gpu; got a call outside of it. Enter it first."
        raise RuntimeError(message)
    return _worker.lane.staging
