"""Passes of the method `runs` on the GPU: tiles to nodes, nodes to labels; nothing waits."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ._compile import THREADS, handle, kernel
from .tiling import Tiling, arrange

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array
    from equilabel.grid import Foreground, Grid

NUMBER_THREADS = 1024
COMPARES = ("all", "!=", ">", "<=", "<")  # as bits.cuh counts them
TAKES_ROOM = True  # `pack` needs the memory of the labels
JOB = struct.Struct("14Q4i")  # a Job after its plan


@dataclass
class RunTable:
    """The tables of one image, on the device; they live as long as this does.

    Attributes
    ----------
    tiling : Tiling
    kernels : tuple of int
        Handles of the passes, compiled for these types.
    job : () array of bytes
        What every pass is told, see tiling.cuh.
    start : callable
        Starts a kernel on the stream of the table, given its handle, blocks and threads.
    blocks : int
        Blocks of the third pass.
    count : () cupy array of int64
        Components, once they are numbered.
    many : bool
        Whether runs have to be told apart by their values.
    node : str
        Type of nodes and labels of runs, as kernels name it.
    memory : tuple
        What addresses in the job point to.
    resolved : bool
        Whether run tables hold labels, no longer nodes.
    """

    tiling: Tiling
    kernels: tuple[int, ...]
    job: Array
    start: Callable[..., None]
    blocks: int
    count: Array
    many: bool
    node: str
    memory: tuple[object, ...]
    resolved: bool = False

    whole = True  # values are whole numbers: floats do not come here


def label_at_once(image: Array, foreground: Foreground, connectivity: int, stacked: bool) -> None:
    """Label a small image in a single call: there is no such way on this device."""
    return None


def pack(grid: Grid, room: cupy.ndarray) -> RunTable:
    """Turn pixels into bits, and the runs of every tile into nodes.

    Parameters
    ----------
    grid : Grid
        Of C-contiguous pixels that share no memory with `room`, on the current device.
    room : (size,) array of int32 or int64
        Will receive the labels; holds nodes until then.
    """
    image, (compare, level, many) = grid.pixels, grid.foreground
    dtype = image.dtype
    tiling = arrange(image.shape, grid.connectivity, grid.stacked, many)
    bytes_each = 8 if room.size > 2**31 else room.itemsize
    nodes = room
    if bytes_each != room.itemsize:
        nodes = cupy.empty(room.size, np.uint64)
    words = tiling.tile[0]
    blocks, begins = _lay_out(tiling.segments, words, image.size if many else 0, bytes_each)
    memory = cupy.empty(begins[-1], np.uint8)
    count = cupy.empty((), np.int64)
    base, pixels, labels = memory.data.ptr, image.data.ptr, room.data.ptr
    kernels = _compiled(
        f"Gray<{dtype.str[1:]}>" if compare in (">", "<=", "<") else "",
        dtype.itemsize,
        bytes_each,
        room.itemsize,
        many,
        tiling.tile,
        tiling.most,
        cupy.cuda.runtime.getDevice(),
    )
    told = tiling.plan + JOB.pack(
        pixels,
        base,
        base + begins[1],
        base + begins[2],
        nodes.data.ptr,
        base + begins[4],
        labels,
        base + begins[3],
        count.data.ptr,
        blocks,
        tiling.seam_blocks,
        tiling.seams,
        tiling.groups,
        0 if level is None else _pixel(level, dtype),
        COMPARES.index(compare),
        tiling.columns % 16 == 0 and pixels % 16 == 0,
        tiling.columns % 4 == 0 and labels % 16 == 0,
        tiling.columns % 4 == 0 and pixels % min(16, 4 * dtype.itemsize) == 0,
    )
    job = np.frombuffer(bytearray(told), f"V{len(told)}").reshape(())
    arguments = np.array((job.ctypes.data, tiling.edges.ctypes.data), np.uintp)
    keep = (image, room, nodes, memory, arguments)
    stream, told_at = cupy.cuda.get_current_stream().ptr, arguments.ctypes.data
    start = partial(_launch, stream, told_at)
    table = RunTable(tiling, kernels, job, start, blocks, count, many, f"u{bytes_each}", keep)
    start(kernels[0], tiling.tiles)
    return table


def unite(table: RunTable) -> None:
    """Unite nodes where tiles meet."""
    tiling = table.tiling
    table.start(table.kernels[1], tiling.seam_blocks + tiling.row_blocks)


def number(table: RunTable) -> cupy.ndarray:
    """Give labels 1 to N, in raster order, to all nodes, and return N: to look at it is to wait."""
    table.start(table.kernels[2], table.blocks, NUMBER_THREADS)
    return table.count


def _resolve(table: RunTable) -> None:
    """Put labels in place of nodes in the run tables, unless measuring did so."""
    if not table.resolved:
        table.start(table.kernels[3], table.tiling.entry_blocks)
        table.resolved = True


def paint(table: RunTable, out: cupy.ndarray, blank: bool) -> None:
    """Write the label of every pixel.

    Parameters
    ----------
    out : (size,) array of int
        The `room` that `pack` was given.
    blank : bool
        Whether it holds zeros; all of it is written in any case.
    """
    _resolve(table)
    table.start(table.kernels[4], table.tiling.word_blocks)


def _launch(
    stream: int, arguments: int, function: int, blocks: int, threads: int = THREADS
) -> None:
    """Start a kernel, if it has any blocks: by addresses, a third of the time of a call."""
    if blocks:
        cupy.cuda.driver.launchKernel(
            function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, 0
        )


@lru_cache(64)
def _lay_out(
    segments: int, words: int, pixels: int, bytes_each: int
) -> tuple[int, tuple[int, ...]]:
    """Lay out the tables of an image in one piece of memory.

    Parameters
    ----------
    segments, words : int
        Segments of rows, and words of each.
    pixels : int
        Pixels of an image of many values; 0 if all foreground is one.
    bytes_each : int
        Of a node.

    Returns
    -------
    blocks : int
        CUDA blocks that number the nodes.
    begins : tuple of int
        Where foreground, starts of runs, first nodes, sums and labels begin, and the end.
    """
    blocks = -(-segments // (NUMBER_THREADS // 32 * min(32, 256 // words)))
    plane = segments * words * 4
    labels = bytes_each * (pixels or segments)
    sizes = plane, plane if pixels else 0, 4 * segments, 8 * (blocks + 1), labels
    return blocks, tuple(accumulate((-(-size // 16) * 16 for size in sizes), initial=0))


@lru_cache(64)
def _compiled(
    gray: str,
    pixel: int,
    node: int,
    label: int,
    many: bool,
    tile: tuple[int, int, int],
    most: int,
    device: int,
) -> tuple[int, ...]:
    """Return the handles of the passes for types of so many bytes, on the current device."""
    values = "true" if many else "false"
    shape = f"Tile<{values}, {', '.join(map(str, tile))}>"
    functions = (
        kernel("tiles", f"find_tiles<{gray or f'u{pixel}'}, u{node}, {shape}>"),
        kernel("tile_borders", f"join_tiles<u{pixel}, u{node}, {shape}, Edges<{most}>>"),
        kernel("numbering", f"number_nodes<u{node}, {tile[0]}>"),
        kernel("numbering", f"label_entries<u{node}, {tile[0]}, {values}>"),
        kernel("painting", f"paint<u{node}, u{label}, {tile[0]}, {values}>"),
    )
    return tuple(map(handle, functions))


@lru_cache(64)
def _pixel(value: Any, dtype: Any) -> int:
    """Return the unsigned integer of the same bits."""
    return int(np.array(value, dtype).view(f"u{dtype.itemsize}")[()])
