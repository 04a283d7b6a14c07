"""Passes from pixels to bits: which pixels are foreground, and where runs begin."""

import numpy as np

from .bits import ALL, LAST, NONE, ONE, lowest, popcount
from .caching import BORROWING, inlined, njit
from .positions import new_position
from .run_table import locate, row_of
from .smaller import smaller
from .vector_compare import (
    agrees_within,
    compares_within,
    differs,
    differs_within,
    fractional_within,
)

NOTHING, ONE_VALUE, SEVERAL = range(3)  # what `pack` found


@njit(nogil=True, cache=True, **BORROWING)
def pack(pixels, columns, background, bounded, binary, bits):
    """Set a bit for every pixel that is not background, as long as these share one value.

    Parameters
    ----------
    pixels : (R * columns,) array
        Rows of pixels.
    background : scalar of the type of `pixels`
        Compared only if `bounded`; otherwise every pixel is foreground.
    binary : bool
        Whether all values but background count as one.
    bits : (R, words) array of uint64
        Overwritten.

    Returns
    -------
    found : int
        `NOTHING`, `ONE_VALUE`, or `SEVERAL` values of foreground: then `bits` is unfinished.
    value : scalar
        The foreground value, if there is one.
    """
    found = NOTHING
    value = background
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            start = row * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            valid = ALL >> np.uint64(64 - width)
            if start + 64 <= pixels.size:
                foreground = (differs(pixels, start, background) if bounded else ALL) & valid
                if foreground != NONE:
                    if found == NOTHING:
                        found = ONE_VALUE
                        value = pixels[start + lowest(foreground)]
                    if not binary and (differs(pixels, start, value) & foreground) != NONE:
                        return SEVERAL, value
            else:
                foreground = NONE
                for k in range(width):
                    pixel = pixels[start + k]
                    if not bounded or pixel != background:
                        foreground |= ONE << np.uint64(k)
                        if found == NOTHING:
                            found = ONE_VALUE
                            value = pixel
                        if pixel != value and not binary:
                            return SEVERAL, value
            bits[row, word] = foreground
    return found, value


@njit(nogil=True, cache=True, **BORROWING)
def pack_compared(pixels, columns, level, compare, bits):
    """Set a bit for every pixel that compares with a level, see `bits.compares_within`.

    Parameters
    ----------
    pixels : (R * columns,) array
        Rows of pixels.
    bits : (R, words) array of uint64
        Overwritten.
    """
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            start = row * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            bits[row, word] = compares_within(pixels, start, level, compare, width)


@njit(nogil=True, cache=True, **BORROWING)
def pack_values(pixels, columns, background, bounded, runs, first_row, last_row, counts):
    """Set bits where pixels are foreground and where a run of equal value begins.

    Parameters
    ----------
    pixels : (R * columns,) array
        All rows; those from `first_row` to before `last_row` are read.
    runs : Runs
        Of blocks of single rows; `bits` and `starts` of these are overwritten.
    counts : (R + 1,) array of int64
        ``counts[row + 1]`` is set to the runs of a row.

    Returns
    -------
    bool
        Whether all foreground values are whole numbers.
    """
    fractions = NONE
    for row in range(first_row, last_row):
        total = 0
        for word in range(runs.bits.shape[1]):
            start = row * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            valid = ALL >> np.uint64(64 - width)
            foreground = differs_within(pixels, start, background, width) if bounded else valid
            equal = agrees_within(pixels, start, start - 1, width)
            if word == 0:
                equal &= ~ONE
            begins = foreground & ~equal
            fractions |= foreground & fractional_within(pixels, start, width)
            runs.bits[row, word] = foreground
            runs.starts[row, word] = begins
            total += popcount(begins)
        counts[row + 1] = total
    return fractions == NONE


@njit(nogil=True, cache=True, **BORROWING)
def begin(runs, first_block, last_block, counts):
    """Set a bit where a run begins in the union of the rows of each block.

    Parameters
    ----------
    runs : Runs
        `starts` of blocks from `first_block` to before `last_block` are overwritten.
    counts : (B + 1,) array of int64
        ``counts[block + 1]`` is set to the runs of a block.
    """
    grid, tall, empty = runs.grid, runs.tall, runs.bits.shape[0] - 1
    position = new_position()
    block = first_block
    while block < last_block:
        locate(block, grid, position)
        along = position[4]
        end = smaller(along + last_block - block, grid[4])
        position[4] = 0
        line0 = row_of(runs, position, 0, 0)
        line1 = row_of(runs, position, 1, 0) if runs.deep > 1 else empty
        for y in range(along * tall, end * tall, tall):
            below = y + 1 < runs.shape[4] and tall > 1
            row2 = row3 = empty
            if line1 != empty:
                row2 = line1 + y
                row3 = row2 + 1 if below else empty
            rows = line0 + y, line0 + y + 1 if below else empty, row2, row3
            counts[block + 1] = begin_block(runs, block, rows)
            block += 1


@inlined
def begin_block(runs, block, rows):
    """Set the bits of `starts` for one block, and count them.

    Parameters
    ----------
    rows : tuple of 4 int
        Those of the block; where it has fewer, the empty last row.
    """
    bits, starts = runs.bits, runs.starts
    row0, row1, row2, row3 = rows
    members = runs.deep * runs.tall
    total = 0
    carry = NONE
    for word in range(bits.shape[1]):
        union = bits[row0, word]
        if members > 1:
            union |= bits[row1, word]
        if members > 2:
            union |= bits[row2, word] | bits[row3, word]
        begins = union & ~((union << ONE) | carry)
        carry = union >> LAST
        starts[block, word] = begins
        total += popcount(begins)
    return total
