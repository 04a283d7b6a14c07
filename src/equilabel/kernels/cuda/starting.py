"""Starting a kernel by addresses: after the one before it, or while that one ends.

The second is programmatic dependent launch, which cards have from compute capability 9.0 on. CuPy
has no call for it, so the driver is asked directly.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import cupy

FOLLOWS = 90  # compute capability that knows programmatic dependent launch
SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: a kind, and a value of 64 bytes."""

    _fields_ = (("kind", ctypes.c_int), ("value", ctypes.c_uint64 * 8))


class _Launch(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


FOLLOWING = _Attribute(SERIALIZATION, (ctypes.c_uint64 * 8)(1))


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
    attributes = ctypes.addressof(FOLLOWING)
    launch = _Launch((blocks, 1, 1), (threads, 1, 1), 0, stream, attributes, 1)
    code = _driver()(ctypes.byref(launch), function, arguments, None)
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
