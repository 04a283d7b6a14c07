"""GPUs for workers that label parts of one image: one each, in turn, and copies of its own."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .choosing import count_gpus, free_memory, index_of, is_on_cuda

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equilabel.array_types import Array, HostArray


LANES = 3  # workers that use a GPU at once; the others read and write meanwhile


class _Lane:
    """A stream on a GPU, and what is being copied there.

    CuPy keeps memory that was freed for the stream that had it.
    """

    def __init__(self, gpu: int) -> None:
        self.gpu = gpu
        self.stream = import_module("cupy").cuda.Stream(non_blocking=True)
        self.sent: list[Any] = []


class _Lanes:
    """The lanes of a GPU. The one that was used last is taken first: it has memory at hand."""

    def __init__(self, gpu: int) -> None:
        self._gpu = gpu
        self._free: list[_Lane] = []
        self._turns = threading.BoundedSemaphore(LANES)

    @contextmanager
    def taken(self) -> Iterator[_Lane]:
        """Wait for a lane, and have it for oneself."""
        with self._turns:
            try:
                lane = self._free.pop()
            except IndexError:
                lane = _Lane(self._gpu)
            try:
                with lane.stream:
                    yield lane
            finally:
                self._free.append(lane)


class _Worker(threading.local):
    """What belongs to a thread: its number, and the lane it is on."""

    def __init__(self) -> None:
        self.number = 0
        self.lane: _Lane | None = None


_worker = _Worker()
_lanes: dict[int, _Lanes] = {}


def set_worker(number: int) -> None:
    """Give this thread its number among the workers of this host, from 0."""
    _worker.number = number


@contextmanager
def own_gpu(device: str, held: Array = None) -> Iterator[None]:
    """Make the GPU of this worker current, with a stream of its own.

    So copies of one worker overlap the kernels of others. Some workers at once do so; others wait.
    With "cuda", the GPU is the one that holds `held`, or any: the worker's number chooses. Nothing
    is done for "cpu" and "auto".
    """
    if not device.startswith("cuda"):
        yield
        return
    cupy = sys.modules.get("cupy") or import_module("cupy")
    gpu = index_of(held) if held is not None else _own_index(device)
    lanes = _lanes.get(gpu) or _lanes.setdefault(gpu, _Lanes(gpu))
    with cupy.cuda.Device(gpu), lanes.taken() as lane:
        before, _worker.lane = _worker.lane, lane
        try:
            yield
        finally:
            _worker.lane = before


def _own_index(device: str) -> int:
    """Return the number of the GPU of this worker."""
    _, _, index = device.partition(":")
    return int(index) if index else _worker.number % count_gpus()


def stage_block(pixels: HostArray, device: str) -> Any:
    """Return a block as `send_block` can copy it at once: for any device but a GPU, as it is."""
    if not device.startswith("cuda"):
        return pixels
    cupy = sys.modules.get("cupy") or import_module("cupy")
    with cupy.cuda.Device(_own_index(device)):
        return _staging().Staged(pixels)


def send_block(pixels: Any) -> Array:
    """Copy a block, or what `stage_block` returned, to the GPU of `own_gpu`, on its stream."""
    lane, staged = _own_lane(), pixels
    if isinstance(pixels, np.ndarray):
        staged = _staging().Staged(pixels)
    if lane.sent:
        lane.stream.synchronize()
        lane.sent.clear()
    lane.sent.append(staged)
    return staged.send()


def fetch_block(labels: Array) -> HostArray:
    """Copy a block from the GPU that `own_gpu` made current; to pinned memory, which is scarce."""
    if is_on_cuda(labels):
        _own_lane()
        labels = _staging().fetch(labels)
    host: HostArray = labels
    return host


def fetch_renumbered(labels: Array, numbers: HostArray, out: HostArray | None) -> HostArray:
    """Copy the number of each label to the host: to `out` if that is pinned, else as `fetch_block`.

    `labels`, of uint16, int32 or int64, are on the GPU that `own_gpu` made current. `numbers`, (N +
    1,) of int, take the place of labels 0, which stays 0, to N. `out` is of their type. Return None
    if they are in `out`.
    """
    found: HostArray = _staging().fetch_renumbered(labels, send_block(numbers), out)
    return found


def current_event() -> Any:
    """Return what can be waited for until the lane of this worker has done what it was given."""
    return _own_lane().stream.record()


def room_on_gpus(device: str) -> dict[int, int]:
    """Return how many bytes are free on each GPU that workers may use."""
    cuda = import_module("cupy").cuda
    _, _, index = device.partition(":")
    found = {}
    for gpu in [int(index)] if index else range(count_gpus()):
        with cuda.Device(gpu):
            found[gpu] = free_memory()
    return found


def _own_lane() -> _Lane:
    """Return the lane that this worker is on."""
    if _worker.lane is None:
        message = "blocks are copied within own_gpu; got a call outside of it. Enter it first."
        raise RuntimeError(message)
    return _worker.lane


def _staging() -> Any:
    """Return the module that copies blocks."""
    return import_module("equilabel.devices.cuda.staging")
