"""Kernels from the `.cu` files of the package: compiled once, launched on the current stream."""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

import cupy
import numpy as np
from cupy.cuda.compiler import CompileException

if TYPE_CHECKING:
    from pathlib import Path


# ---- Types of indices of elements, see index.cuh


def empty_roots(size: int) -> cupy.ndarray:
    """Return room for the roots of so many elements, of the narrowest type that holds them."""
    return cupy.empty(size, cupy.int32 if size <= 2**31 else cupy.int64)


# ---- Kernels from the `.cu` files beside this module: compiled once, run on the current stream

PACKAGE = resources.files("equilabel")
THREADS = 256
MASK = 2**64 - 1

Kernel: TypeAlias = Any
"""A kernel of CuPy."""


def source(file: str) -> str:
    """Return the text of a file; messages of the compiler name its lines."""
    return f'#line 1 "{file}.cu"\n' + (PACKAGE / f"{file}.cu").read_text(encoding="utf-8")


def options(folder: Path) -> tuple[str, ...]:
    """List what NVRTC is told; `folder` holds the headers."""
    return ("-std=c++17", f"-I{folder}")


def kernel(file: str, name: str) -> Kernel:
    """Return a kernel, compiled for the current device.

    `file` is a `.cu` file of the package without the ending, as "runs/cuda/tiles"; `name` a C++
    name expression, as ``"scan<u1>"``.
    """
    return _kernel(file, name, cupy.cuda.runtime.getDevice())


def handle(function: Kernel) -> int:
    """Return what the driver knows a kernel by; it lives as long as the cache of `kernel`."""
    raw: Any = getattr(function, "kernel", function)
    found: int = raw.ptr
    return found


def start_at(function: int, blocks: int, threads: int, stream: int, arguments: int) -> None:
    """Start a kernel by its handle and the address of the addresses of its arguments."""
    cupy.cuda.driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, 0)


def launch(function: Kernel, size: int, *arguments: object) -> None:
    """Start a kernel in blocks of `THREADS` threads, at least `size` in all; none for 0."""
    if size:
        function((-(-size // THREADS),), (THREADS,), arguments)


def start(function: Kernel, blocks: int, threads: int, *arguments: Any) -> None:
    """Start a kernel by addresses, on the current stream: a third of the time of a call.

    `arguments` are what the kernel is given: a number or an address, an array of the device, or a
    structure, () of NumPy. A number is written with 64 bits, of which the kernel takes the first.
    """
    count = len(arguments)
    memory = _words(2 * count)()
    base = ctypes.addressof(memory)
    words = list(range(base + 8 * count, base + 16 * count, 8))  # where numbers are
    for k, argument in enumerate(arguments):
        if isinstance(argument, int):
            words.append(argument & MASK)
            continue
        words.append(0)
        if isinstance(argument, np.ndarray):
            words[k] = argument.__array_interface__["data"][0]
        else:
            words[-1] = argument.data.ptr
    memory[:] = words
    start_at(handle(function), blocks, threads, cupy.cuda.get_current_stream().ptr, base)


class Call:
    """A launch whose arguments stay where they are, but for some numbers.

    `arguments` are numbers, structures, and None for the numbers that `start` passes.
    """

    def __init__(self, function: Any, threads: int, *arguments: Any) -> None:
        count = len(arguments)
        self._function, self._threads, self._kept = handle(function), threads, arguments
        self._words = (ctypes.c_uint64 * (2 * count))()  # addresses, then numbers: open ones first
        self._address = ctypes.addressof(self._words)
        order = sorted(range(count), key=lambda k: arguments[k] is not None)
        for at, k in enumerate(order, count):
            argument = arguments[k]
            if isinstance(argument, np.ndarray):
                self._words[k] = argument.__array_interface__["data"][0]
            else:
                self._words[k] = self._address + 8 * at
                self._words[at] = int(argument or 0) & MASK
        missing = sum(argument is None for argument in arguments)
        self._open, self._where = struct.Struct(f"{missing}Q"), 8 * count

    def start(self, blocks: int, stream: int, *numbers: int) -> None:
        """Start it with numbers in the places that were left open."""
        self._open.pack_into(self._words, self._where, *numbers)
        start_at(self._function, blocks, self._threads, stream, self._address)


@cache
def _words(count: int) -> Any:
    """Return the type of so many numbers of 64 bits, one after the other."""
    return ctypes.c_uint64 * count


@cache
def _kernel(file: str, name: str, device: int) -> Kernel:
    with resources.as_file(PACKAGE) as folder:
        module = cupy.RawModule(
            code=source(file), options=options(folder), name_expressions=(name,)
        )
        try:
            return module.get_function(name)
        except CompileException as error:
            message = (
                f"{file}.cu must compile for device {device}; got an error of NVRTC for {name}. "
                "Install a CuPy for the CUDA version of this machine, with `nvidia-cuda-runtime` "
                f"of the same version.\n{error}"
            )
            raise RuntimeError(message) from error
