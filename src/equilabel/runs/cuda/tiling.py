"""Cuts images into tiles for the method `runs` on the GPU, in the format of tiling.cuh."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import THREADS

AXES = 5
INNER = 4
MOST_EDGES = 121
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


@dataclass(frozen=True)
class Tiling:
    """How an image is cut into tiles."""

    plan: bytes  # a Plan of tiling.cuh
    edges: Array  # () of bytes: Edges of tiling.cuh, with room for `most`
    address: int  # of `edges`
    most: int
    columns: int  # pixels of a row
    tile: tuple[int, int, int]  # words of a segment, rows along the two axes before the last
    paired: bool  # corners touch, so that rows of tiles can be processed in pairs
    tiles: int
    segments: int  # of all rows
    seams: int  # places where two segments of a row meet
    groups: int  # segments with edges that leave their tile
    joiners: int  # threads of a block that unites tiles, as in tile_borders.cu
    seam_blocks: int  # such blocks, with a thread for each seam
    row_blocks: int  # such blocks, with a thread for each word of a group

    @property
    def words(self) -> int:
        """Words of a tile: threads that paint it."""
        words, tall, deep = self.tile
        return words * tall * deep


@lru_cache(64)
def arrange(shape: tuple[int, ...], connectivity: int, stacked: bool, many: bool) -> Tiling:
    """Cut an image into tiles; with `low`, tiles have half the rows where possible."""
    columns = shape[-1]
    padded = (1,) * (AXES + 1 - len(shape)) + shape[:-1]
    leading = len(shape) - 1 - stacked
    words, tall, deep = tile_of(columns, leading, many)
    width = 32 * words
    # A tile spans one or two axes before the last, those that edges lead along.
    tiles = [*padded[:3], -(-padded[3] // deep), -(-padded[4] // tall)]
    steps = edges_of(leading, connectivity)
    most, edges = edge_table(steps, padded)
    rows = prod(padded)
    segments = -(-columns // width)
    inner = sum(step[:3] == (0, 0, 0) for step, _ in steps)
    plan = np.zeros((), PLAN)
    plan["columns"] = columns
    plan["rows"] = rows
    plan["shape"] = padded
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
        bordering = prod(tiles) if steps and padded[4] > tall else 0
    elif inner == len(steps):
        plan["border"] = FACES
        faces = tiles[4] * (2 if inner > 2 else 1)
        bordering = prod(padded[:3]) * (tiles[3] * padded[4] + (padded[3] - tiles[3]) * faces)
    seams = rows * (segments - 1)
    groups = bordering * segments
    joiners = THREADS // 2 if deep > 1 else THREADS
    told = np.frombuffer(bytearray(edges.tobytes()), f"V{edges.nbytes}").reshape(())
    return Tiling(
        plan.tobytes(),
        told,
        told.ctypes.data,
        most,
        columns,
        (words, tall, deep),
        not many and inner == min(leading, 2) ** 2 > 0 and bool(edges["diagonal"][:inner].all()),
        prod(tiles) * segments,
        rows * segments,
        seams,
        groups,
        joiners,
        -(-seams // joiners),
        -(-groups * words // joiners),
    )


def edge_table(steps: Any, padded: tuple[int, ...]) -> tuple[int, Array]:
    """Return room for how many edges there is, and the edges of rows as kernels read them."""
    strides = [prod(padded[axis + 1 :]) for axis in range(AXES)]
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
    return most, edges


def tile_of(columns: int, leading: int, many: bool) -> tuple[int, int, int]:
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
