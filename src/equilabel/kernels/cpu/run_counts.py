"""Passes that add runs to a table of counts, in closed form; `equilabel.kernels.layout` tells how.

Sums wrap around at 2**64, so that differences of them are exact wherever these fit.
"""

import numpy as np

from .bits import NONE, popcount
from .caching import njit
from .neighbor_bits import within
from .run_table import AXES, advance, locate


@njit(nogil=True, cache=True)
def add_extents(runs, shape, sides, axes, table):
    """Add pixels, sums, lows and highs.

    Parameters
    ----------
    runs : (N, 4) array of int64
        Row, first column, last column + 1, and slot, the index of its label in the table.
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
        slot = runs[run, 3]
        length = end - begin
        table[slot, 0] += length
        for axis in range(x):
            here = position[leading + axis]
            table[slot, 1 + axis] += here * length
            table[slot, lows + axis] = max(table[slot, lows + axis], sides[axis] - here)
            table[slot, highs + axis] = max(table[slot, highs + axis], here + 1)
        table[slot, 1 + x] += (begin + end - 1) * length // 2
        table[slot, lows + x] = max(table[slot, lows + x], sides[x] - begin)
        table[slot, highs + x] = max(table[slot, highs + x], end)


@njit(nogil=True, cache=True)
def add_first(runs, columns, size, column, table):
    """Keep the smallest flat index of each label, as ``size - index``, in a column of the table."""
    for run in range(runs.shape[0]):
        slot = runs[run, 3]
        index = runs[run, 0] * columns + runs[run, 1]
        table[slot, column] = max(table[slot, column], size - index)


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
        slot = runs[run, 3]
        length = runs[run, 2] - begin
        total = (begin + runs[run, 2] - 1) * length // 2
        to = column
        for one in range(rank - 1):
            here = position[leading + one]
            for other in range(one, rank - 1):
                table[slot, to] += here * position[leading + other] * length
                to += 1
            table[slot, to] += here * total
            to += 1
        half = (length - 1) * length // 2
        if half % 3 == 0:  # sum of squares of 0 to length - 1, without dividing what has wrapped
            squares = half // 3 * (2 * length - 1)
        else:
            squares = half * ((2 * length - 1) // 3)
        table[slot, to] += length * begin * begin + 2 * begin * half + squares


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
        slot = runs[run, 3]
        for word in range(begin >> 6, ((end - 1) >> 6) + 1):
            inside = within(word, begin, end)
            for entry in range(entries.shape[0]):
                bits = planes[row, word, entries[entry, 0]] & inside
                if bits != NONE:
                    table[slot, entries[entry, 1]] += entries[entry, 2] * popcount(bits)


@njit(nogil=True, cache=True)
def add_table(whole, slots, part, lows, sums):
    """Add the rows of a table to those of another.

    Parameters
    ----------
    slots : (labels,) array of int64
        Line of `whole` for each of `part`.
    lows, sums : int
        Columns from the one to before the other hold greatest values; all others add up.
    """
    for row in range(part.shape[0]):
        to = slots[row]
        for column in range(part.shape[1]):
            if lows <= column < sums:
                whole[to, column] = max(whole[to, column], part[row, column])
            else:
                whole[to, column] += part[row, column]
