"""Passes that add runs to a table of counts, in closed form; `equilabel.kernels.layout` tells how.

Sums wrap around at 2**64, so that differences of them are exact wherever these fit.
"""

import numpy as np
from numba import njit

from .bits import LAST, NONE, ONE, lowest, popcount
from .comparing import within
from .packing import AXES, advance, locate


@njit(nogil=True, cache=True)
def add_places(runs, shape, sides, axes, table):
    """Add pixels, sums, lows and highs.

    Parameters
    ----------
    runs : (N, 4) array of int64
        Row, first column, last column + 1, and line of the table.
    shape : (5,) array of int64
        Leading axes.
    sides : (axes,) array of int64
        Sides of the image.
    axes : int
        Axes of the image, of which all but the last are the last of the leading ones.
    table : (labels, >= 1 + 3 * axes) array of int64
        Updated.
    """
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - axes
    lows = 1 + axes
    highs = 1 + 2 * axes
    x = axes - 1
    at = np.int64(-2)
    for run in range(runs.shape[0]):
        if runs[run, 0] == at + 1:
            advance(shape, position)
            at += 1
        elif runs[run, 0] != at:
            at = runs[run, 0]
            locate(at, shape, position)
        begin = runs[run, 1]
        end = runs[run, 2]
        line = runs[run, 3]
        length = end - begin
        table[line, 0] += length
        for axis in range(x):
            here = position[leading + axis]
            table[line, 1 + axis] += here * length
            table[line, lows + axis] = max(table[line, lows + axis], sides[axis] - here)
            table[line, highs + axis] = max(table[line, highs + axis], here + 1)
        table[line, 1 + x] += (begin + end - 1) * length // 2
        table[line, lows + x] = max(table[line, lows + x], sides[x] - begin)
        table[line, highs + x] = max(table[line, highs + x], end)


@njit(nogil=True, cache=True)
def add_joined(
    bits,
    begins,
    divided,
    starts,
    first,
    labels,
    shape,
    grid,
    deep,
    tall,
    first_row,
    last_row,
    sides,
    axes,
    faces,
    table,
):
    """Do as `add_places` for the runs of some rows of a run table, without a list of them.

    Parameters
    ----------
    bits : (>= R, words) array of uint64
        Foreground.
    begins : (>= R, words) array of uint64
        Where runs begin, if they are `divided` by values; else not read.
    starts, first, labels, shape, grid, deep, tall
        As for `listing.list_joined`.
    faces : int
        Along how many of the last axes neighbors of the same label are counted: 0, 2 or 3. Runs
        must not be divided then.
    table : (N + 1, 1 + 3 * axes + faces) array of int64
        Updated: a line for each label.

    Returns
    -------
    least, most : int
        Range of the labels met; 1 and 0 if there are none.
    """
    words = bits.shape[1]
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - axes
    x = axes - 1
    lows = 1 + axes
    highs = 1 + 2 * axes
    pairs = 1 + 3 * axes
    side = sides[x]
    least = np.int64(labels.size)
    most = np.int64(0)
    locate(first_row, shape, position)
    for row in range(first_row, last_row):
        block = (position[0] * shape[1] + position[1]) * shape[2] + position[2]
        block = (block * grid[3] + position[3] // deep) * grid[4] + position[4] // tall
        label = np.int64(0)
        begin = -1
        carry = NONE
        for word in range(words):
            pixels = bits[row, word]
            shifted = (pixels << ONE) | carry
            carry = pixels >> LAST
            opens = begins[row, word] if divided else pixels & ~shifted
            change = opens | (shifted & ~pixels)
            if change == NONE and word + 1 < words:
                continue
            while change != NONE or (word + 1 == words and begin >= 0):
                at = 64 * words
                bit = NONE
                if change != NONE:
                    at = 64 * word + lowest(change)
                    bit = change & (~change + ONE)
                    change ^= bit
                if begin >= 0:
                    end = min(at, side)
                    length = end - begin
                    table[label, 0] += length
                    for axis in range(x):
                        here = position[leading + axis]
                        table[label, 1 + axis] += here * length
                        table[label, lows + axis] = max(
                            table[label, lows + axis], sides[axis] - here
                        )
                        table[label, highs + axis] = max(table[label, highs + axis], here + 1)
                    table[label, 1 + x] += (begin + end - 1) * length // 2
                    table[label, lows + x] = max(table[label, lows + x], side - begin)
                    table[label, highs + x] = max(table[label, highs + x], end)
                    if faces > 0:
                        table[label, pairs + faces - 1] += length - 1
                        if position[4] > 0:
                            both = count_both(bits, row, row - 1, begin, end)
                            table[label, pairs + faces - 2] += both
                        if faces > 2 and position[3] > 0:
                            both = count_both(bits, row, row - shape[4], begin, end)
                            table[label, pairs] += both
                    begin = -1
                if (opens & bit) != NONE:
                    begin = at
                    before = popcount(starts[block, word] & (bit | (bit - ONE)))
                    label = np.int64(labels[first[block, word] + before - 1])
                    least = min(least, label)
                    most = max(most, label)
        advance(shape, position)
    return (least, most) if most > 0 else (np.int64(1), np.int64(0))


@njit(nogil=True, cache=True)
def count_both(bits, row, other, begin, end):
    """Count the columns, from one to before another, where two rows have bits."""
    count = 0
    for word in range(begin >> 6, ((end - 1) >> 6) + 1):
        count += popcount(bits[row, word] & bits[other, word] & within(word, begin, end))
    return count


@njit(nogil=True, cache=True)
def add_products(runs, shape, rank, column, table):
    """Add the sums of products of two spatial coordinates, from a column of the table on."""
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    at = np.int64(-2)
    for run in range(runs.shape[0]):
        if runs[run, 0] != at:
            at = runs[run, 0]
            locate(at, shape, position)
        begin = runs[run, 1]
        line = runs[run, 3]
        length = runs[run, 2] - begin
        total = (begin + runs[run, 2] - 1) * length // 2
        to = column
        for one in range(rank - 1):
            here = position[leading + one]
            for other in range(one, rank - 1):
                table[line, to] += here * position[leading + other] * length
                to += 1
            table[line, to] += here * total
            to += 1
        half = (length - 1) * length // 2
        if half % 3 == 0:  # sum of squares of 0 to length - 1, without dividing what has wrapped
            squares = half // 3 * (2 * length - 1)
        else:
            squares = half * ((2 * length - 1) // 3)
        table[line, to] += length * begin * begin + 2 * begin * half + squares


@njit(nogil=True, cache=True)
def add_planes(runs, planes, first_row, entries, table):
    """Add the bits of planes under each run.

    Parameters
    ----------
    planes : (rows, words, P) array of uint64
        Planes of the rows from `first_row` on.
    entries : (E, 3) array of int64
        Which plane counts in which column of the table, and how much a bit counts there.
    """
    for run in range(runs.shape[0]):
        row = runs[run, 0] - first_row
        begin = runs[run, 1]
        end = runs[run, 2]
        line = runs[run, 3]
        for word in range(begin >> 6, ((end - 1) >> 6) + 1):
            inside = within(word, begin, end)
            for entry in range(entries.shape[0]):
                bits = planes[row, word, entries[entry, 0]] & inside
                if bits != NONE:
                    table[line, entries[entry, 1]] += entries[entry, 2] * popcount(bits)


@njit(nogil=True, cache=True)
def add_table(whole, lines, part, lows, sums):
    """Add the lines of a table to those of another.

    Parameters
    ----------
    lines : (labels,) array of int64
        Line of `whole` for each of `part`.
    lows, sums : int
        Columns from the one to before the other hold greatest values; all others add up.
    """
    for line in range(part.shape[0]):
        to = lines[line]
        for column in range(part.shape[1]):
            if lows <= column < sums:
                whole[to, column] = max(whole[to, column], part[line, column])
            else:
                whole[to, column] += part[line, column]
