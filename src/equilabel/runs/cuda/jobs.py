"""Launches of a job: arguments in one buffer, prepared for images of a kind, and their results."""

from __future__ import annotations

import struct
from ctypes import addressof, c_char
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import (
    THREADS,
    handle,
    kernel,
    start_at,
)

from .tiling import Tiling, arrange

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Foreground

NUMBER_THREADS = 1024
PACK, UNITE, NUMBER, PAINT = range(4)  # passes, as `Work.launches` counts them
COMPARES = ("all", "!=", ">", "<=", "<")  # as pixels.cuh counts them
SECTOR = 32  # bytes of memory that are moved at once
NEAR = 16  # most entries of a run table that is next to those of other segments, see tiling.cuh
JOB = 16  # where the job begins, after the addresses of a pass's arguments
ARGUMENTS = struct.Struct("2Q")
ADDRESSES = struct.Struct("10Q")  # of a Job, after its plan
REST = struct.Struct("5Q5i4x")  # of a Job, after its addresses


class Work(NamedTuple):
    """The four launches for images of one shape, type, foreground and neighborhood."""

    tiling: Tiling
    blocks: int  # of the pass that numbers
    node_bytes: int
    # Offsets of foreground, starts of runs, counts, sums, run tables and the number of components
    # in the memory for tables, and its size.
    begins: tuple[int, ...]
    job: bytes  # a Job of tiling.cuh whose addresses are 0
    launches: tuple[tuple[int, int, int], ...]  # handle, blocks and threads of each pass

    def start(self, number: int, stream: int, arguments: int) -> None:
        """Start a pass by its number, if it has any blocks; `arguments` as `tell` returns them."""
        function, blocks, threads = self.launches[number]
        if blocks:
            start_at(function, blocks, threads, stream, arguments)

    def tell(
        self, pixels: int, labels: int, tables: int, nodes: int | None = None
    ) -> tuple[int, Array]:
        """Write the arguments, which all passes share; `nodes` is at `labels` unless it is given.

        Return the address of the two arguments, and the memory that holds them and, from `JOB` on,
        the job; it must live until the last pass is started.
        """
        begins = self.begins
        memory: Array = np.empty(JOB + len(self.job), np.uint8)
        address = memory.ctypes.data
        ARGUMENTS.pack_into(memory, 0, address + JOB, self.tiling.address)
        memory.data[JOB:] = self.job
        ADDRESSES.pack_into(
            memory,
            JOB + len(self.tiling.plan),
            pixels,
            tables,
            tables + begins[1],
            tables + begins[2],
            labels if nodes is None else nodes,
            tables + begins[4],
            labels,
            tables + begins[3],
            tables + begins[5],
            0,
        )
        return address, memory


@lru_cache(256)
def prepare(
    shape: tuple[int, ...],
    dtype: Any,
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
    label_bytes: int,
    alignment: tuple[int, int],
    device: int,
) -> Work:
    """Prepare everything that does not depend on the addresses of an image and its labels.

    `alignment` holds the addresses of pixels and labels modulo 16; `device` is the current device.
    """
    compare, _, many = foreground
    size = int(np.prod(shape, dtype=np.int64))
    node_bytes = 8 if size > 2**31 else max(4, label_bytes)
    tiling = arrange(shape, connectivity, stacked, many)
    blocks, begins = lay_out(tiling, size // tiling.columns, many=many)
    gray = f"Gray<{dtype.str[1:]}>" if compare in (">", "<=", "<") else ""
    types = gray, dtype.itemsize, node_bytes, label_bytes
    kernels = _compiled(*types, many, tiling.tile, tiling.paired, tiling.most, device)
    rest = pack_rest(tiling, foreground, dtype, blocks, alignment)
    counts = (
        (tiling.tiles, THREADS),
        (tiling.seam_blocks + tiling.row_blocks, tiling.joiners),
        (blocks, NUMBER_THREADS),
        (tiling.tiles, tiling.words),
    )
    launches = tuple((each, *count) for each, count in zip(kernels, counts, strict=True))
    job = tiling.plan + bytes(ADDRESSES.size) + rest
    return Work(tiling, blocks, node_bytes, begins, job, launches)


def lay_out(tiling: Tiling, rows: int, *, many: bool) -> tuple[int, tuple[int, ...]]:
    """Return the blocks of the pass that numbers, and `begins` of `Work`, for so many rows.

    `many` says whether values tell runs apart.
    """
    segments, words = tiling.segments, tiling.tile[0]
    blocks = -(-segments // (NUMBER_THREADS // 32 * min(32, 256 // words)))
    plane = segments * words * 4
    even = tiling.columns + tiling.columns % 2
    entries = 2 * rows * even if many else 2 * NEAR * segments
    sizes = plane, plane if many else 0, 4 * segments, 8 * (blocks + 1), entries, 8
    return blocks, tuple(accumulate((-(-size // SECTOR) * SECTOR for size in sizes), initial=0))


def pack_rest(
    tiling: Tiling, foreground: Foreground, dtype: Any, blocks: int, alignment: tuple[int, int]
) -> bytes:
    """Return what a Job holds after its addresses; `alignment` as in `prepare`."""
    columns = tiling.columns
    return REST.pack(
        blocks,
        tiling.seam_blocks,
        tiling.seams,
        tiling.groups,
        0 if foreground.level is None else level_bits(foreground.level, dtype),
        COMPARES.index(foreground.compare),
        columns % 16 == 0 and alignment[0] == 0,
        columns % 4 == 0 and alignment[1] == 0,
        columns % 4 == 0 and alignment[0] % min(16, 4 * dtype.itemsize) == 0,
        1,
    )


@lru_cache(64)
def _compiled(
    gray: str,
    pixel: int,
    node: int,
    label: int,
    many: bool,
    tile: tuple[int, int, int],
    paired: bool,
    most: int,
    device: int,
) -> tuple[int, ...]:
    """Return the handles of the passes for types of so many bytes, on the current device."""
    values = "true" if many else "false"
    shape = f"Tile<{values}, {', '.join(map(str, tile))}>"
    found = f"{gray or f'u{pixel}'}, u{node}, {shape}"
    functions = (
        kernel("runs/cuda/tiles", f"find_tile_pairs<{found}>")
        if paired
        else kernel("runs/cuda/tiles", f"find_tiles<{found}>"),
        kernel("runs/cuda/tile_borders", f"join_tiles<u{pixel}, u{node}, {shape}, Edges<{most}>>"),
        kernel("runs/cuda/numbering", f"number_nodes<u{node}, {tile[0]}>"),
        kernel("runs/cuda/painting", f"paint<u{node}, u{label}, {shape}>"),
    )
    return tuple(map(handle, functions))


def pixel_type(dtype: Any, foreground: Foreground) -> str:
    """Return the type of pixels in kernels: by size, or `Gray` if compared with a level."""
    name: str = dtype.str[1:]
    return f"Gray<{name}>" if foreground.compare in (">", "<=", "<") else f"u{name[1:]}"


def level_bits(value: Array, dtype: Any) -> int:
    """Return a value of this type as the unsigned integer of the same bits."""
    return int(np.array(value, dtype).view(f"u{dtype.itemsize}")[()])


ALIGNED = 16
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)


class Launch(NamedTuple):
    """A single launch for images of one shape, type, foreground and neighborhood."""

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
