"""The pass that unites touching runs of one value, by bits alone.

Blocks of rows meet along *edges*, see `equilabel.neighborhood.block_edges`. What touches in a word
follows from four shifts and a few ands; only where something new begins a pair of runs is united.
"""

from typing import NamedTuple

import numpy as np

from .bits import LAST, NONE, ONE, popcount
from .caching import inlined, njit
from .run_contacts import unite_contacts
from .run_table import AXES, locate


class Rows(NamedTuple):
    """Indices of rows that are compared: one or two of a block, and of another."""

    v0: int
    v1: int
    u0: int
    u1: int


class Detour(NamedTuple):
    """Rows that may connect two others: see `link_unknown`."""

    way: int
    w0: int
    w1: int


@njit(nogil=True, cache=True)
def link(runs, edges, span):
    """Unite every run of some blocks with the runs of earlier blocks that it touches.

    Parameters
    ----------
    runs : Runs
        `parents` are updated.
    edges : (E, 10) array of int64
        See `equilabel.neighborhood.block_edges`.
    span : (int, int, int, int)
        The first of the blocks whose edges are followed and the one after the last; and the same
        of the blocks that edges lead to. Threads work on the inside of their own range first, and
        on the borders between ranges one by one.
    """
    first_block, last_block, low, high = span
    grid = runs.grid
    position = np.empty(AXES, np.int64)
    for number in range(edges.shape[0]):
        edge = edges[number]
        fresh = number == 0 and low == first_block
        block = first_block
        while block < last_block:
            locate(block, grid, position)
            end = min(position[4] + last_block - block, grid[4])
            line = line_beside(grid, position, edge)
            if line >= 0:
                link_line(runs, edge, position, block, line, end, (low, high), fresh)
            block += end - position[4]


@inlined
def line_beside(grid, position, edge):
    """Return the line of blocks that an edge leads to, or -1 outside the image."""
    line = np.int64(0)
    for axis in range(AXES - 1):
        there = position[axis] + edge[axis]
        if there < 0 or there >= grid[axis]:
            return np.int64(-1)
        line = line * grid[axis] + there
    return line


@inlined
def link_line(runs, edge, position, block, line, end, targets, fresh):
    """Unite the runs of the blocks of a line with those of another line.

    Parameters
    ----------
    edge : (10,) array of int64
    position : (5,) array of int64
        Coordinates of `block`, the first.
    line, end : int
        The other line of blocks, and where to stop along both.
    targets : (int, int)
        Range of the other blocks that count.
    fresh : bool
        Whether all runs of these blocks are their own roots.
    """
    low, high = targets
    tall, size, along_grid = runs.tall, runs.shape[4], runs.grid[4]
    empty = runs.bits.shape[0] - 1
    away = edge[3] * runs.deep
    aside = edge[4] * tall
    diagonal = edge[5] != 0
    z0, y0 = edge[6] // tall, edge[6] % tall
    z1, y1 = edge[7] // tall, edge[7] % tall
    z2, y2 = away + edge[8] // tall, aside + edge[8] % tall
    z3, y3 = away + edge[9] // tall, aside + edge[9] % tall
    way = 0
    if edge[3] == -1 and edge[0] == edge[1] == edge[2] == 0:
        way = 1 if y0 == y2 else 2
    side0 = y0 - 1 if way == 1 else y2
    side1 = y0 - 1 if way == 1 else y0
    here = line_of_rows(runs, position, edge, 0, z0)
    line1 = line_of_rows(runs, position, edge, 0, z1)
    line2 = line_of_rows(runs, position, edge, 1, z2)
    line3 = line_of_rows(runs, position, edge, 1, z3)
    back = line_of_rows(runs, position, edge, 0, z0 - 1)
    begin = position[4]
    for along in range(max(begin, -edge[4]), min(end, along_grid - edge[4])):
        other = line * along_grid + edge[4] + along
        if other < low or other >= high:
            continue
        y = along * tall
        rows = Rows(
            row_at(here, y + y0, size, empty),
            row_at(line1, y + y1, size, empty),
            row_at(line2, y + y2, size, empty),
            row_at(line3, y + y3, size, empty),
        )
        if fresh:
            link_first(runs, rows, diagonal, block + along - begin, other)
        else:
            w0 = row_at(here, y + side0, size, empty)
            w1 = row_at(back, y + side1, size, empty)
            detour = Detour(way, w0, w1)
            link_unknown(runs, rows, detour, diagonal, block + along - begin, other)


@inlined
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


@inlined
def row_at(line, y, size, empty):
    """Return a row of a line of rows, or the empty row outside."""
    if line < 0 or y < 0 or y >= size:
        return empty
    return line + y


@inlined
def link_first(runs, rows, diagonal, block, other):
    """Unite the runs of a block, all of them their own roots so far, with those of another.

    A word in which every run meets one run, in order, is a copy of parents.

    Parameters
    ----------
    rows : Rows
    diagonal : bool
        Whether corners touch.
    """
    bits, starts, parents = runs.bits, runs.starts, runs.parents
    v0, v1, u0, u1 = rows
    words = starts.shape[1]
    v_before = NONE
    u_before = NONE
    carry = NONE
    v_next = bits[v0, 0] | bits[v1, 0]
    u_next = bits[u0, 0] | bits[u1, 0]
    for word in range(words):
        v = v_next
        u = u_next
        v_next = NONE
        u_next = NONE
        if word + 1 < words:
            v_next = bits[v0, word + 1] | bits[v1, word + 1]
            u_next = bits[u0, word + 1] | bits[u1, word + 1]
        both = v & u
        events = both & ~((both << ONE) | carry)
        carry = both >> LAST
        left = NONE
        right = NONE
        if diagonal:
            corners = v & ~u
            left = corners & ((u << ONE) | u_before) & ~((v << ONE) | v_before)
            right = corners & ((u >> ONE) | (u_next << LAST)) & ~((v >> ONE) | (v_next << LAST))
            v_before = v >> LAST
            u_before = u >> LAST
        if events | left | right == NONE:
            continue
        here = starts[block, word]
        if events == here and events == starts[other, word] and left | right == NONE:
            run = runs.first[block, word]
            other_run = runs.first[other, word]
            for k in range(popcount(here)):
                parents[run + k] = parents[other_run + k]
        else:
            unite_contacts(runs, events, left, right, block, other, word)


@inlined
def link_unknown(runs, rows, detour, diagonal, block, other):
    """Unite runs of two blocks that touch, but for stretches that are connected another way.

    Let the rows (z, y) and (z - 1, x) be compared. If x = y, their runs are connected in columns
    where (z, y - 1) and (z - 1, y - 1) are foreground too: of a square, the fourth side need not
    be followed. If x = y +- 1, they are where (z, x) or (z - 1, y) is. Sides along y are always
    followed, and each rule leans on smaller y or on fewer steps: the argument is not circular.

    Parameters
    ----------
    rows : Rows
    detour : Detour
        Way 0: no other way is known. 1: where the rows `w0` and `w1` are set like those compared.
        2: where one of them is.
    diagonal : bool
        Whether corners touch.
    """
    bits = runs.bits
    v0, v1, u0, u1 = rows
    way, w0, w1 = detour
    words = runs.starts.shape[1]
    v_before = NONE
    u_before = NONE
    v_next = bits[v0, 0] | bits[v1, 0]
    u_next = bits[u0, 0] | bits[u1, 0]
    known_next = connected(way, bits[v0, 0], bits[u0, 0], bits[w0, 0], bits[w1, 0])
    for word in range(words):
        v = v_next
        u = u_next
        known = known_next
        v_next = NONE
        u_next = NONE
        if word + 1 < words:
            k = word + 1
            v_next = bits[v0, k] | bits[v1, k]
            u_next = bits[u0, k] | bits[u1, k]
            known_next = connected(way, bits[v0, k], bits[u0, k], bits[w0, k], bits[w1, k])
        both = v & u
        # A sum carries from a known column to the pixel after its stretch; without the last bit
        # it cannot overflow, and stretches that reach that bit are merely followed for nothing.
        body = both & ~(ONE << LAST)
        carried = (body + (body & known)) & ~both
        events = both & ~((both >> ONE) | ((v_next & u_next) << LAST)) & ~(carried >> ONE)
        left = NONE
        right = NONE
        if diagonal:
            v &= ~known
            u &= ~known
            corners = v & ~u
            left = corners & ((u << ONE) | u_before) & ~((v << ONE) | v_before)
            right = corners & ((u >> ONE) | ((u_next & ~known_next) << LAST))
            right &= ~((v >> ONE) | ((v_next & ~known_next) << LAST))
            v_before = v >> LAST
            u_before = u >> LAST
        if events | left | right != NONE:
            unite_contacts(runs, events, left, right, block, other, word)


@inlined
def connected(way, v, u, one, other):
    """Mark the columns of a word in which two rows are known to be connected."""
    if way == 1:
        return v & u & one & other
    if way == 2:
        return one | other
    return NONE
