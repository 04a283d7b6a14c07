"""Passes from pixels to bits: which pixels are foreground, and where runs begin.

Rows are the lines along the last axis, `columns` pixels long, `words` words of 64 bits each. Rows
stand in blocks of one, two or four that touch each other along every edge and corner (see
`equilabel.neighborhood.blocks`); the run table knows the rows of a block by their union. All
leading axes together are five, padded with ones.
"""

import numpy as np

from .bits import (
    ALL,
    LAST,
    NONE,
    ONE,
    agrees_within,
    compares_within,
    differs,
    differs_within,
    fractional_within,
    lowest,
    popcount,
)
from .caching import njit

AXES = 5
NOTHING, ONE_VALUE, SEVERAL = range(3)  # what `pack` found


@njit(nogil=True, cache=True)
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
            width = min(64, columns - 64 * word)
            valid = ALL >> np.uint64(64 - width)
            if start + 64 <= pixels.size:
                foreground = (differs(pixels, start, background) if bounded else ALL) & valid
                if foreground != NONE and not binary:
                    if found == NOTHING:
                        found = ONE_VALUE
                        value = pixels[start + lowest(foreground)]
                    if (differs(pixels, start, value) & foreground) != NONE:
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


@njit(nogil=True, cache=True)
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
            width = min(64, columns - 64 * word)
            bits[row, word] = compares_within(pixels, start, level, compare, width)


@njit(nogil=True, cache=True)
def pack_values(pixels, first_row, last_row, columns, background, bounded, bits, starts, counts):
    """Set bits where pixels are foreground and where a run of equal value begins.

    Parameters
    ----------
    pixels : (R * columns,) array
        All rows; those from `first_row` to before `last_row` are read.
    bits, starts : (>= R, words) arrays of uint64
        Rows in that range are overwritten.
    counts : (R + 1,) array of int64
        ``counts[row + 1]`` is set to the runs of a row.

    Returns
    -------
    bool
        Whether all foreground values are whole numbers.
    """
    fractions = NONE
    for row in range(first_row, last_row):
        runs = 0
        for word in range(bits.shape[1]):
            start = row * columns + 64 * word
            width = min(64, columns - 64 * word)
            valid = ALL >> np.uint64(64 - width)
            foreground = differs_within(pixels, start, background, width) if bounded else valid
            equal = agrees_within(pixels, start, start - 1, width)
            if word == 0:
                equal &= ~ONE
            begins = foreground & ~equal
            fractions |= foreground & fractional_within(pixels, start, width)
            bits[row, word] = foreground
            starts[row, word] = begins
            runs += popcount(begins)
        counts[row + 1] = runs
    return fractions == NONE


@njit(nogil=True, cache=True)
def locate(index, shape, position):
    """Write the coordinates of a flat index into `position`."""
    for axis in range(AXES - 1, -1, -1):
        position[axis] = index % shape[axis]
        index //= shape[axis]


@njit(nogil=True, cache=True)
def advance(shape, position):
    """Move `position` to the next element in raster order."""
    for axis in range(AXES - 1, -1, -1):
        position[axis] += 1
        if position[axis] < shape[axis]:
            return
        position[axis] = 0


@njit(nogil=True, cache=True)
def row_beside(position, shape, deep, tall, step0, step1, step2, down, right):
    """Return a row some steps from the first of a block, or the empty last row if it is outside.

    Parameters
    ----------
    position : (5,) array of int64
        Coordinates of the block.
    shape : (5,) array of int64
        Leading axes of the image, in rows.
    deep, tall : int
        Rows of a block along the last two leading axes.
    step0, step1, step2 : int
        Steps along the other leading axes, which lead to a row of the image.
    down, right : int
        Steps along the last two.
    """
    z = position[3] * deep + down
    y = position[4] * tall + right
    if z < 0 or y < 0 or z >= shape[3] or y >= shape[4]:
        return shape[0] * shape[1] * shape[2] * shape[3] * shape[4]
    row = (position[0] + step0) * shape[1] + position[1] + step1
    row = row * shape[2] + position[2] + step2
    return (row * shape[3] + z) * shape[4] + y


@njit(nogil=True, cache=True)
def begin(bits, shape, grid, deep, tall, first_block, last_block, starts, counts):
    """Set a bit where a run begins in the union of the rows of each block.

    Parameters
    ----------
    bits : (R + 1, words) array of uint64
        The last row is empty.
    starts : (B, words) array of uint64
        Blocks from `first_block` to before `last_block` are overwritten.
    counts : (B + 1,) array of int64
        ``counts[block + 1]`` is set to the runs of a block.
    """
    members = deep * tall
    position = np.empty(AXES, np.int64)
    locate(first_block, grid, position)
    for block in range(first_block, last_block):
        row0 = row_beside(position, shape, deep, tall, 0, 0, 0, 0, 0)
        row1 = row_beside(position, shape, deep, tall, 0, 0, 0, 0, 1)
        row2 = row_beside(position, shape, deep, tall, 0, 0, 0, 1, 0)
        row3 = row_beside(position, shape, deep, tall, 0, 0, 0, 1, 1)
        runs = 0
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
            runs += popcount(begins)
        counts[block + 1] = runs
        advance(grid, position)
