"""The pass that unites touching runs of one value, by bits alone.

Blocks of rows meet along *edges*, see `equilabel.neighborhood.block_edges`. What touches in a word
follows from four shifts and a few ands; only where something new begins a pair of runs is united.
"""

import numpy as np

from .bits import LAST, NONE, ONE, popcount
from .caching import BORROWING, inlined, njit
from .positions import new_position
from .run_contacts import first_contacts, unite_contacts, unite_straight
from .run_edges import detour_along, line_beside, lines_of, rows_along
from .run_table import AXES, locate
from .smaller import larger, smaller
from .union_find import unite


@njit(nogil=True, cache=True, **BORROWING)
def link_first_edge(runs, edges, span):
    """Unite the runs of some blocks, all of them their own roots, along the first of all edges.

    Images of one or two axes in one thread need no more; `link` is compiled only for others. So its
    loop, but for the edges and the detours, is here once more: a change of one belongs in both.

    Parameters
    ----------
    runs, edges, span
        As for `link`.
    """
    first_block, last_block, low, high = span
    grid, edge = runs.grid, edges[0]
    position = new_position()
    block = first_block
    while block < last_block:
        locate(block, grid, position)
        end = smaller(position[4] + last_block - block, grid[4])
        line = line_beside(grid, position, edge)
        if line >= 0:
            lines = lines_of(runs, edge, position)
            begin = position[4]
            for along in range(larger(begin, -edge[4]), smaller(end, grid[4] - edge[4])):
                other = line * grid[4] + edge[4] + along
                if low <= other < high:
                    rows = rows_along(runs, lines, along)
                    link_first(runs, rows, edge[5] != 0, block + along - begin, other)
        block += end - position[4]


@njit(nogil=True, cache=True, **BORROWING)
def link_rows_above(runs, span):
    """Do as `link_first_edge` for blocks of single rows, whose first edge is the row before.

    Parameters
    ----------
    runs, span
        As for `link`.
    """
    row, last_row, low, high = span
    tall = runs.grid[4]
    y = row % tall
    while row < last_row:
        if y > 0 and low < row <= high:
            link_row_above(runs, row)
        y = y + 1 if y + 1 < tall else 0
        row += 1


@inlined
def link_row_above(runs, row):
    """Unite the runs of a row, all of them their own roots so far, with those of the row before.

    Two runs that touch have one column in which the later of the two begins, over a pixel of the
    other: so each contact is one bit, and a word in which none begins has none.
    """
    bits, starts, parents = runs.bits, runs.starts, runs.parents
    other = row - 1
    for word in range(starts.shape[1]):
        here = starts[row, word]
        there = starts[other, word]
        if here | there == NONE:
            continue
        events = (here & bits[other, word]) | (there & bits[row, word])
        if events == NONE:
            continue
        run = np.uint64(runs.first[row, word])  # unsigned: no index counts from the end
        other_run = np.uint64(runs.first[other, word])
        if events & (events - ONE) == NONE:  # as mostly: no loop to begin
            upto = events ^ (events - ONE)
            one = run + np.uint64(popcount(here & upto)) - ONE
            unite(parents, one, other_run + np.uint64(popcount(there & upto)) - ONE)
            continue
        if events == here and here == there:  # a copy
            for k in range(NONE, np.uint64(popcount(here))):
                parents[run + k] = parents[other_run + k]
            continue
        first = NONE
        if here != NONE:
            first = first_contacts(events, here) & ~((here & (~here + ONE)) - ONE)
        events ^= first
        while first != NONE:  # of runs that begin here: their own roots, no need to look
            upto = first ^ (first - ONE)
            one = run + np.uint64(popcount(here & upto)) - ONE
            parents[one] = parents[other_run + np.uint64(popcount(there & upto)) - ONE]
            first &= first - ONE
        mine, theirs = runs.first[row, word], runs.first[other, word]
        unite_straight(parents, events, (here, mine), (there, theirs))


@njit(nogil=True, cache=True)
def link(runs, edges, first_edge, span):
    """Unite every run of some blocks with the runs of earlier blocks that it touches.

    Parameters
    ----------
    runs : Runs
        `parents` are updated.
    edges : (E, 10) array of int64
        See `equilabel.neighborhood.block_edges`.
    first_edge : int
        The first of the edges that are followed.
    span : (int, int, int, int)
        The first of the blocks whose edges are followed and the one after the last; and the same
        of the blocks that edges lead to. Threads work on the inside of their own range first, and
        on the borders between ranges one by one.
    """
    first_block, last_block, low, high = span
    grid = runs.grid
    position = np.empty(AXES, np.int64)
    for number in range(first_edge, edges.shape[0]):
        edge = edges[number]
        block = first_block
        while block < last_block:
            locate(block, grid, position)
            end = smaller(position[4] + last_block - block, grid[4])
            line = line_beside(grid, position, edge)
            if line >= 0:
                lines = lines_of(runs, edge, position)
                begin = position[4]
                for along in range(larger(begin, -edge[4]), smaller(end, grid[4] - edge[4])):
                    other = line * grid[4] + edge[4] + along
                    if low <= other < high:
                        rows = rows_along(runs, lines, along)
                        detour = detour_along(runs, lines, along)
                        here = block + along - begin
                        link_unknown(runs, rows, detour, edge[5] != 0, here, other)
            block += end - position[4]


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
        there = starts[other, word]
        run = np.uint64(runs.first[block, word])  # unsigned: no index counts from the end
        other_run = np.uint64(runs.first[other, word])
        if events == here and events == there and left | right == NONE:
            parents[run] = parents[other_run]  # mostly the only one: no loop to begin
            for k in range(np.uint64(1), np.uint64(popcount(here))):
                parents[run + k] = parents[other_run + k]
            continue
        if runs.tall > 1:
            events = first_contacts(events, here | there)
        # The first contact of a run that begins in this word: it is its own root, no need to look.
        first = NONE
        if here != NONE:
            first = first_contacts(events, here) & ~((here & (~here + ONE)) - ONE)
        events ^= first
        while first != NONE:
            bit = first & (~first + ONE)
            upto = bit ^ (bit - ONE)
            one = run + np.uint64(popcount(here & upto)) - ONE
            parents[one] = parents[other_run + np.uint64(popcount(there & upto)) - ONE]
            first ^= bit
        if events | left | right != NONE:
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
