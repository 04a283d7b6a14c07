"""Passes that unite touching runs, and number the components in raster order.

Runs are numbered 1, 2, ... block by block; run 0 stands for "none". ``first[block, word]`` is the
number of the first run that begins in a word, so the run that covers a bit is found by counting
the starts up to it. `parents` is a forest with ``parents[run] <= run``; uniting takes the smaller
root (label reduction, Komura 2016), and finding halves paths.
"""

import numpy as np
from numba import njit

from .bits import LAST, NONE, ONE, agrees_within, popcount
from .packing import AXES, advance, locate, row_beside


@njit(nogil=True, cache=True, forceinline=True)
def find(parents, run):
    """Return the root of a run and halve the path to it."""
    parent = parents[run]
    while parent != run:
        above = parents[parent]
        parents[run] = above
        run = above
        parent = parents[run]
    return run


@njit(nogil=True, cache=True, forceinline=True)
def unite(parents, one, other):
    """Give two runs one root, the smaller of theirs."""
    mine = parents[one]
    theirs = parents[other]
    if mine == theirs:
        return
    if mine == one and theirs < one:
        parents[one] = theirs
        return
    one = find(parents, one)
    other = find(parents, other)
    if one < other:
        parents[other] = one
    elif other < one:
        parents[one] = other


@njit(nogil=True, cache=True, forceinline=True)
def unite_straight(parents, events, starts, run, other_starts, other_run):
    """Unite the runs above each other at every bit of `events`."""
    while events != NONE:
        bit = events & (~events + ONE)
        upto = bit ^ (bit - ONE)
        unite(
            parents,
            run + popcount(starts & upto) - 1,
            other_run + popcount(other_starts & upto) - 1,
        )
        events ^= bit


@njit(nogil=True, cache=True, forceinline=True)
def unite_left(parents, events, starts, run, other_starts, other_run):
    """Unite the run at every bit of `events` with that of the other row one pixel before."""
    while events != NONE:
        bit = events & (~events + ONE)
        below = bit - ONE
        unite(
            parents,
            run + popcount(starts & (bit | below)) - 1,
            other_run + popcount(other_starts & below) - 1,
        )
        events ^= bit


@njit(nogil=True, cache=True, forceinline=True)
def unite_right(parents, events, starts, run, other_starts, other_run, next_starts, next_run):
    """Unite the run at every bit of `events` with that of the other row one pixel after."""
    while events != NONE:
        bit = events & (~events + ONE)
        upto = bit ^ (bit - ONE)
        if bit >> LAST:
            other = next_run + popcount(next_starts & ONE) - 1
        else:
            after = (bit << ONE) | upto
            other = other_run + popcount(other_starts & after) - 1
        unite(parents, run + popcount(starts & upto) - 1, other)
        events ^= bit


@njit(nogil=True, cache=True)
def index(starts, counts, first_block, last_block, first, parents):
    """Number the runs that begin in each word, and make each run its own root.

    Parameters
    ----------
    counts : (B + 1,) array of int64
        Number of the first run of each block.
    first : (B, words) array of int
        Overwritten in the range of blocks.
    parents : (runs + 1,) array of int
        Overwritten for the runs of these blocks.
    """
    for block in range(first_block, last_block):
        run = counts[block]
        for word in range(starts.shape[1]):
            first[block, word] = run
            run += popcount(starts[block, word])
    for run in range(counts[first_block], counts[last_block]):
        parents[run] = run


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
        # A sum carries from a known column to the pixel after its stretch.
        carried = (both + (both & known)) & ~both
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


@njit(nogil=True, cache=True, forceinline=True)
def unite_events(events, left, right, starts, first, block, other, word, parents):
    """Unite runs of two blocks that touch in a word: straight, and to the left and right."""
    here = starts[block, word]
    above = starts[other, word]
    run = first[block, word]
    other_run = first[other, word]
    unite_straight(parents, events, here, run, above, other_run)
    if left != NONE:
        unite_left(parents, left, here, run, above, other_run)
    if right != NONE:
        after = min(word + 1, starts.shape[1] - 1)
        unite_right(
            parents, right, here, run, above, other_run, starts[other, after], first[other, after]
        )


@njit(nogil=True, cache=True)
def link_values(
    pixels, columns, bits, starts, first, shape, edges, first_row, last_row, low, high, parents
):
    """Unite every run with the runs of equal value that it touches in earlier rows.

    As `link`, for images of many values: blocks are single rows, and values are compared.
    """
    words = bits.shape[1]
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    for row in range(first_row, last_row):
        for edge in range(edges.shape[0]):
            other = 0
            for axis in range(AXES):
                there = position[axis] + edges[edge, axis]
                if there < 0 or there >= shape[axis]:
                    other = -1
                    break
                other = other * shape[axis] + there
            if other < low or other >= high:
                continue
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
                if edges[edge, AXES]:
                    alone = foreground & ~same
                    left = alone & here & agrees_within(pixels, start, there - 1, width)
                    if word == 0:
                        left &= ~ONE
                    right = alone & ~((foreground & ~here) >> ONE)
                    right &= agrees_within(pixels, start, there + 1, width)
                    if word + 1 == words:
                        right &= ~(ONE << np.uint64(width - 1))
                unite_events(events, left, right, starts, first, row, other, word, parents)
        advance(shape, position)


@njit(nogil=True, cache=True)
def number(counts, parents, ends):
    """Replace each run's parent by the number of its component, in order of first runs.

    Parameters
    ----------
    counts : (slabs + 1,) array of int64
        Number of the first run of each slab.
    parents : (runs + 1,) array of int
        Overwritten: 1 to N, and 0 for run 0.
    ends : (slabs + 1,) array of int64
        ``ends[slab + 1]`` is set to the components that begin before the end of a slab.

    Returns
    -------
    int
        N.
    """
    components = 0
    ends[0] = 0
    parents[0] = 0
    for slab in range(counts.size - 1):
        for run in range(counts[slab], counts[slab + 1]):
            parent = parents[run]
            label = parents[parent]
            components += parent == run
            parents[run] = components if parent == run else label
        ends[slab + 1] = components
    return components


@njit(nogil=True, cache=True)
def reorder(
    bits, starts, first, labels, shape, grid, deep, tall, first_slab, last_slab, ends, order
):
    """Number the components that begin in each slab by their first pixel instead of first run.

    Where blocks have several rows, runs come block by block but pixels row by row. A slab is
    the blocks that share their rows' raster range: one block, or one line of them.

    Parameters
    ----------
    labels : (runs + 1,) array of int
        What `number` made of the parents.
    ends : (slabs + 1,) array of int64
        From `number`.
    order : (N + 1,) array of int
        Zeros; ``order[label]`` is set to the label in raster order.
    """
    line = grid[4] if deep > 1 else 1
    position = np.empty(AXES, np.int64)
    for slab in range(first_slab, last_slab):
        before = ends[slab]
        given = before
        wanted = ends[slab + 1]
        if wanted == before:
            continue
        for z in range(deep):
            locate(slab * line, grid, position)
            for block in range(slab * line, slab * line + line):
                for y in range(tall):
                    if given == wanted:
                        break
                    row = row_beside(position, shape, deep, tall, 0, 0, 0, z, y)
                    carry = NONE
                    for word in range(bits.shape[1]):
                        pixels = bits[row, word]
                        begins = pixels & ~((pixels << ONE) | carry)
                        carry = pixels >> LAST
                        here = starts[block, word]
                        run = first[block, word]
                        while begins != NONE:
                            bit = begins & (~begins + ONE)
                            label = labels[run + popcount(here & (bit ^ (bit - ONE))) - 1]
                            if label > before and order[label] == 0:
                                given += 1
                                order[label] = given
                            begins ^= bit
                advance(grid, position)


@njit(nogil=True, cache=True)
def relabel(labels, begin, end, order):
    """Replace each label by its place in another order."""
    for run in range(begin, end):
        labels[run] = order[labels[run]]
