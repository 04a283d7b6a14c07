"""The rows that are compared along an edge between blocks, and those that may connect them.

See `equilabel.neighborhood.block_edges`.
"""

from typing import NamedTuple

import numpy as np

from .caching import inlined_part
from .run_table import AXES


class Rows(NamedTuple):
    """Indices of rows that are compared: one or two of a block, and of another."""

    v0: int
    v1: int
    u0: int
    u1: int


class Lines(NamedTuple):
    """Lines of rows along the last leading axis, -1 outside, and how far down rows begin on them.

    `v0` to `u1` are those of `Rows`; `w0`, on the line `v0`, and `w1`, on the line `back`, those
    of `Detour`.
    """

    v0: int
    v1: int
    u0: int
    u1: int
    back: int
    v0_down: int
    v1_down: int
    u0_down: int
    u1_down: int
    way: int
    w0_down: int
    w1_down: int


class Detour(NamedTuple):
    """Rows that may connect two others: see `link_unknown`."""

    way: int
    w0: int
    w1: int


@inlined_part
def line_beside(grid, position, edge):
    """Return the line of blocks that an edge leads to, or -1 outside the image."""
    line = np.int64(0)
    for axis in range(AXES - 1):
        there = position[axis] + edge[axis]
        if there < 0 or there >= grid[axis]:
            return np.int64(-1)
        line = line * grid[axis] + there
    return line


@inlined_part
def lines_of(runs, edge, position):
    """Return the lines of rows that an edge compares, and those of their detours.

    Parameters
    ----------
    edge : (10,) array of int64
    position : (5,) array of int64
        Coordinates of the first block of the line of blocks.
    """
    tall = runs.tall
    away = edge[3] * runs.deep
    aside = edge[4] * tall
    z0, y0 = edge[6] // tall, edge[6] % tall
    z1, y1 = edge[7] // tall, edge[7] % tall
    z2, y2 = away + edge[8] // tall, aside + edge[8] % tall
    z3, y3 = away + edge[9] // tall, aside + edge[9] % tall
    way = 0
    if edge[3] == -1 and edge[0] == edge[1] == edge[2] == 0:
        way = 1 if y0 == y2 else 2
    return Lines(
        line_of_rows(runs, position, edge, 0, z0),
        line_of_rows(runs, position, edge, 0, z1),
        line_of_rows(runs, position, edge, 1, z2),
        line_of_rows(runs, position, edge, 1, z3),
        line_of_rows(runs, position, edge, 0, z0 - 1),
        y0,
        y1,
        y2,
        y3,
        way,
        y0 - 1 if way == 1 else y2,
        y0 - 1 if way == 1 else y0,
    )


@inlined_part
def rows_along(runs, lines, along):
    """Return the rows that an edge compares for a block of a line."""
    size, empty = runs.shape[4], runs.bits.shape[0] - 1
    y = along * runs.tall
    v = row_at(lines.v0, y + lines.v0_down, size, empty)
    u = row_at(lines.u0, y + lines.u0_down, size, empty)
    if runs.tall == 1:  # of single rows
        return Rows(v, v, u, u)
    return Rows(
        v,
        row_at(lines.v1, y + lines.v1_down, size, empty),
        u,
        row_at(lines.u1, y + lines.u1_down, size, empty),
    )


@inlined_part
def detour_along(runs, lines, along):
    """Return the rows that may connect them."""
    size, empty = runs.shape[4], runs.bits.shape[0] - 1
    y = along * runs.tall
    w0 = row_at(lines.v0, y + lines.w0_down, size, empty)
    w1 = row_at(lines.back, y + lines.w1_down, size, empty)
    return Detour(lines.way, w0, w1)


@inlined_part
def line_of_rows(runs, position, edge, steps, down):
    """Return the first row of a line of rows along the second axis from the end, or -1 outside.

    Parameters
    ----------
    position : (5,) array of int64
        Coordinates of a block on the line.
    steps : int
        How often to step along the first three axes of the edge, 0 or 1.
    down : int
        Rows to step along the fourth.
    """
    shape = runs.shape
    z = position[3] * runs.deep + down
    if z < 0 or z >= shape[3]:
        return np.int64(-1)
    line = (position[0] + steps * edge[0]) * shape[1] + position[1] + steps * edge[1]
    line = line * shape[2] + position[2] + steps * edge[2]
    return (line * shape[3] + z) * shape[4]


@inlined_part
def row_at(line, y, size, empty):
    """Return a row of a line of rows, or the empty row outside."""
    if line < 0 or y < 0 or y >= size:
        return empty
    return line + y
