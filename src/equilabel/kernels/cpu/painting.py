"""The pass from runs back to pixels: every label is written once."""

import numpy as np

from .bits import NONE, ONE, popcount
from .caching import inlined, njit
from .run_table import AXES, locate
from .vector_paint import blend, paint, spread

FEW = 4  # runs in a word up to which painting one after the other is quicker
BYTE = np.uint64(255)


@njit(nogil=True, cache=True)
def paint_rows(runs, columns, first_row, last_row, blank, out):
    """Write the label of its run to every pixel of some rows.

    Parameters
    ----------
    runs : Runs
        Whose `parents` are labels by now.
    blank : bool
        Whether `out` holds zeros, so that background need not be written.
    out : (R * columns,) array of int
        Overwritten from `first_row` to before `last_row`.
    """
    shape, grid = runs.shape, runs.grid
    limit = last_row * columns
    position = np.empty(AXES, np.int64)
    row = first_row
    while row < last_row:
        locate(row, shape, position)
        line = (position[0] * grid[1] + position[1]) * grid[2] + position[2]
        line = (line * grid[3] + position[3] // runs.deep) * grid[4]
        y = position[4]
        end = min(row + shape[4] - y, last_row)
        while row < end:
            block = line + (y >> 1 if runs.tall > 1 else y)
            paint_row(runs, columns, row, block, limit, blank, out)
            row += 1
            y += 1


@inlined
def paint_row(runs, columns, row, block, limit, blank, out):
    """Write the labels of one row.

    Parameters
    ----------
    limit : int
        Where to end: up to there words may be written as a whole.
    """
    zero = out.dtype.type(0)
    for word in range(runs.bits.shape[1]):
        pixels = runs.bits[row, word]
        begin = row * columns + 64 * word
        if pixels == NONE and blank:
            continue
        whole = begin + 64 <= limit
        if pixels == NONE and whole:
            paint(out, begin, NONE, zero)
            continue
        begins = runs.starts[block, word]
        run = runs.first[block, word] - 1
        if whole and popcount(begins) <= FEW:
            paint_few(out, begin, pixels, begins, run, runs.parents)
        elif whole:
            paint_many(out, begin, pixels, begins, run, runs.parents)
        else:
            width = min(64, columns - 64 * word)
            paint_part(out, begin, width, pixels, begins, run, runs.parents)


@njit(nogil=True, cache=True)
def paint_few(out, begin, pixels, begins, run, labels):
    """Paint a word of few runs, one after the other."""
    covered = pixels
    if begins != NONE:
        covered &= (begins & (~begins + ONE)) - ONE  # what lies before the first start
    painted = covered != NONE
    if painted:
        paint(out, begin, covered, out.dtype.type(labels[run]))
    while begins != NONE:
        bit = begins & (~begins + ONE)
        begins ^= bit
        run += 1
        segment = ~(bit - ONE)
        if begins != NONE:
            segment &= (begins & (~begins + ONE)) - ONE
        covered = pixels & segment
        if covered != NONE:
            if painted:
                blend(out, begin, covered, out.dtype.type(labels[run]))
            else:
                paint(out, begin, covered, out.dtype.type(labels[run]))
                painted = True


@njit(nogil=True, cache=True)
def paint_many(out, begin, pixels, begins, run, labels):
    """Paint a word of many runs, eight pixels at a time."""
    for k in range(0, 64, 8):
        shift = np.uint64(k)
        some = (begins >> shift) & BYTE
        spread(out, begin + k, (pixels >> shift) & BYTE, some, run, labels)
        run += popcount(some)


@njit(nogil=True, cache=True)
def paint_part(out, begin, width, pixels, begins, run, labels):
    """Paint a part of a word pixel by pixel."""
    for k in range(width):
        shift = np.uint64(k)
        run += np.int64((begins >> shift) & ONE)
        out[begin + k] = labels[run] * np.int64((pixels >> shift) & ONE)
