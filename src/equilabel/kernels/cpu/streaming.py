"""The pass from runs back to pixels for arrays that no cache holds: labels are written past these.

A store of a part of a line of the cache has to read it first; here whole lines are written. Memory
that comes fresh from the system is in the caches when it was cleared: there this is slower.
"""

import numpy as np

from .bits import NONE, ONE, popcount
from .caching import inlined, njit
from .painting import FEW, paint_few, paint_many, paint_part
from .run_table import AXES, locate
from .vector_paint import fence, stream, stream_one

LARGE = 2**25  # bytes of labels that no cache holds


def is_streamed(columns, out):
    """Return whether labels can be written past the caches.

    They have to be more than these hold, in rows that begin at multiples of 16 bytes.
    """
    aligned = out.ctypes.data % 16 == 0 and columns * out.itemsize % 16 == 0
    return aligned and out.nbytes >= LARGE


@njit(nogil=True, cache=True)
def stream_rows(runs, columns, first_row, last_row, out):
    """Write the label of its run to every pixel of some rows, as `paint_rows` does.

    Parameters
    ----------
    out : (R * columns,) array of int
        Overwritten from `first_row` to before `last_row`. Each row begins at a multiple of 16
        bytes.
    """
    shape, grid = runs.shape, runs.grid
    limit = last_row * columns
    position = np.empty(AXES, np.int64)
    room = np.empty(64, out.dtype)
    row = first_row
    while row < last_row:
        locate(row, shape, position)
        line = line_of_blocks(position, grid, runs.deep)
        y = position[4]
        end = min(row + shape[4] - y, last_row)
        while row < end:
            stream_row(runs, columns, row, line + y // runs.tall, limit, room, out)
            row += 1
            y += 1
    fence()


@inlined
def line_of_blocks(position, grid, deep):
    """Return the first block of the line of blocks that a row is in."""
    line = (position[0] * grid[1] + position[1]) * grid[2] + position[2]
    return (line * grid[3] + position[3] // deep) * grid[4]


@inlined
def stream_row(runs, columns, row, block, limit, line, out):
    """Write the labels of one row past the caches; see `painting.paint_row`.

    Parameters
    ----------
    line : (64,) array of the type of `out`
        Overwritten.
    """
    for word in range(runs.bits.shape[1]):
        pixels = runs.bits[row, word]
        begin = row * columns + 64 * word
        begins = NONE
        run = np.int64(0)
        if pixels != NONE:
            begins = runs.starts[block, word]
            run = np.int64(runs.first[block, word]) - 1
        if begin + 64 > limit:
            width = min(64, columns - 64 * word)
            paint_part(out, begin, width, pixels, begins, run, runs.parents)
            continue
        before = begins - ONE if begins != NONE else NONE
        if (begins | pixels) & before == NONE:  # one run, or none, which is run 0
            label = runs.parents[run + np.int64(begins != NONE)]
            stream_one(out, begin, pixels, out.dtype.type(label))
            continue
        if popcount(begins) <= FEW:
            paint_few(line, 0, pixels, begins, run, runs.parents)
        else:
            paint_many(line, 0, pixels, begins, run, runs.parents)
        stream(line, out, begin)


@njit(nogil=True, cache=True)
def copy_rows(rows, starts, aligned, out):
    """Copy labels to rows that lie apart, past the caches.

    Parameters
    ----------
    rows : (R, W) array of int
    starts : (R,) array of int64
        Where each row begins in `out`.
    aligned : bool
        Whether all of these are at multiples of 16 bytes.
    out : (P,) array of the same type
        Overwritten, as many elements from each start as a row has.
    """
    width = rows.shape[1]
    whole = width & ~63 if aligned else 0
    for row in range(rows.shape[0]):
        start = starts[row]
        for begin in range(0, whole, 64):
            stream(rows[row, begin:], out, start + begin)
        for k in range(whole, width):
            out[start + k] = rows[row, k]
    fence()
