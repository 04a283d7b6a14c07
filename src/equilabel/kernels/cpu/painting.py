"""The pass from runs back to pixels: every label is written once."""

import numpy as np

from .bits import NONE, ONE, popcount
from .caching import BORROWING, called, inlined, njit
from .positions import new_position
from .run_table import block_of, locate
from .smaller import smaller
from .vector_paint import blend, fence, paint, spread, stream_one

FEW = 4  # runs in a word up to which painting one after the other is quicker
BYTE = np.uint64(255)


@njit(nogil=True, cache=True, **BORROWING)
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
    position = new_position()
    row = first_row
    while row < last_row:
        locate(row, shape, position)
        line = (position[0] * grid[1] + position[1]) * grid[2] + position[2]
        line = (line * grid[3] + position[3] // runs.deep) * grid[4]
        y = position[4]
        end = smaller(row + shape[4] - y, last_row)
        while row < end:
            block = line + (y >> 1 if runs.tall > 1 else y)
            paint_row(runs, columns, row, block, limit, blank, out)
            row += 1
            y += 1


@njit(nogil=True, cache=True, **BORROWING)
def paint_one(bits, columns, first_row, last_row, blank, past, out):
    """Write the labels of some rows of an image of a single component: 1.

    Parameters
    ----------
    bits : (R + 1, words) array of uint64
        Foreground.
    blank : bool
        As for `paint_rows`.
    past : bool
        Whether to write past the caches, as `stream_rows` does.
    out : (R * columns,) array of int
        Overwritten from `first_row` to before `last_row`.
    """
    label = out.dtype.type(1)
    for row in range(first_row, last_row):
        for word in range(bits.shape[1]):
            begin = row * columns + 64 * word
            pixels = bits[row, word]
            if blank and pixels == NONE:
                continue
            if begin + 64 > last_row * columns:
                for k in range(smaller(64, columns - 64 * word)):
                    out[begin + k] = (pixels >> np.uint64(k)) & ONE
            elif past:
                stream_one(out, begin, pixels, label)
            else:
                paint(out, begin, pixels, label)
    if past:
        fence()


@njit(nogil=True, cache=True)
def paint_lines(runs, columns, rows, starts, blank, out):
    """Write the labels of chosen rows, each to a place of its own.

    Parameters
    ----------
    runs : Runs
        Whose `parents` are labels by now; there is one, at least.
    rows, starts : (L,) arrays of int64
        Rows of the image, and where their first pixels are in `out`.
    blank : bool
        As for `paint_rows`.
    out : (P,) array of int
        Overwritten, `columns` pixels from each start.
    """
    whole, rest = columns >> 6, columns & 63
    word = np.empty(64, out.dtype)
    for line in range(rows.size):
        row, start = rows[line], starts[line]
        block = block_of(runs, row)
        for place in range(whole):
            paint_word(runs, row, block, place, start + 64 * place, blank, out)
        if rest and not (blank and runs.bits[row, whole] == NONE):
            paint_word(runs, row, block, whole, 0, False, word)
            end = start + columns
            out[end - rest : end] = word[:rest]


@inlined
def paint_row(runs, columns, row, block, limit, blank, out):
    """Write the labels of one row.

    Parameters
    ----------
    limit : int
        Where to end: up to there words may be written as a whole.
    """
    for word in range(runs.bits.shape[1]):
        begin = row * columns + 64 * word
        if begin + 64 <= limit:
            paint_word(runs, row, block, word, begin, blank, out)
        elif runs.bits[row, word] != NONE or not blank:
            begins = runs.starts[block, word]
            run = runs.first[block, word] - 1
            width = smaller(64, columns - 64 * word)
            paint_part(out, begin, width, runs.bits[row, word], begins, run, runs.parents)


@inlined
def paint_word(runs, row, block, word, begin, blank, out):
    """Write the labels of the 64 pixels of a word.

    Parameters
    ----------
    begin : int
        Where its first pixel is in `out`.
    """
    pixels = runs.bits[row, word]
    if pixels == NONE:
        if not blank:
            paint(out, begin, NONE, out.dtype.type(0))
        return
    begins = runs.starts[block, word]
    run = runs.first[block, word] - 1
    if popcount(begins) <= FEW:
        paint_few(out, begin, pixels, begins, run, runs.parents)
    else:
        paint_many(out, begin, pixels, begins, run, runs.parents)


@called
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


@called
def paint_many(out, begin, pixels, begins, run, labels):
    """Paint a word of many runs, eight pixels at a time."""
    for k in range(0, 64, 8):
        shift = np.uint64(k)
        some = (begins >> shift) & BYTE
        spread(out, begin + k, (pixels >> shift) & BYTE, some, run, labels)
        run += popcount(some)


@called
def paint_part(out, begin, width, pixels, begins, run, labels):
    """Paint a part of a word pixel by pixel."""
    for k in range(width):
        shift = np.uint64(k)
        run += np.int64((begins >> shift) & ONE)
        out[begin + k] = labels[run] * np.int64((pixels >> shift) & ONE)
