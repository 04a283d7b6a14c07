"""Prepares the passes of `runs` for lattices of bonds of one kind, once."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from equilabel.devices.cuda.kernels import THREADS, handle, kernel

from .jobs import ADDRESSES, NUMBER_THREADS, REST, Work, lay_out
from .tiling import AXES, PLAN, Tiling

MOST_STEPS = 64
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
NARROW, FLAT, DEEP = (4, 64, 1), (8, 32, 1), (4, 8, 8)  # tiles: words, and rows along two axes

Steps = tuple[tuple[int, ...], ...]


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
    """Prepare everything that does not depend on the addresses of a lattice and its labels.

    `alignment` holds the addresses of sites and labels modulo 16; `device` is the current device.
    """
    size = prod(shape)
    node_bytes = 8 if size > 2**31 else label_bytes
    tiling = cut_lattice(shape, steps, periodic)
    words, columns = tiling.tile[0], tiling.columns
    blocks, begins = lay_out(tiling, size // tiling.columns, many=True)
    aligned = columns % 16 == 0 and alignment[0] == 0
    quads = columns % 4 == 0 and alignment[1] == 0
    rest = REST.pack(blocks, 0, 0, 0, 0, 0, aligned, quads, 0, 0)
    site, node = f"u{dtype.itemsize}", f"u{node_bytes}"
    tile = f"Tile<true, {', '.join(map(str, tiling.tile))}>"
    kernels = (
        kernel("runs/cuda/bonds", f"find_bond_tiles<{site}, {node}, {tile}>"),
        kernel("runs/cuda/bonds", f"join_bond_tiles<{site}, {node}, {tile}>"),
        kernel("runs/cuda/numbering", f"number_nodes<{node}, {words}>"),
        kernel("runs/cuda/painting", f"paint<{node}, u{label_bytes}, {tile}>"),
    )
    counts = (
        (tiling.tiles, THREADS),
        (tiling.row_blocks, THREADS),
        (blocks, NUMBER_THREADS),
        (tiling.tiles, tiling.words),
    )
    launches = tuple((handle(each), *count) for each, count in zip(kernels, counts, strict=True))
    job = tiling.plan + bytes(ADDRESSES.size) + rest
    return Work(tiling, blocks, node_bytes, begins, job, launches)


def cut_lattice(shape: tuple[int, ...], steps: Steps, periodic: tuple[bool, ...]) -> Tiling:
    """Cut a lattice into tiles; kernels get its steps instead of edges."""
    columns, leading = shape[-1], len(shape) - 1
    padded = (1,) * (AXES - leading) + shape[:-1]
    words, tall, deep = tile = tile_of(columns, leading)
    width = 32 * words
    tiles = (*padded[:3], -(-padded[3] // deep), -(-padded[4] // tall))
    rows, segments = prod(padded), -(-columns // width)
    plan = np.zeros((), PLAN)
    plan["columns"], plan["rows"] = columns, rows
    plan["shape"], plan["tiles"] = padded, tiles
    plan["inverse"] = [(2**32 - 1) // count for count in (segments, tiles[4], tiles[3])]
    plan["segments"], plan["width"] = segments, width
    told = describe(steps, periodic)
    groups = rows * segments
    return Tiling(
        plan=plan.tobytes(),
        edges=told,
        address=told.ctypes.data,
        most=0,
        columns=columns,
        tile=tile,
        paired=False,
        tiles=prod(tiles) * segments,
        segments=groups,
        seams=0,
        groups=groups,
        joiners=THREADS,
        seam_blocks=0,
        row_blocks=-(-groups * 32 // THREADS),
    )


def tile_of(columns: int, leading: int) -> tuple[int, int, int]:
    """Return the words of a tile along the last axis, and its rows along the two axes before.

    Bonds that cross long sides cost more than pixels that touch there, so tiles are nearly square.
    """
    if leading >= 2:
        return DEEP
    return NARROW if columns <= 128 else FLAT


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
