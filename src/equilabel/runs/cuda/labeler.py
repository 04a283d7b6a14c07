"""Labeling in a single launch: what is prepared for images of one kind, and what a call does."""

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
    """What the images of one shape, type, foreground and neighborhood have in common.

    Attributes
    ----------
    function : int
        Handle of the kernel.
    blocks, threads, shared : int
        Of the grid, and of a block; bytes of shared memory that are asked for.
    together : bool
        Whether blocks have to run at the same time, in a cooperative launch.
    device : int
    alignment : int
        What is left of the addresses of pixels, divided by 16.
    job : bytes
        The first argument, whose addresses are 0.
    addresses : struct.Struct
        What these are written as.
    where : int
        Where they begin in the job.
    begins : tuple of int
        Where what each of them leads to begins in the memory for tables. The first is that of the
        image, and has no part in it.
    labels : int
        Which of them is that of the labels.
    found : int
        Where the number of components begins.
    room : int
        Bytes of that memory.
    more : array of bytes, or None
        The second argument.
    """

    function: int
    blocks: int
    threads: int
    shared: int
    together: bool
    device: int
    alignment: int
    job: bytes
    addresses: struct.Struct
    where: int
    begins: tuple[int, ...]
    labels: int
    found: int
    room: int
    more: Array | None = None


class Count:
    """Number of components, in memory of the device: to ask for it as an int is to wait.

    Parameters
    ----------
    memory : cupy.cuda.MemoryPointer
    begin : int
        Where the number begins there, in 64 bits.
    """

    __slots__ = ("_begin", "_memory")

    def __init__(self, memory: Any, begin: int = 0) -> None:
        self._memory, self._begin = memory, begin

    def __int__(self) -> int:
        return int(cupy.ndarray((), np.int64, self._memory + self._begin))


def can_receive(out: cupy.ndarray, image: cupy.ndarray) -> bool:
    """Return whether kernels can write the labels of an image to an array as it is.

    Parameters
    ----------
    out : cupy array
        Of the shape of the image.
    image : cupy array
        C-contiguous.
    """
    begin, pixels = out.data.ptr, image.data.ptr
    apart = begin + out.nbytes <= pixels or pixels + image.nbytes <= begin
    here = out.data.device_id == image.data.device_id
    return bool(out.dtype == np.int32 and out.flags.c_contiguous and here and apart)


class Labeler:
    """Label images of one kind in one thread: a call fills in where they are.

    Parameters
    ----------
    launch : Launch
    shape : tuple of int
        Of the images; their axes of length 1 have no part in `launch`.
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
        """Label an image of the right shape and type, or return None if it takes more care.

        Parameters
        ----------
        image : cupy array
        out : cupy array of int32, optional
            Receives the labels; of the same shape.

        Returns
        -------
        labels : cupy array of int32, or `out`
        count : Count
        """
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
