"""GPUs for workers that label parts of one image: one each, in turn."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .reports import count_gpus

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Worker(threading.local):
    """What belongs to a thread: its number, and a stream on each GPU."""

    def __init__(self) -> None:
        self.number = 0
        self.streams: dict[int, Any] = {}


_worker = _Worker()


def set_worker(number: int) -> None:
    """Give this thread its number among the workers of this host, from 0."""
    _worker.number = number


@contextmanager
def own_gpu(device: str) -> Iterator[None]:
    """Make the GPU of this worker current, with a stream of its own.

    So copies of one worker overlap the kernels of others.

    Parameters
    ----------
    device : str
        Any device that `resolve` takes. "cuda" is any GPU: the worker's number chooses. Nothing is
        done for "cpu" and "auto".
    """
    if not device.startswith("cuda"):
        yield
        return
    cupy = sys.modules.get("cupy") or import_module("cupy")
    _, _, index = device.partition(":")
    gpu = int(index) if index else _worker.number % count_gpus()
    with cupy.cuda.Device(gpu):
        if gpu not in _worker.streams:
            _worker.streams[gpu] = cupy.cuda.Stream(non_blocking=True)
        with _worker.streams[gpu]:
            yield
