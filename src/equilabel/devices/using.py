"""Work on a device, with its errors put into words."""

from __future__ import annotations

import traceback
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING

from .errors import DeviceMemoryError, DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def using(device: str, needed: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Make a device the current one.

    Parameters
    ----------
    device : str
        A device that `resolve` returned.
    needed : callable
        Returns how many bytes the work needs; asked only if there are too few.

    Raises
    ------
    DeviceMemoryError
        If the memory of the device does not suffice. What was taken is given back.
    DeviceUnavailableError
        If the device fails, or its current stream is gone.
    """
    if device == "cpu":
        yield
        return
    cupy = import_module("cupy")
    index = int(device.partition(":")[2] or 0)
    there = nullcontext() if cupy.cuda.runtime.getDevice() == index else cupy.cuda.Device(index)
    with there:
        try:
            yield
        except cupy.cuda.memory.OutOfMemoryError as error:
            # The frames that failed still hold arrays, for as long as somebody looks at the error.
            traceback.clear_frames(error.__traceback__)
            message = _memory_message(device, needed())
            raise DeviceMemoryError(message) from None
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            message = (
                f"device {device!r} must run what it is given; got {error}. If a stream was "
                "destroyed or an earlier kernel failed, leave the stream or start a new process; "
                "device='cpu' works without the GPU."
            )
            raise DeviceUnavailableError(message) from error


def _memory_message(device: str, needed: int) -> str:
    cupy = import_module("cupy")
    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    asked = f"{needed / 2**20:,.0f} MiB of memory" if needed else "more memory"
    return (
        f"device {device!r} must have {asked} for this; got {free / 2**20:,.0f} MiB free. "
        "Pass `out=` with an array that exists, label the images of a stack a few at a time, "
        "free other arrays (`cupy.get_default_memory_pool().free_all_blocks()`), or pass "
        "device='cpu'."
    )
