"""Starting a kernel by addresses: after the one before it, or while that one ends.

The second is programmatic dependent launch, which cards have from compute capability 9.0 on. CuPy
has no call for it, so the driver is asked directly.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import cupy

if TYPE_CHECKING:
    from collections.abc import Callable

FOLLOWS = 90  # compute capability that knows programmatic dependent launch
SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
Start: TypeAlias = "Callable[[int, int, int, int, int], None]"
"""How a kernel is started: by handle, blocks, threads, stream and address of its arguments."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: a kind, and a value of 64 bytes."""

    _fields_ = (("kind", ctypes.c_int), ("value", ctypes.c_uint64 * 8))


FOLLOWING = _Attribute(SERIALIZATION, (ctypes.c_uint64 * 8)(1))
ATTRIBUTES = ctypes.addressof(FOLLOWING), 1
LAUNCH = struct.Struct("7IPPI")  # CUlaunchConfig: grid, block, shared bytes, stream, attributes


def start_after(function: int, blocks: int, threads: int, stream: int, arguments: int) -> None:
    """Start a kernel once all before it have ended: a third of the time of a call.

    Parameters
    ----------
    function : int
        Handle of the kernel.
    blocks, threads : int
        Of the grid, and of a block.
    stream : int
    arguments : int
        Address of the addresses of all arguments.
    """
    cupy.cuda.driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, 0)


def start_following(function: int, blocks: int, threads: int, stream: int, arguments: int) -> None:
    """Start a kernel as soon as the one before lets it begin; parameters as in `start_after`.

    The kernel itself waits for what that one writes, see launch_order.cuh.
    """
    launch = LAUNCH.pack(blocks, 1, 1, threads, 1, 1, 0, stream, *ATTRIBUTES)
    code = _driver()(launch, function, arguments, None)
    if code:
        raise cupy.cuda.driver.CUDADriverError(code)


@cache
def can_follow(device: int) -> bool:
    """Return whether a device and its driver know `start_following`."""
    return int(cupy.cuda.Device(device).compute_capability) >= FOLLOWS and _driver() is not None


@cache
def _driver() -> Any:
    """Return the call of the driver, or None if there is none."""
    try:
        call = ctypes.CDLL(DRIVER).cuLaunchKernelEx
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_void_p,) * 4
    call.restype = ctypes.c_int
    return call
