"""Errors of a device, in words."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


# ---- What goes wrong with devices


class DeviceUnavailableError(RuntimeError):
    """A device was asked for by name, or holds an array, and cannot be used."""


class DeviceMemoryError(DeviceUnavailableError, MemoryError):
    """A device has too little memory for the work."""


# ---- Work on a device, with its errors put into words


class using:
    """Make a device the current one.

    Parameters
    ----------
    device : str
        A device that `resolve` returned.
    needed : callable, optional
        Returns how many bytes the work needs; asked only if there are too few.

    Raises
    ------
    DeviceMemoryError
        If the memory of the device does not suffice. What was taken is given back.
    DeviceUnavailableError
        If the device fails, or its current stream is gone.
    """

    def __init__(self, device: str, needed: Callable[[], int] | None = None) -> None:
        self._device, self._needed = device, needed
        self._other: Any = None

    def __enter__(self) -> None:
        if self._device == "cpu":
            return
        cupy = sys.modules.get("cupy") or import_module("cupy")
        index = 0 if self._device == "cuda" else int(self._device.partition(":")[2])
        if cupy.cuda.runtime.getDevice() != index:
            self._other = cupy.cuda.Device(index)
            self._other.__enter__()

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None and self._device != "cpu":
                self._explain(error)
        finally:
            if self._other is not None:
                self._other.__exit__(None, None, None)

    def _explain(self, error: BaseException) -> None:
        """Raise what says in words that memory ran out or that the device fails."""
        cuda = import_module("cupy").cuda
        if isinstance(error, cuda.memory.OutOfMemoryError):
            # The frames that failed hold arrays, for as long as somebody looks at the error.
            traceback.clear_frames(error.__traceback__)
            needed = self._needed() if self._needed else 0
            raise DeviceMemoryError(_memory_message(self._device, needed)) from None
        if isinstance(error, (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError)):
            message = (
                f"device {self._device!r} must run what it is given; got {error}. If a stream was "
                "destroyed or an earlier kernel failed, leave the stream or start a new process; "
                "device='cpu' works without the GPU."
            )
            raise DeviceUnavailableError(message) from error


def check_memory(device: str, needed: int) -> None:
    """Raise DeviceMemoryError, before anything starts, if work needs more memory than is free.

    Parameters
    ----------
    device : str
        The current device.
    needed : int
        Bytes.
    """
    if needed > free_memory():
        raise DeviceMemoryError(_memory_message(device, needed))


def free_memory() -> int:
    """Return how many bytes CuPy can get on the current device."""
    cupy = import_module("cupy")
    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, limit - int(pool.used_bytes())) if limit else free


def _memory_message(device: str, needed: int) -> str:
    free = free_memory()
    asked = f"{needed / 2**20:,.0f} MiB of memory" if needed else "more memory"
    return (
        f"device {device!r} must have {asked} for this; got {free / 2**20:,.0f} MiB free. "
        "Pass `out=` with an array that exists, label the images of a stack a few at a time, "
        "free other arrays (`cupy.get_default_memory_pool().free_all_blocks()`), label block by "
        "block with `label_chunked`, or pass device='cpu'."
    )
