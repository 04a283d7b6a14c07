"""Passes of the method `runs` on the GPU: tiles to nodes, nodes to labels; nothing waits."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product
from math import prod
from typing import Any

import cupy
import numpy as np

from ._compile import THREADS, kernel, launch

AXES = 5
MOST_EDGES = 121
COMPARES = ("", "!=", ">", "<=", "<")  # as bits.cuh counts them
GROUPS = THREADS // 4  # segments that a block of the third pass numbers
PLAN = np.dtype(
    [
        ("columns", "i8"),
        ("pitch", "i8"),
        ("rows", "i8"),
        ("back", "i8", MOST_EDGES),
        ("shape", "i4", AXES),
        ("tiles", "i4", AXES),
        ("segments", "i4"),
        ("width", "i4"),
        ("edges", "i4"),
        ("inner", "i4"),
        ("planar", "i4"),
        ("step", "i1", (MOST_EDGES, AXES)),
        ("diagonal", "i1", MOST_EDGES),
    ],
    align=True,
)


@dataclass(frozen=True)
class Layout:
    """How an image is cut into tiles.

    Attributes
    ----------
    plan : () array of PLAN
        What kernels know of it, see plan.cuh.
    room : int
        Nodes for which there has to be room.
    aligned : bool
        Whether four pixels at once never go beyond the end of a row.
    tile : (int, int, int)
        Words of a segment, and rows of a tile along the two axes before the last.
    tiles, segments, seams, groups : int
        Tiles; segments of all rows; places where two segments of a row meet; segments with edges
        that leave their tile.
    """

    plan: Any
    room: int
    aligned: bool
    tile: tuple[int, int, int]
    tiles: int
    segments: int
    seams: int
    groups: int


@dataclass
class Table:
    """The tables of one image, on the device.

    Attributes
    ----------
    layout : Layout
    image : (P,) array
        Unsigned integers.
    many : bool
        Whether runs have to be told apart by their values.
    memory : array of uint64
        What the next five point into; it lives as long as they do.
    bits, begins, tables, counts, states : int
        Addresses: foreground; where runs begin, and their nodes, in images of many values; runs
        and nodes of each segment; what the blocks of the third pass tell each other.
    blocks : int
        Blocks of the third pass.
    nodes : (>= P,) array of uint32 or uint64
        May be the labels to come.
    """

    layout: Layout
    image: Any
    many: bool
    memory: Any
    bits: int
    begins: int
    tables: int
    counts: int
    states: int
    blocks: int
    nodes: Any

    @property
    def tile(self) -> str:
        """C++ type of a tile."""
        many = "true" if self.many else "false"
        return f"Tile<{many}, {', '.join(map(str, self.layout.tile))}>"

    @property
    def types(self) -> str:
        """Template arguments of the first two passes."""
        return f"{name(self.image)}, {name(self.nodes)}, {self.tile}"


def label_runs(
    image: Any,
    background: Any,
    connectivity: int,
    stacked: bool,
    out: Any,
    *,
    compare: str = "",
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

    Returns
    -------
    () cupy array of int64
        N, on the device: to look at it is to wait.
    """
    table = pack(image, background, connectivity, stacked, out, compare=compare)
    unite(table)
    count = number(table)
    paint(table, out)
    return count


def pack(
    image: Any, background: Any, connectivity: int, stacked: bool, out: Any, *, compare: str = ""
) -> Table:
    """Turn pixels into bits, and the runs of every tile into nodes."""
    layout = arrange(image.shape, connectivity, stacked)
    plan = layout.plan
    many = image.dtype != bool and not compare
    pixels = image.reshape(-1)
    if compare in ("", "!=") and image.dtype.kind != "f":
        pixels = pixels.view(f"u{image.itemsize}")  # equality needs the bits alone
    room = layout.room
    bytes_each = 8 if room > 2**31 else out.itemsize
    if room == image.size and bytes_each == out.itemsize:
        nodes = out.view(f"u{bytes_each}")
    else:
        nodes = cupy.empty(room, f"u{bytes_each}")
    blocks = -(-layout.segments // GROUPS)
    plane = layout.segments * layout.tile[0] * 4
    sizes = (
        plane,
        plane * many,
        2 * image.size * many,
        4 * layout.segments,
        8 * (blocks + 1),
    )
    begins = list(accumulate((-(-size // 16) * 16 for size in sizes), initial=0))
    memory = cupy.empty(begins.pop(), np.uint8)
    bits, starts, tables, counts, states = (memory.data.ptr + begin for begin in begins)
    table = Table(layout, pixels, many, memory, bits, starts, tables, counts, states, blocks, nodes)
    value = np.array(background or 0, image.dtype).view(pixels.dtype)[()]
    launch(
        kernel("runs_tile", f"find_tiles<{table.types}>"),
        layout.tiles * THREADS,
        pixels,
        value,
        COMPARES.index(compare or "!=") if background is not None else 0,
        plan,
        table.bits,
        table.begins,
        table.counts,
        nodes,
        table.tables,
        table.states,
        blocks + 1,
    )
    return table


def unite(table: Table) -> None:
    """Unite nodes where tiles meet."""
    layout = table.layout
    seam_blocks = -(-layout.seams // THREADS)
    row_blocks = -(-layout.groups * layout.tile[0] // THREADS)
    launch(
        kernel("runs_join", f"join_tiles<{table.types}>"),
        (seam_blocks + row_blocks) * THREADS,
        table.image,
        layout.plan,
        table.bits,
        table.begins,
        table.counts,
        table.nodes,
        table.tables,
        seam_blocks,
        layout.seams,
        layout.groups,
    )


def number(table: Table) -> Any:
    """Turn nodes into labels 1 to N in raster order, and return N."""
    layout = table.layout
    count = cupy.empty((), np.int64)
    launch(
        kernel("runs_number", f"rank_roots<{name(table.nodes)}>"),
        table.blocks * THREADS,
        layout.plan,
        table.counts,
        table.nodes,
        table.states,
        table.blocks,
        count,
    )
    launch(
        kernel("runs_number", f"spread_labels<{name(table.nodes)}>"),
        table.blocks * THREADS,
        layout.plan,
        table.counts,
        table.nodes,
    )
    return count


def paint(table: Table, out: Any) -> None:
    """Write the label of every pixel."""
    layout = table.layout
    labels = out.view(f"u{out.itemsize}")
    types = f"{name(table.nodes)}, {name(labels)}, {table.tile}"
    launch(
        kernel("runs_paint", f"paint<{types}>"),
        layout.tiles * THREADS,
        layout.plan,
        table.bits,
        table.begins,
        table.nodes,
        table.tables,
        layout.aligned and out.data.ptr % 16 == 0,
        labels,
    )


def name(array: Any) -> str:
    """Name a type of pixels as grid.cuh does."""
    return str(array.dtype.str[1:])


@lru_cache(64)
def arrange(shape: tuple[int, ...], connectivity: int, stacked: bool) -> Layout:
    """Cut an image into tiles."""
    columns = shape[-1]
    lines = (1,) * (AXES + 1 - len(shape)) + shape[:-1]
    leading = len(shape) - 1 - stacked
    words, tall, deep = tile_of(columns, leading)
    width = 32 * words
    while width > 32 and columns > width and columns % width == 1:
        width -= 32  # a segment of one pixel has no room for its tables
    # A tile spans one axis before the last, or two, where edges lead along them.
    plan = np.zeros((), PLAN)
    tiles = [*lines[:3], -(-lines[3] // deep), -(-lines[4] // tall)]
    edges = edges_of(leading, connectivity)
    strides = [prod(lines[axis + 1 :]) for axis in range(AXES)]
    plan["columns"] = columns
    plan["pitch"] = columns + (columns % width == 1)
    plan["rows"] = prod(lines)
    plan["shape"] = lines
    plan["tiles"] = tiles
    plan["segments"] = segments = -(-columns // width)
    plan["width"] = width
    plan["edges"] = len(edges)
    plan["inner"] = sum(step[:3] == (0, 0, 0) for step, _ in edges)
    plan["planar"] = planar = leading < 2
    for k, (step, diagonal) in enumerate(edges):
        plan["step"][k] = step
        plan["diagonal"][k] = diagonal
        plan["back"][k] = -sum(a * b for a, b in zip(step, strides, strict=True))
    rows = prod(lines)
    bordering = (prod(tiles) if planar else rows) if edges else 0
    if planar and lines[4] <= tall:
        bordering = 0
    return Layout(
        plan,
        rows * int(plan["pitch"]),
        columns % 4 == 0,
        (words, tall, deep),
        prod(tiles) * segments,
        rows * segments,
        rows * (segments - 1),
        bordering * segments,
    )


def tile_of(columns: int, leading: int) -> tuple[int, int, int]:
    """Return the words of a tile along the last axis, and its rows along the two before."""
    if leading >= 2:
        return (4, 8, 8) if columns <= 128 else (8, 8, 4)
    for words in (4, 8, 16):
        if columns <= 32 * words:
            return words, THREADS // words, 1
    return 32, 8, 1


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
