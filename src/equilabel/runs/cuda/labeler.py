"""Labels images of one kind in a single launch."""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from .jobs import ARGUMENTS, JOB

if TYPE_CHECKING:
    import struct

    from equilabel.array_types import Array

ALIGNED = 16
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)


class Launch(NamedTuple):
    """What images of one shape, type, foreground and neighborhood have in common."""

    function: int  # handle of the kernel
    blocks: int
    threads: int  # of a block
    shared: int  # bytes of dynamic shared memory
    together: bool  # blocks must run at the same time: a cooperative launch
    device: int
    alignment: int  # address of the pixels modulo 16
    job: bytes  # the first argument, whose addresses are 0
    addresses: struct.Struct  # format of these addresses
    where: int  # their offset in the job
    begins: tuple[int, ...]  # offset of each table in its memory; the first is that of the image
    labels: int  # which of the addresses is that of the labels
    found: int  # offset of the number of components
    room: int  # bytes of the memory for tables
    more: Array | None = None  # the second argument


class Count:
    """Number of components in device memory, an int64 at `begin`; converting it to int waits."""

    __slots__ = ("_begin", "_memory")

    def __init__(self, memory: Any, begin: int = 0) -> None:
        self._memory, self._begin = memory, begin

    def __int__(self) -> int:
        return int(cupy.ndarray((), np.int64, self._memory + self._begin))


def can_receive(out: cupy.ndarray, image: cupy.ndarray) -> bool:
    """Return whether kernels can write the labels of a C-contiguous image directly to `out`."""
    begin, pixels = out.data.ptr, image.data.ptr
    apart = begin + out.nbytes <= pixels or pixels + image.nbytes <= begin
    here = out.data.device_id == image.data.device_id
    return bool(out.dtype == np.int32 and out.flags.c_contiguous and here and apart)


class Labeler:
    """Labels images of one kind in one thread: it owns an argument buffer that each call fills in.

    `shape` is that of the images; axes of length 1 are left out in `launch`.
    """

    __slots__ = ("_address", "_launch", "_memory", "_shape", "_where")

    def __init__(self, launch: Launch, shape: tuple[int, ...]) -> None:
        self._launch, self._shape = launch, shape
        self._memory = bytearray(JOB + len(launch.job))
        self._address = addressof((c_char * len(self._memory)).from_buffer(self._memory))
        more = 0 if launch.more is None else launch.more.ctypes.data
        ARGUMENTS.pack_into(self._memory, 0, self._address + JOB, more)
        self._memory[JOB:] = launch.job
        self._where = JOB + launch.where

    def __call__(
        self, image: cupy.ndarray, out: cupy.ndarray = None
    ) -> tuple[cupy.ndarray, Count] | None:
        """Return labels (int32, or `out`) and their number, or None if an image is unsupported."""
        launch = self._launch
        data = image.data
        pixels = data.ptr
        if (
            pixels % ALIGNED != launch.alignment
            or data.device_id != launch.device
            or not image.flags.c_contiguous
            or cupy.cuda.runtime.getDevice() != launch.device
            or (out is not None and not can_receive(out, image))
        ):
            return None
        try:
            labels = cupy.ndarray(self._shape, np.int32) if out is None else out
            written = labels.data.ptr
            if written % ALIGNED:
                return None
            tables = cupy.cuda.alloc(launch.room)
            base = tables.ptr
            told = [base + begin for begin in launch.begins]
            told[0], told[launch.labels] = pixels, written
            launch.addresses.pack_into(self._memory, self._where, *told)
            stream = cupy.cuda.get_current_stream().ptr
            size = launch.blocks, 1, 1, launch.threads, 1, 1, launch.shared, stream
            if launch.together:
                cupy.cuda.driver.launchCooperativeKernel(launch.function, *size, self._address)
            else:
                cupy.cuda.driver.launchKernel(launch.function, *size, self._address, 0)
        except FAILURES:
            return None
        return labels, Count(tables, launch.found)
