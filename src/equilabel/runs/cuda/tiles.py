"""Cuts images and lattices into tiles; prepares the launches that label those of one kind."""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import accumulate, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import THREADS, handle, kernel, start_at

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Foreground

AXES = 5
INNER = 4
MOST_EDGES = 121
MOST_STEPS = 64
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
LATTICE = np.dtype(
    [
        ("count", "i4"),
        ("along", "i4"),
        ("down", "i4"),
        ("step", "i1", (MOST_STEPS, AXES + 1)),
        ("periodic", "i1", AXES + 1),
    ],
    align=True,
)
NARROW, FLAT, DEEP = (4, 64, 1), (8, 32, 1), (4, 8, 8)  # tiles of lattices: words, and rows

Tile = tuple[int, int, int]
Steps = tuple[tuple[int, ...], ...]


class Tiling(NamedTuple):
    """How an image or a lattice is cut into tiles."""

    plan: bytes  # a Plan of tiling.cuh
    edges: Array  # () of bytes: Edges of tiling.cuh, or Lattice of bonds.cu
    most: int  # edges that there is room for
    columns: int  # pixels of a row
    tile: Tile  # words of a segment, rows along the two axes before the last
    many: bool  # values tell runs apart
    tiles: int
    segments: int  # of all rows
    seams: int  # places where two segments of a row meet
    groups: int  # segments with edges that leave their tile
    joiners: int  # threads of a block that unites tiles, as in tile_borders.cu
    join_blocks: int  # such blocks

    @property
    def words(self) -> int:
        """Words of a tile: threads that paint it."""
        return prod(self.tile)

    @property
    def kind(self) -> str:
        """Type of tiles in kernels."""
        return f"Tile<{str(self.many).lower()}, {', '.join(map(str, self.tile))}>"


# ---- Images


@lru_cache(64)
def arrange(shape: tuple[int, ...], connectivity: int, stacked: bool, many: bool) -> Tiling:
    """Cut an image into tiles."""
    leading = len(shape) - 1 - stacked
    words, tall, deep = tile = tile_of(shape[-1], leading, many)
    plan = _plan(shape, tile)
    padded, tiles = plan["shape"].tolist(), plan["tiles"].tolist()
    rows, segments = int(plan["rows"]), int(plan["segments"])
    steps = edges_of(leading, connectivity)
    most, edges = edge_table(steps, padded)
    inner = sum(step[:3] == (0, 0, 0) for step, _ in steps)
    plan["edges"], plan["inner"] = len(steps), inner
    plan["dz"][:inner] = edges["step"][:inner, 3]
    plan["dy"][:inner] = edges["step"][:inner, 4]
    plan["diagonal"][:inner] = edges["diagonal"][:inner]
    plan["back"][:inner] = edges["back"][:inner]
    bordering = rows
    plan["border"] = EVERY_ROW
    if leading < 2:  # only the first rows of tiles have edges that leave them
        plan["border"] = FIRST_ROWS
        bordering = prod(tiles) if steps and padded[4] > tall else 0
    elif inner == len(steps):
        plan["border"] = FACES
        faces = tiles[4] * (2 if inner > 2 else 1)
        bordering = prod(padded[:3]) * (tiles[3] * padded[4] + (padded[3] - tiles[3]) * faces)
    seams, groups = rows * (segments - 1), bordering * segments
    joiners = THREADS // 2 if deep > 1 else THREADS
    return Tiling(
        plan.tobytes(),
        np.frombuffer(bytearray(edges.tobytes()), f"V{edges.nbytes}").reshape(()),
        most,
        shape[-1],
        tile,
        many,
        prod(tiles) * segments,
        rows * segments,
        seams,
        groups,
        joiners,
        -(-seams // joiners) - (-groups * words // joiners),
    )


def edge_table(steps: Any, padded: list[int]) -> tuple[int, Array]:
    """Return room for how many edges there is, and the edges of rows as kernels read them."""
    strides = [prod(padded[axis + 1 :]) for axis in range(AXES)]
    most = INNER if len(steps) <= INNER else MOST_EDGES
    kinds = [("back", "i8", most), ("step", "i1", (most, AXES)), ("diagonal", "i1", most)]
    edges = np.zeros((), np.dtype(kinds, align=True))
    for k, (step, diagonal) in enumerate(steps):
        edges["step"][k] = step
        edges["diagonal"][k] = diagonal
        edges["back"][k] = -sum(a * b for a, b in zip(step, strides, strict=True))
    return most, edges


def tile_of(columns: int, leading: int, many: bool) -> Tile:
    """Return the words of a tile along the last axis, and its rows along the two axes before.

    Where values tell runs apart, there may be twice as many runs, so tiles have half the rows.
    """
    each = 1 if many else 2
    if leading >= 2:
        return (4, 8, 8 * each) if columns <= 128 else (8, 8, 4 * each)
    for words in (4, 8, 16):
        if columns <= 32 * words:
            return words, THREADS // words * each, 1
    return 32, 8 * each, 1


def edges_of(leading: int, connectivity: int) -> list[tuple[tuple[int, ...], bool]]:
    """List the steps from a row to earlier rows that it touches, and whether it does so diagonally.

    The nearest comes first, and those along the last two axes before others.
    """
    edges = []
    for step in product((-1, 0, 1), repeat=leading):
        hops = sum(map(abs, step))
        if step < (0,) * leading and hops <= connectivity:
            edges.append(((0,) * (AXES - leading) + step, hops < connectivity))
    edges.sort(key=lambda edge: (edge[0][:3] != (0, 0, 0), sum(map(abs, edge[0])), edge[0][::-1]))
    return edges


# ---- Lattices of bonds


def cut_lattice(shape: tuple[int, ...], steps: Steps, periodic: tuple[bool, ...]) -> Tiling:
    """Cut a lattice into tiles; kernels get its steps instead of edges.

    Bonds that cross long sides cost more than pixels that touch there, so tiles are nearly square.
    """
    tile = DEEP if len(shape) > 2 else NARROW if shape[-1] <= 128 else FLAT
    plan = _plan(shape, tile)
    groups = int(plan["rows"] * plan["segments"])
    return Tiling(
        plan.tobytes(),
        describe(steps, periodic),
        0,
        shape[-1],
        tile,
        True,
        int(plan["tiles"].prod(dtype=np.int64) * plan["segments"]),
        groups,
        0,
        groups,
        THREADS,
        -(-groups * 32 // THREADS),
    )


def describe(steps: Steps, periodic: tuple[bool, ...]) -> np.ndarray[Any, Any]:
    """Return the steps of a lattice as kernels read them, see `Lattice` in bonds.cu."""
    missing = AXES + 1 - len(periodic)
    lattice = np.zeros((), LATTICE)
    padded = [(0,) * missing + step for step in steps]
    along, down = (0,) * AXES + (1,), (0,) * (AXES - 1) + (1, 0)
    lattice["count"] = len(padded)
    lattice["along"] = padded.index(along) if along in padded else -1
    lattice["down"] = padded.index(down) if down in padded else -1
    lattice["step"][: len(padded)] = np.array(padded, np.int8).reshape(-1, AXES + 1)
    lattice["periodic"][missing:] = periodic
    return lattice


def _plan(shape: tuple[int, ...], tile: Tile) -> np.ndarray[Any, Any]:
    """Return the Plan of tiling.cuh, without edges.

    A tile spans one or two axes before the last, those that edges lead along.
    """
    words, tall, deep = tile
    padded = (1,) * (AXES + 1 - len(shape)) + shape[:-1]
    tiles = (*padded[:3], -(-padded[3] // deep), -(-padded[4] // tall))
    segments = -(-shape[-1] // (32 * words))
    plan = np.zeros((), PLAN)
    plan["columns"], plan["rows"] = shape[-1], prod(padded)
    plan["shape"], plan["tiles"] = padded, tiles
    plan["inverse"] = [(2**32 - 1) // count for count in (segments, tiles[4], tiles[3])]
    plan["segments"], plan["width"] = segments, 32 * words
    return plan


# ---- Launches, prepared once for images or lattices of one kind

NUMBER_THREADS = 1024
PACK, UNITE, NUMBER, PAINT = range(4)  # passes, as `Work.launches` counts them
COMPARES = ("all", "!=", ">", "<=", "<")  # as pixels.cuh counts them
SECTOR = 32  # bytes of memory that are moved at once
NEAR = 16  # most entries of a run table that is next to those of other segments, see tiling.cuh
JOB = 16  # where the job begins, after the addresses of a pass's arguments
ARGUMENTS = struct.Struct("2Q")
ADDRESSES = struct.Struct("10Q")  # of a Job, after its plan
REST = struct.Struct("4Q5i4x")  # of a Job, after its addresses
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)


class Work(NamedTuple):
    """The four launches for images of one shape, type, foreground and neighborhood."""

    tiling: Tiling
    edges: int  # address of those of `tiling`
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
        self,
        pixels: int,
        labels: int,
        tables: int,
        nodes: int | None = None,
        numbers: int = 0,
        memory: Array = None,
    ) -> tuple[int, Array]:
        """Write the arguments, which all passes share; `nodes` is at `labels` unless it is given.

        `numbers` is the address of those that are painted in place of labels, if it is not 0.
        Return the address of the two arguments, and the memory that holds them and, from `JOB` on,
        the job; it must live until the last pass is started. It is `memory` of an earlier call, if
        that is given.
        """
        begins = self.begins
        if memory is None:
            memory = np.empty(JOB + len(self.job), np.uint8)
        address = memory.ctypes.data
        ARGUMENTS.pack_into(memory, 0, address + JOB, self.edges)
        memory.data[JOB:] = self.job
        ADDRESSES.pack_into(
            memory,
            JOB + PLAN.itemsize,
            pixels,
            tables,
            tables + begins[1],
            tables + begins[2],
            labels if nodes is None else nodes,
            tables + begins[4],
            labels,
            tables + begins[3],
            tables + begins[5],
            numbers,
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
    tiling = arrange(shape, connectivity, stacked, foreground.values)
    node_bytes = 8 if prod(shape) > 2**31 else max(4, label_bytes)
    types, columns = f"u{node_bytes}, {tiling.kind}", tiling.columns
    pixel = pixel_type(dtype, foreground)
    kernels = (
        kernel("runs/cuda/tiles", f"find_tiles<{pixel}, {types}>"),
        kernel(
            "runs/cuda/tile_borders",
            f"join_tiles<u{dtype.itemsize}, {types}, Edges<{tiling.most}>>",
        ),
    )
    rest = (
        0 if foreground.level is None else level_bits(foreground.level, dtype),
        COMPARES.index(foreground.compare),
        columns % 16 == 0 and alignment[0] == 0,
        columns % 4 == 0 and alignment[1] == 0,
        columns % 4 == 0 and alignment[0] % min(16, 4 * dtype.itemsize) == 0,
        1,
    )
    return _assemble(tiling, prod(shape), kernels, node_bytes, label_bytes, rest)


@lru_cache(256)
def prepare_bonds(
    shape: tuple[int, ...],
    dtype: Any,
    steps: Steps,
    periodic: tuple[bool, ...],
    label_bytes: int,
    alignment: tuple[int, int],
    device: int,
) -> Work:
    """Prepare everything that does not depend on the addresses of a lattice and its labels."""
    tiling = cut_lattice(shape, steps, periodic)
    node_bytes = 8 if prod(shape) > 2**31 else label_bytes
    types, columns = f"u{dtype.itemsize}, u{node_bytes}, {tiling.kind}", tiling.columns
    kernels = (
        kernel("runs/cuda/bonds", f"find_bond_tiles<{types}>"),
        kernel("runs/cuda/bonds", f"join_bond_tiles<{types}>"),
    )
    aligned = columns % 16 == 0 and alignment[0] == 0
    rest = 0, 0, aligned, columns % 4 == 0 and alignment[1] == 0, 0, 0
    return _assemble(tiling, prod(shape), kernels, node_bytes, label_bytes, rest)


def _assemble(
    tiling: Tiling,
    size: int,
    kernels: tuple[Any, Any],
    node_bytes: int,
    label_bytes: int,
    rest: tuple[Any, ...],
) -> Work:
    """Return the launches, given the kernels that find and join tiles, and the end of a Job."""
    segments, words = tiling.segments, tiling.tile[0]
    blocks = -(-segments // (NUMBER_THREADS // 32 * min(32, 256 // words)))
    plane = segments * words * 4
    even = tiling.columns + tiling.columns % 2
    entries = 2 * (size // tiling.columns) * even if tiling.many else 2 * NEAR * segments
    sizes = plane, plane if tiling.many else 0, 4 * segments, 8 * (blocks + 1), entries, 8
    begins = tuple(accumulate((-(-size // SECTOR) * SECTOR for size in sizes), initial=0))
    functions = (
        *kernels,
        kernel("runs/cuda/labels", f"number_nodes<u{node_bytes}, {words}>"),
        kernel("runs/cuda/labels", f"paint<u{node_bytes}, u{label_bytes}, {tiling.kind}>"),
    )
    counts = (
        (tiling.tiles, THREADS),
        (tiling.join_blocks, tiling.joiners),
        (blocks, NUMBER_THREADS),
        (tiling.tiles, tiling.words),
    )
    launches = tuple((handle(each), *count) for each, count in zip(functions, counts, strict=True))
    ends = REST.pack(blocks, tiling.seams, tiling.groups, *rest)
    job = tiling.plan + bytes(ADDRESSES.size) + ends
    return Work(tiling, tiling.edges.ctypes.data, node_bytes, begins, job, launches)


def pixel_type(dtype: Any, foreground: Foreground) -> str:
    """Return the type of pixels in kernels: by size, or `Gray` if compared with a level."""
    name: str = dtype.str[1:]
    return f"Gray<{name}>" if foreground.compare in (">", "<=", "<") else f"u{name[1:]}"


def level_bits(value: Array, dtype: Any) -> int:
    """Return a value of this type as the unsigned integer of the same bits."""
    return int(np.array(value, dtype).view(f"u{dtype.itemsize}")[()])


# ---- Labels without a table of runs


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


def label_tiles(
    image: Array,
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
    out: cupy.ndarray = None,
) -> tuple[cupy.ndarray, Count] | None:
    """Label an image without a table of runs that others could use.

    `image` is not empty; `out` has as many pixels. Returns int32 labels, or `out`, and their
    number. Returns None for an unsupported image and if anything fails: the caller takes the passes
    one by one, which report errors.
    """
    device, dtype = cupy.cuda.runtime.getDevice(), image.dtype
    if (
        image.size >= 2**31
        or image.data.device_id != device
        or not image.flags.c_contiguous
        or (dtype.kind == "f" and foreground.values)
        or (out is not None and not can_receive(out, image))
    ):
        return None
    kind = image.shape, dtype, foreground, connectivity, stacked
    try:
        labels = cupy.empty(image.shape, np.int32) if out is None else out
        pixels, room = image.data.ptr, labels.data.ptr
        work = prepare(*kind, 4, (pixels % 16, room % 16), device)
        tables = cupy.cuda.alloc(work.begins[-1])
        arguments, _memory = work.tell(pixels, room, tables.ptr)
        stream = cupy.cuda.get_current_stream().ptr
        for number in range(len(work.launches)):
            work.start(number, stream, arguments)
    except FAILURES:
        return None
    return labels, Count(tables + work.begins[5])
