"""The pass that unites touching runs of one value, by bits alone.

Blocks of rows meet along *edges*, see `equilabel.neighborhood.block_edges`. What touches in a word
follows from four shifts and a few ands; only where something new begins a pair of runs is united.
"""

import numpy as np

from .bits import LAST, NONE, ONE, popcount
from .caching import njit
from .packing import AXES, locate
from .union_find import unite_events


@njit(nogil=True, cache=True)
def link(
    bits, starts, first, shape, grid, deep, tall, edges, first_block, last_block, low, high, parents
):
    """Unite every run of some blocks with the runs of earlier blocks that it touches.

    Parameters
    ----------
    bits : (rows * words,) array of uint64
        Foreground, row by row.
    edges : (E, 10) array of int64
        See `equilabel.neighborhood.block_edges`.
    first_block, last_block : int
        Blocks whose edges are followed.
    low, high : int
        Only edges to blocks from `low` to before `high` are followed: threads work on the
        inside of their own range first, and on the borders between ranges one by one.
    parents : (runs + 1,) array of int
        Updated.
    """
    words = starts.shape[1]
    empty = bits.size - words
    position = np.empty(AXES, np.int64)
    for edge in range(edges.shape[0]):
        fresh = edge == 0 and low == first_block
        away = edges[edge, 3] * deep
        aside = edges[edge, 4] * tall
        mine0, mine1, other0, other1 = edges[edge, 6:10]
        z0, y0 = mine0 // tall, mine0 % tall
        z1, y1 = mine1 // tall, mine1 % tall
        z2, y2 = away + other0 // tall, aside + other0 % tall
        z3, y3 = away + other1 // tall, aside + other1 % tall
        # Rows by which the two may be connected another way, see `link_unknown`.
        way = 0
        if edges[edge, 3] == -1 and edges[edge, 0] == edges[edge, 1] == edges[edge, 2] == 0:
            way = 1 if y0 == y2 else 2
        side0 = y0 - 1 if way == 1 else y2
        side1 = y0 - 1 if way == 1 else y0
        block = first_block
        while block < last_block:
            locate(block, grid, position)
            begin = position[4]
            end = min(begin + last_block - block, grid[4])
            other = 0
            for axis in range(AXES - 1):
                there = position[axis] + edges[edge, axis]
                if there < 0 or there >= grid[axis]:
                    other = -1
                    break
                other = other * grid[axis] + there
            if other >= 0:
                other = other * grid[4] + edges[edge, 4]
                here = line_of(position, shape, deep, edges[edge], 0, z0)
                line1 = line_of(position, shape, deep, edges[edge], 0, z1)
                line2 = line_of(position, shape, deep, edges[edge], 1, z2)
                line3 = line_of(position, shape, deep, edges[edge], 1, z3)
                back = line_of(position, shape, deep, edges[edge], 0, z0 - 1)
                for along in range(max(begin, -edges[edge, 4]), end):
                    if along + edges[edge, 4] >= grid[4]:
                        break
                    if other + along < low or other + along >= high:
                        continue
                    y = along * tall
                    v0 = word_of(here, y + y0, shape[4], words, empty)
                    v1 = word_of(line1, y + y1, shape[4], words, empty)
                    u0 = word_of(line2, y + y2, shape[4], words, empty)
                    u1 = word_of(line3, y + y3, shape[4], words, empty)
                    one = block + along - begin
                    two = other + along
                    if fresh:
                        link_first(
                            bits, v0, v1, u0, u1, edges[edge, 5], starts, first, one, two, parents
                        )
                    else:
                        w0 = word_of(here, y + side0, shape[4], words, empty)
                        w1 = word_of(back, y + side1, shape[4], words, empty)
                        link_unknown(
                            bits,
                            v0,
                            v1,
                            u0,
                            u1,
                            way,
                            w0,
                            w1,
                            edges[edge, 5],
                            starts,
                            first,
                            one,
                            two,
                            parents,
                        )
            block += end - begin


@njit(nogil=True, cache=True)
def line_of(position, shape, deep, edge, steps, down):
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
    z = position[3] * deep + down
    if z < 0 or z >= shape[3]:
        return -1
    line = (position[0] + steps * edge[0]) * shape[1] + position[1] + steps * edge[1]
    line = line * shape[2] + position[2] + steps * edge[2]
    return (line * shape[3] + z) * shape[4]


@njit(nogil=True, cache=True, forceinline=True)
def word_of(line, y, size, words, empty):
    """Return where a row of a line begins among the words, or the empty row outside."""
    if line < 0 or y < 0 or y >= size:
        return empty
    return (line + y) * words


@njit(nogil=True, cache=True, forceinline=True)
def link_first(bits, v0, v1, u0, u1, diagonal, starts, first, block, other, parents):
    """Unite the runs of a block, all of them their own roots so far, with those of another.

    A word in which every run meets one run, in order, is a copy of parents.

    Parameters
    ----------
    bits : (rows * words,) array of uint64
        Foreground.
    v0, v1, u0, u1 : int
        Where the rows that are compared begin: one or two of the block, and of the other.
    diagonal : bool
        Whether corners touch.
    """
    words = starts.shape[1]
    v_before = NONE
    u_before = NONE
    carry = NONE
    v_next = bits[v0] | bits[v1]
    u_next = bits[u0] | bits[u1]
    for word in range(words):
        v = v_next
        u = u_next
        v_next = NONE
        u_next = NONE
        if word + 1 < words:
            v_next = bits[v0 + word + 1] | bits[v1 + word + 1]
            u_next = bits[u0 + word + 1] | bits[u1 + word + 1]
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
        above = starts[other, word]
        if events == here and events == above and left | right == NONE:
            run = first[block, word]
            other_run = first[other, word]
            for k in range(popcount(here)):
                parents[run + k] = parents[other_run + k]
        else:
            unite_events(events, left, right, starts, first, block, other, word, parents)


@njit(nogil=True, cache=True, forceinline=True)
def link_unknown(bits, v0, v1, u0, u1, way, w0, w1, diagonal, starts, first, block, other, parents):
    """Unite runs of two blocks that touch, but for stretches that are connected another way.

    Let the rows (z, y) and (z - 1, x) be compared. If x = y, their runs are connected in columns
    where (z, y - 1) and (z - 1, y - 1) are foreground too: of a square, the fourth side need not
    be followed. If x = y +- 1, they are where (z, x) or (z - 1, y) is. Sides along y are always
    followed, and each rule leans on smaller y or on fewer steps: the argument is not circular.

    Parameters
    ----------
    way : int
        0: no other way is known. 1: where the rows that begin at `w0` and `w1` are set like those
        compared. 2: where one of them is.
    bits, v0, v1, u0, u1, diagonal
        As for `link_first`.
    """
    words = starts.shape[1]
    v_before = NONE
    u_before = NONE
    v_next = bits[v0] | bits[v1]
    u_next = bits[u0] | bits[u1]
    known_next = connected(way, bits[v0], bits[u0], bits[w0], bits[w1])
    for word in range(words):
        v = v_next
        u = u_next
        known = known_next
        v_next = NONE
        u_next = NONE
        if word + 1 < words:
            after = word + 1
            v_next = bits[v0 + after] | bits[v1 + after]
            u_next = bits[u0 + after] | bits[u1 + after]
            known_next = connected(
                way, bits[v0 + after], bits[u0 + after], bits[w0 + after], bits[w1 + after]
            )
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
            unite_events(events, left, right, starts, first, block, other, word, parents)


@njit(nogil=True, cache=True, forceinline=True)
def connected(way, v, u, one, other):
    """Mark the columns of a word in which two rows are known to be connected."""
    if way == 1:
        return v & u & one & other
    if way == 2:
        return one | other
    return NONE
