"""Passes of the method `runs` on the GPU: tiles to nodes, nodes to labels; nothing waits."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, product
from math import prod
from typing import Any

import cupy
import numpy as np

from ._compile import THREADS, handle, kernel

AXES = 5
INNER = 4
MOST_EDGES = 121
NUMBER_THREADS = 1024
SETTLED = 4  # rows that a thread puts labels into at once, see settle.cuh
COMPARES = ("", "!=", ">", "<=", "<")  # as bits.cuh counts them
EVERY_ROW, FIRST_ROWS, FACES = range(3)
PLAN = np.dtype(
    [
        ("columns", "i8"),
        ("rows", "i8"),
        ("back", "i8", INNER),
        ("shape", "i4", AXES),
        ("tiles", "i4", AXES),
        ("inverse", "u4", 3),
        ("segments", "i4"),
        ("width", "i4"),
        ("edges", "i4"),
        ("inner", "i4"),
        ("border", "i4"),
        ("dz", "i1", INNER),
        ("dy", "i1", INNER),
        ("diagonal", "i1", INNER),
    ],
    align=True,
)
JOB = struct.Struct("14Q4i")  # a Job after its plan


@dataclass(frozen=True)
class Layout:
    """How an image is cut into tiles.

    Attributes
    ----------
    plan : bytes
        What kernels know of it, see plan.cuh.
    edges : () array of bytes
        Likewise, with room for `most`.
    columns : int
        Pixels of a row.
    tile : (int, int, int)
        Words of a segment, and rows of a tile along the two axes before the last.
    tiles, segments, seams, groups : int
        Tiles; segments of all rows; places where two segments of a row meet; segments with edges
        that leave their tile.
    seam_blocks, row_blocks, word_blocks, entry_blocks : int
        Blocks with a thread for each seam, for each word of a group, for each word, and for each
        word of every fourth row.
    """

    plan: bytes
    edges: Any
    most: int
    columns: int
    tile: tuple[int, int, int]
    tiles: int
    segments: int
    seams: int
    groups: int
    seam_blocks: int
    row_blocks: int
    word_blocks: int
    entry_blocks: int


@dataclass
class Table:
    """The tables of one image, on the device; they live as long as this does.

    Attributes
    ----------
    layout : Layout
    kernels : tuple of int
        Handles of the passes, compiled for these types.
    job : () array of bytes
        What every pass is told, see plan.cuh.
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
    settled : bool
        Whether run tables hold labels, no longer nodes.
    """

    layout: Layout
    kernels: tuple[int, ...]
    job: Any
    start: Callable[..., None]
    blocks: int
    count: Any
    many: bool
    node: str
    memory: tuple[Any, ...]
    settled: bool = False


def label_runs(
    image: Any,
    background: Any,
    connectivity: int,
    stacked: bool,
    out: Any,
    *,
    compare: str = "",
    visit: Callable[[Any], bool] | None = None,
) -> Any:
    """Label an image that lies on the current device, on the current stream.

    Parameters
    ----------
    image : cupy array of bool or integers, 1 to 6 axes
        C-contiguous, not empty. No memory shared with `out`. With `compare` of floats, too.
    background : number or None
        A value of the image's type; None if no pixel is background.
    connectivity : int
        1 to the number of axes that are not stacked.
    stacked : bool
        Whether the first axis counts independent images.
    out : (image.size,) cupy array of int32 or int64
        Overwritten: 0, and 1 to N in raster order of the first pixels.
    compare : {"", "!=", ">", "<=", "<"}
        If given, foreground is what compares so with `background`, and all of it counts as one
        value, as in a bool image. NaN never compares.
    visit : callable, optional
        Is shown the table when its runs have their labels, and tells whether that was all: then
        no label is painted.

    Returns
    -------
    () cupy array of int64
        N, on the device: to look at it is to wait.
    """
    table = pack(image, background, connectivity, stacked, out, compare=compare)
    unite(table)
    number(table)
    if visit is None or not visit(table):
        paint(table)
    return table.count


def pack(
    image: Any, background: Any, connectivity: int, stacked: bool, out: Any, *, compare: str = ""
) -> Table:
    """Turn pixels into bits, and the runs of every tile into nodes."""
    dtype = image.dtype
    many = dtype.kind != "b" and not compare
    layout = arrange(image.shape, connectivity, stacked, many)
    bytes_each = 8 if out.size > 2**31 else out.itemsize
    nodes = out
    if bytes_each != out.itemsize:
        nodes = cupy.empty(out.size, np.uint64)
    words = layout.tile[0]
    blocks = -(-layout.segments // (NUMBER_THREADS // 32 * min(32, 256 // words)))
    plane = layout.segments * words * 4
    sizes = (
        plane,
        plane * many,
        4 * layout.segments,
        8 * (blocks + 1),
        bytes_each * (image.size if many else layout.segments),
    )
    begins = tuple(accumulate((-(-size // 16) * 16 for size in sizes), initial=0))
    memory = cupy.empty(begins[-1], np.uint8)
    count = cupy.empty((), np.int64)
    base, pixels, labels = memory.data.ptr, image.data.ptr, out.data.ptr
    kernels = compiled(
        f"Gray<{dtype.str[1:]}>" if compare in (">", "<=", "<") else "",
        dtype.itemsize,
        bytes_each,
        out.itemsize,
        many,
        layout.tile,
        layout.most,
        cupy.cuda.runtime.getDevice(),
    )
    told = layout.plan + JOB.pack(
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
        layout.seam_blocks,
        layout.seams,
        layout.groups,
        pixel(background or 0, dtype),
        COMPARES.index(compare or "!=") if background is not None else 0,
        layout.columns % 16 == 0 and pixels % 16 == 0,
        layout.columns % 4 == 0 and labels % 16 == 0,
        layout.columns % 4 == 0 and pixels % min(16, 4 * dtype.itemsize) == 0,
    )
    job = np.frombuffer(bytearray(told), f"V{len(told)}").reshape(())
    arguments = np.array((job.ctypes.data, layout.edges.ctypes.data), np.uintp)
    keep = (image, out, nodes, memory, arguments)
    stream, told_at = cupy.cuda.get_current_stream().ptr, arguments.ctypes.data
    start = partial(launch, stream, told_at)
    table = Table(layout, kernels, job, start, blocks, count, many, f"u{bytes_each}", keep)
    start(kernels[0], layout.tiles)
    return table


def unite(table: Table) -> None:
    """Unite nodes where tiles meet."""
    layout = table.layout
    table.start(table.kernels[1], layout.seam_blocks + layout.row_blocks)


def number(table: Table) -> None:
    """Give labels 1 to N, in raster order, to all nodes."""
    table.start(table.kernels[2], table.blocks, NUMBER_THREADS)


def settle(table: Table) -> None:
    """Put labels in place of nodes in the run tables, unless measuring did so."""
    if not table.settled:
        table.start(table.kernels[3], table.layout.entry_blocks)
        table.settled = True


def paint(table: Table) -> None:
    """Write the label of every pixel."""
    settle(table)
    table.start(table.kernels[4], table.layout.word_blocks)


def launch(stream: int, arguments: int, function: int, blocks: int, threads: int = THREADS) -> None:
    """Start a kernel, if it has any blocks: by addresses, a third of the time of a call."""
    if blocks:
        cupy.cuda.driver.launchKernel(
            function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, 0
        )


@lru_cache(64)
def compiled(
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
        kernel("runs_tile", f"find_tiles<{gray or f'u{pixel}'}, u{node}, {shape}>"),
        kernel("runs_join", f"join_tiles<u{pixel}, u{node}, {shape}, Edges<{most}>>"),
        kernel("runs_number", f"number_nodes<u{node}, {tile[0]}>"),
        kernel("runs_number", f"label_entries<u{node}, {tile[0]}, {values}>"),
        kernel("runs_paint", f"paint<u{node}, u{label}, {tile[0]}, {values}>"),
    )
    return tuple(map(handle, functions))


@lru_cache(64)
def pixel(value: Any, dtype: Any) -> int:
    """Return the unsigned integer of the same bits."""
    return int(np.array(value, dtype).view(f"u{dtype.itemsize}")[()])


@lru_cache(64)
def arrange(shape: tuple[int, ...], connectivity: int, stacked: bool, many: bool) -> Layout:
    """Cut an image into tiles."""
    columns = shape[-1]
    lines = (1,) * (AXES + 1 - len(shape)) + shape[:-1]
    leading = len(shape) - 1 - stacked
    words, tall, deep = tile_of(columns, leading, many)
    width = 32 * words
    # A tile spans one axis before the last, or two, where edges lead along them.
    tiles = [*lines[:3], -(-lines[3] // deep), -(-lines[4] // tall)]
    strides = [prod(lines[axis + 1 :]) for axis in range(AXES)]
    steps = edges_of(leading, connectivity)
    most = INNER if len(steps) <= INNER else MOST_EDGES
    edges = np.zeros(
        (),
        np.dtype(
            [("back", "i8", most), ("step", "i1", (most, AXES)), ("diagonal", "i1", most)],
            align=True,
        ),
    )
    for k, (step, diagonal) in enumerate(steps):
        edges["step"][k] = step
        edges["diagonal"][k] = diagonal
        edges["back"][k] = -sum(a * b for a, b in zip(step, strides, strict=True))
    rows = prod(lines)
    segments = -(-columns // width)
    inner = sum(step[:3] == (0, 0, 0) for step, _ in steps)
    plan = np.zeros((), PLAN)
    plan["columns"] = columns
    plan["rows"] = rows
    plan["shape"] = lines
    plan["tiles"] = tiles
    plan["inverse"] = [(2**32 - 1) // count for count in (segments, tiles[4], tiles[3])]
    plan["segments"] = segments
    plan["width"] = width
    plan["edges"] = len(steps)
    plan["inner"] = inner
    plan["dz"][:inner] = edges["step"][:inner, 3]
    plan["dy"][:inner] = edges["step"][:inner, 4]
    plan["diagonal"][:inner] = edges["diagonal"][:inner]
    plan["back"][:inner] = edges["back"][:inner]
    bordering = rows
    plan["border"] = EVERY_ROW
    if leading < 2:  # only the first rows of tiles have edges that leave them
        plan["border"] = FIRST_ROWS
        bordering = prod(tiles) if steps and lines[4] > tall else 0
    elif inner == len(steps):
        plan["border"] = FACES
        faces = tiles[4] * (2 if inner > 2 else 1)
        bordering = prod(lines[:3]) * (tiles[3] * lines[4] + (lines[3] - tiles[3]) * faces)
    seams = rows * (segments - 1)
    settled = -(-rows // SETTLED)
    groups = bordering * segments
    return Layout(
        plan.tobytes(),
        np.frombuffer(bytearray(edges.tobytes()), f"V{edges.nbytes}").reshape(()),
        most,
        columns,
        (words, tall, deep),
        prod(tiles) * segments,
        rows * segments,
        seams,
        groups,
        -(-seams // THREADS),
        -(-groups * words // THREADS),
        -(-rows * segments * words // THREADS),
        -(-settled * segments * words // THREADS),
    )


def tile_of(columns: int, leading: int, many: bool) -> tuple[int, int, int]:
    """Return the words of a tile along the last axis, and its rows along the two before.

    Where values tell runs apart there may be twice as many: such tiles have half the rows.
    """
    each = 1 if many else 2
    if leading >= 2:
        return (4, 8, 8 * each) if columns <= 128 else (8, 8, 4 * each)
    for words in (4, 8, 16):
        if columns <= 32 * words:
            return words, THREADS // words * each, 1
    return 32, 8 * each, 1


def edges_of(leading: int, connectivity: int) -> list[tuple[tuple[int, ...], bool]]:
    """List the steps from a row to earlier rows it touches, and whether it does so diagonally.

    The nearest comes first, and those along the last two axes before others.
    """
    edges = []
    for step in product((-1, 0, 1), repeat=leading):
        hops = sum(map(abs, step))
        if step < (0,) * leading and hops <= connectivity:
            edges.append(((0,) * (AXES - leading) + step, hops < connectivity))
    edges.sort(key=lambda edge: (edge[0][:3] != (0, 0, 0), sum(map(abs, edge[0])), edge[0][::-1]))
    return edges
