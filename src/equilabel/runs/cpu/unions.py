"""Unions of runs that touch, in images of one value and of several."""

from typing import NamedTuple

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, larger, popcount, smaller
from equilabel.devices.cpu.union_find import unite
from equilabel.devices.jit import BORROWING, inlined, njit

from .packing import agrees_within
from .run_table import AXES, advance, locate, new_position, row_of

# ---- Runs of two rows that touch in a word of 64 columns, united pair by pair
# `mine` and `theirs` describe a word of either row: the bits where runs begin, and the number of
# the first of these runs.


@inlined
def unite_straight(parents, events, mine, theirs):
    """Unite the runs of two rows in every column of `events`; see `unite_contacts`."""
    starts, run = mine
    other_starts, other_run = theirs
    while events != NONE:
        bit = events & (~events + ONE)
        upto = bit ^ (bit - ONE)
        unite(
            parents,
            run + popcount(starts & upto) - 1,
            other_run + popcount(other_starts & upto) - 1,
        )
        events ^= bit


@inlined
def first_contacts(contacts, begins):
    """Keep the first contact between two bits of `begins`: the others are of the same two runs.

    Setting the last bit of each stretch makes sure that subtracting the first bits does not borrow
    from the next stretch; the difference clears the lowest contact of each stretch.
    """
    ends = (begins >> ONE) | (ONE << LAST)
    return contacts & ~((contacts | ends) - (begins | ONE))


@inlined
def point_firsts(parents, events, mine, theirs):
    """Point runs that begin in a word, their own roots so far, at the first that they touch.

    `find` is not needed for roots. Return the other events.
    """
    here, run = mine
    there, other_run = theirs
    first = NONE
    if here != NONE:
        first = first_contacts(events, here) & ~((here & (~here + ONE)) - ONE)
    events ^= first
    while first != NONE:
        upto = first ^ (first - ONE)
        one = run + np.uint64(popcount(here & upto)) - ONE
        parents[one] = parents[other_run + np.uint64(popcount(there & upto)) - ONE]
        first &= first - ONE
    return events


@inlined
def unite_contacts(runs, straight, left, right, block, other, word):
    """Unite the runs of two blocks that touch in a word.

    `straight`, `left` and `right` have a bit for each pixel of `block` that touches the pixel of
    `other` in the same column, in the one before, and in the one after.
    """
    parents = runs.parents
    starts, other_starts = runs.starts[block, word], runs.starts[other, word]
    mine, run = (starts, np.int64(runs.first[block, word])), np.int64(runs.first[other, word])
    if runs.tall > 1:  # runs of several rows may touch many times
        straight = first_contacts(straight, starts | other_starts)
    unite_straight(parents, straight, mine, (other_starts, run))
    if left != NONE:
        before = other_starts << ONE
        if runs.tall > 1:
            left = first_contacts(left, starts | before)
        unite_straight(parents, left, mine, (before, run))
    if right != NONE:
        following = smaller(word + 1, runs.starts.shape[1] - 1)
        after = (other_starts >> ONE) | (runs.starts[other, following] << LAST)
        if runs.tall > 1:
            right = first_contacts(right, starts | after | (ONE << LAST))
        unite_straight(parents, right, mine, (after, run + popcount(other_starts & ONE)))


# ---- The rows that are compared along an edge between blocks, and rows that may connect them
# See `equilabel.domains.grid.block_edges`.


class Rows(NamedTuple):
    """Rows that are compared: one or two of a block (v), and of another (u)."""

    v0: int
    v1: int
    u0: int
    u1: int


class Lines(NamedTuple):
    """Lines of rows along the last leading axis, -1 outside, and where on them the rows begin.

    `v0` to `u1` are those of `Rows`; `w0` of a `Detour` is on line `v0`, and `w1` on line `back`.
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


@inlined
def index_beside(shape, position, edge, axes):
    """Return the flat index, along some first axes, that an edge leads to; -1 outside."""
    index = np.int64(0)
    for axis in range(axes):
        there = position[axis] + edge[axis]
        if there < 0 or there >= shape[axis]:
            return np.int64(-1)
        index = index * shape[axis] + there
    return index


@inlined
def lines_of(runs, edge, position):
    """Return the lines of rows that an edge compares, and those of their detours.

    `edge` is (10,); `position` is (5,): coordinates of the first block of the line of blocks.
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


@inlined
def rows_along(runs, lines, along):
    """Return the rows that an edge compares for block `along` of a line, and their detour."""
    size, empty = runs.shape[4], runs.bits.shape[0] - 1
    y = along * runs.tall
    v0 = row_at(lines.v0, y + lines.v0_down, size, empty)
    u0 = row_at(lines.u0, y + lines.u0_down, size, empty)
    v1, u1 = v0, u0  # of blocks of single rows
    if runs.tall > 1:
        v1 = row_at(lines.v1, y + lines.v1_down, size, empty)
        u1 = row_at(lines.u1, y + lines.u1_down, size, empty)
    w0 = row_at(lines.v0, y + lines.w0_down, size, empty)
    w1 = row_at(lines.back, y + lines.w1_down, size, empty)
    return Rows(v0, v1, u0, u1), Detour(lines.way, w0, w1)


@inlined
def line_of_rows(runs, position, edge, steps, down):
    """Return the first row of a line of rows along the last leading axis, or -1 outside.

    `position` is (5,): coordinates of a block on the line; `steps`, 0 or 1, is how often to step
    along the first three axes of the edge, and `down` the number of rows along the fourth.
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
    """Return row `y` of a line of rows, or the empty row outside."""
    if line < 0 or y < 0 or y >= size:
        return empty
    return line + y


# ---- The pass that unites touching runs in images of several values


@njit(nogil=True, cache=True)
def link_values(pixels, columns, runs, edges, span):
    """Unite every run with the runs of equal value that it touches in earlier rows.

    As `link`, but blocks are single rows, and values are compared.
    """
    shape = runs.shape
    first_row, last_row, low, high = span
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    for row in range(first_row, last_row):
        for edge in range(edges.shape[0]):
            other = index_beside(shape, position, edges[edge], AXES)
            if other < low or other >= high:
                continue
            link_row(pixels, columns, runs, row, other, edges[edge, AXES] != 0)
        advance(shape, position)


@inlined
def link_row(pixels, columns, runs, row, other, diagonal):
    """Unite the runs of a row with the runs of equal value that they touch in another row.

    `diagonal` says whether corners touch.
    """
    bits, starts = runs.bits, runs.starts
    words = bits.shape[1]
    carry = NONE
    for word in range(words):
        foreground = bits[row, word]
        if foreground == NONE:
            carry = NONE
            continue
        start = row * columns + 64 * word
        there = other * columns + 64 * word
        width = min(64, columns - 64 * word)
        here = starts[row, word]
        same = foreground & agrees_within(pixels, start, there, width)
        events = same & (here | ~((same << ONE) | carry))
        carry = same >> LAST
        left = NONE
        right = NONE
        if diagonal:
            alone = foreground & ~same
            left = alone & here & agrees_within(pixels, start, there - 1, width)
            if word == 0:
                left &= ~ONE
            right = alone & ~((foreground & ~here) >> ONE)
            right &= agrees_within(pixels, start, there + 1, width)
            if word + 1 == words:
                right &= ~(ONE << np.uint64(width - 1))
        unite_contacts(runs, events, left, right, row, other, word)


# ---- The pass that unites touching runs of one value, from bits alone
# Blocks of rows meet along *edges*, see `equilabel.domains.grid.block_edges`. Contacts in a
# word follow from a few shifts and ands; a pair of runs is united only where a contact begins.


@njit(nogil=True, cache=True, **BORROWING)
def link_rows_above(runs, span):
    """Do as `link_blocks_above` where blocks are single rows."""
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

    Two runs touch in exactly one column where the later of the two begins, over a pixel of the
    other: each contact is one bit, and a word in which no run begins has none.
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
        if events & (events - ONE) == NONE:  # the usual case needs no loop
            upto = events ^ (events - ONE)
            one = run + np.uint64(popcount(here & upto)) - ONE
            unite(parents, one, other_run + np.uint64(popcount(there & upto)) - ONE)
            continue
        if events == here and here == there:  # a copy
            for k in range(NONE, np.uint64(popcount(here))):
                parents[run + k] = parents[other_run + k]
            continue
        events = point_firsts(parents, events, (here, run), (there, other_run))
        mine, theirs = runs.first[row, word], runs.first[other, word]
        unite_straight(parents, events, (here, mine), (there, theirs))


@njit(nogil=True, cache=True, **BORROWING)
def link_blocks_above(runs, span):
    """Unite the runs of some blocks, their own roots so far, with the block before in their line.

    That is the first edge of images that have one; `span` is as of `link`.
    """
    block, last_block, low, high = span
    grid, tall = runs.grid, runs.tall
    position = new_position()
    while block < last_block:
        locate(block, grid, position)
        along = position[4]
        end = smaller(along + last_block - block, grid[4])
        position[4] = 0
        line0 = row_of(runs, position, 0, 0)
        line1 = line0
        if runs.deep > 1 and position[3] * 2 + 1 < runs.shape[3]:
            line1 = row_of(runs, position, 1, 0)
        for y in range(along * tall, end * tall, tall):
            if y > 0 and low < block <= high:
                rows = Rows(line0 + y, line1 + y, line0 + y - 1, line1 + y - 1)
                link_block_above(runs, rows, block)
            block += 1


@inlined
def link_block_above(runs, rows, block):
    """Unite the runs of a block of several rows, all of them their own roots so far, likewise.

    A word in which every run meets one run, in order, is a copy of parents. Corners touch.
    """
    other = block - 1
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
            parents[run] = parents[other_run]  # usually the only one, which needs no loop
            for k in range(np.uint64(1), np.uint64(popcount(here))):
                parents[run + k] = parents[other_run + k]
            continue
        events = first_contacts(events, here | there)
        events = point_firsts(parents, events, (here, run), (there, other_run))
        if events | left | right != NONE:
            unite_contacts(runs, events, left, right, block, other, word)


@njit(nogil=True, cache=True, **BORROWING)
def link(runs, edges, first_edge, span):
    """Unite every run of some blocks with the runs of earlier blocks that it touches.

    `edges` is (E, 10), from `domains.grid.block_edges`, followed from `first_edge` on. `span` is
    (first block, block after the last, low, high): edges lead to blocks `low` to before `high`.
    Threads first unite runs within their own ranges; the borders between ranges follow one by one.
    """
    first_block, last_block, low, high = span
    grid = runs.grid
    position = new_position()
    for number in range(first_edge, edges.shape[0]):
        edge = edges[number]
        block = first_block
        while block < last_block:
            locate(block, grid, position)
            end = smaller(position[4] + last_block - block, grid[4])
            line = index_beside(grid, position, edge, AXES - 1)
            if line >= 0:
                lines = lines_of(runs, edge, position)
                begin = position[4]
                for along in range(larger(begin, -edge[4]), smaller(end, grid[4] - edge[4])):
                    other = line * grid[4] + edge[4] + along
                    if low <= other < high:
                        rows, detour = rows_along(runs, lines, along)
                        here = block + along - begin
                        link_unknown(runs, rows, detour, edge[5] != 0, here, other)
            block += end - position[4]


@inlined
def link_unknown(runs, rows, detour, diagonal, block, other):
    """Unite runs of two blocks that touch, except where they are known to be connected another way.

    Let the rows (z, y) and (z - 1, x) be compared. If x = y, their runs are connected in columns
    where (z, y - 1) and (z - 1, y - 1) are foreground too: the fourth side of a square is
    redundant. If x = y +- 1, they are connected where (z, x) or (z - 1, y) is foreground. Sides
    along y are always united, and each rule relies on smaller y or on fewer steps, so the argument
    is not circular. `detour.way` 0: no other way is known; 1: connected where both `w0` and `w1`
    are set; 2: where one of them is. `diagonal` says whether corners touch.
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
        # The sum carries from a known column to the pixel after its stretch. Without the last bit
        # it cannot overflow; stretches that reach that bit are united in any case.
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
    """Return the columns of a word in which two rows are known to be connected."""
    if way == 1:
        return v & u & one & other
    if way == 2:
        return one | other
    return NONE
