"""The pass from runs back to pixels: every label is written once."""

import numpy as np

from .bits import NONE, ONE, popcount
from .caching import njit
from .run_table import AXES, advance, locate
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
    bits, labels, shape = runs.bits, runs.parents, runs.shape
    limit = last_row * columns
    zero = out.dtype.type(0)
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    for row in range(first_row, last_row):
        block = position[0]
        for axis in range(1, AXES):
            index = position[axis]
            if axis == 3:
                index //= runs.deep
            elif axis == 4:
                index //= runs.tall
            block = block * runs.grid[axis] + index
        advance(shape, position)
        for word in range(bits.shape[1]):
            pixels = bits[row, word]
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
                paint_few(out, begin, pixels, begins, run, labels)
            elif whole:
                paint_many(out, begin, pixels, begins, run, labels)
            else:
                width = min(64, columns - 64 * word)
                paint_part(out, begin, width, pixels, begins, run, labels)


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
