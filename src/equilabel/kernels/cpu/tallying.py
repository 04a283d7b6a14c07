"""Passes that add runs to a table of counts, in closed form; `equilabel.kernels.layout` tells how.

Sums wrap around at 2**64, so that differences of them are exact wherever these fit.
"""

import numpy as np
from numba import njit

from .bits import ALL, LAST, NONE, ONE, lowest, popcount
from .comparing import within
from .packing import AXES, advance, locate, row_beside

ODD = np.uint64(0xAAAAAAAAAAAAAAAA)
TWOS = np.uint64(0xCCCCCCCCCCCCCCCC)
FOURS = np.uint64(0xF0F0F0F0F0F0F0F0)
EIGHTS = np.uint64(0xFF00FF00FF00FF00)
SIXTEENS = np.uint64(0xFFFF0000FFFF0000)
UPPER = np.uint64(0xFFFFFFFF00000000)


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
    bits, starts, first, labels, shape, grid, deep, tall, begin, end, sides, axes, faces, table
):
    """Do as `add_places` for the runs of some blocks of a run table, without a list of them.

    A block has up to four rows: `a` and `b` below it, `c` and `d` in the plane after. A run of the
    block is the union of runs of its rows; all their pixels in a word are added at once.

    Parameters
    ----------
    bits : (R + 1, words) array of uint64
        Foreground; the last row is empty.
    starts, first, labels, shape, grid, deep, tall
        As for `listing.list_joined`.
    begin, end : int
        Blocks.
    faces : int
        Along how many of the last axes neighbors of the same label are counted: 0, 2 or 3. All
        foreground must have one value then.
    table : (N + 1, 1 + 3 * axes + faces) array of int64
        Updated: a line for each label.

    Returns
    -------
    least, most : int
        Range of the labels met; 1 and 0 if there are none.
    """
    words = bits.shape[1]
    empty = bits.shape[0] - 1
    position = np.empty(AXES, np.int64)
    least = np.int64(labels.size)
    most = np.int64(0)
    locate(begin, grid, position)
    for block in range(begin, end):
        y = position[4] * tall
        z = position[3] * deep
        row_a = row_beside(position, shape, deep, tall, 0, 0, 0, 0, 0)
        row_b = row_beside(position, shape, deep, tall, 0, 0, 0, 0, 1) if tall > 1 else empty
        row_c = row_beside(position, shape, deep, tall, 0, 0, 0, 1, 0) if deep > 1 else empty
        row_d = row_beside(position, shape, deep, tall, 0, 0, 0, 1, 1) if deep > 1 else empty
        label = np.int64(-1)  # no run is open
        left = np.int64(0)
        right = np.int64(0)
        total = np.int64(0)
        n_a = np.int64(0)
        n_b = np.int64(0)
        n_c = np.int64(0)
        n_d = np.int64(0)
        along_x = np.int64(0)
        along_y = np.int64(0)
        along_z = np.int64(0)
        for word in range(words):
            a = bits[row_a, word]
            b = bits[row_b, word]
            c = NONE
            d = NONE
            if deep > 1:
                c = bits[row_c, word]
                d = bits[row_d, word]
            union = a | b | c | d
            begins = starts[block, word]
            run = first[block, word]
            while union != NONE:
                # From here to before the next start lies one run, or what is left of the last.
                part = union
                bit = union & (~union + ONE)
                place = lowest(union)
                if (begins & bit) != NONE:
                    begins ^= bit
                    if label >= 0:
                        close_run(
                            label,
                            left,
                            right,
                            total,
                            n_a,
                            n_b,
                            n_c,
                            n_d,
                            along_x,
                            along_y,
                            along_z,
                            y,
                            z,
                            position,
                            sides,
                            axes,
                            faces,
                            table,
                        )
                    label = np.int64(labels[run])
                    run += 1
                    left = 64 * word + place
                    total = np.int64(0)
                    n_a = np.int64(0)
                    n_b = np.int64(0)
                    n_c = np.int64(0)
                    n_d = np.int64(0)
                    along_x = np.int64(0)
                    along_y = np.int64(0)
                    along_z = np.int64(0)
                    least = min(least, label)
                    most = max(most, label)
                if begins != NONE:
                    part &= (begins & (~begins + ONE)) - ONE
                union ^= part
                right = 64 * word + place + popcount(part)
                count_a = popcount(a & part)
                count_b = popcount(b & part)
                n_a += count_a
                n_b += count_b
                total += 64 * word * (count_a + count_b) + sum_places(a & part)
                total += sum_places(b & part)
                if deep > 1:
                    count_c = popcount(c & part)
                    count_d = popcount(d & part)
                    n_c += count_c
                    n_d += count_d
                    total += 64 * word * (count_c + count_d) + sum_places(c & part)
                    total += sum_places(d & part)
                if faces > 0:
                    along_x += count_beside(bits, row_a, word, part)
                    along_x += count_beside(bits, row_b, word, part)
                    along_y += popcount(a & b & part)
                    if y > 0:
                        along_y += popcount(a & bits[row_a - 1, word] & part)
                    if deep > 1:
                        along_x += count_beside(bits, row_c, word, part)
                        along_x += count_beside(bits, row_d, word, part)
                        along_y += popcount(c & d & part)
                        if y > 0:
                            along_y += popcount(c & bits[max(row_c - 1, 0), word] & part)
                        along_z += popcount(a & c & part) + popcount(b & d & part)
                    if z > 0:
                        along_z += popcount(a & bits[row_a - shape[4], word] & part)
                        along_z += popcount(b & bits[max(row_b - shape[4], 0), word] & part)
        if label >= 0:
            close_run(
                label,
                left,
                right,
                total,
                n_a,
                n_b,
                n_c,
                n_d,
                along_x,
                along_y,
                along_z,
                y,
                z,
                position,
                sides,
                axes,
                faces,
                table,
            )
        advance(grid, position)
    return (least, most) if most > 0 else (np.int64(1), np.int64(0))


@njit(nogil=True, cache=True, forceinline=True)
def close_run(
    label,
    left,
    right,
    total,
    n_a,
    n_b,
    n_c,
    n_d,
    along_x,
    along_y,
    along_z,
    y,
    z,
    position,
    sides,
    axes,
    faces,
    table,
):
    """Add a run of a block to the line of its label."""
    lows = axes
    highs = 2 * axes
    pixels = n_a + n_b + n_c + n_d
    table[label, 0] += pixels
    table[label, axes] += total
    table[label, lows + axes] = max(table[label, lows + axes], sides[axes - 1] - left)
    table[label, highs + axes] = max(table[label, highs + axes], right)
    if axes > 1:
        at = axes - 1
        above = n_a + n_c
        below = n_b + n_d
        near = y if above > 0 else y + 1
        far = y + 2 if below > 0 else y + 1
        table[label, at] += pixels * y + below
        table[label, lows + at] = max(table[label, lows + at], sides[at - 1] - near)
        table[label, highs + at] = max(table[label, highs + at], far)
    if axes > 2:
        at = axes - 2
        front = n_a + n_b
        back = n_c + n_d
        near = z if front > 0 else z + 1
        far = z + 2 if back > 0 else z + 1
        table[label, at] += pixels * z + back
        table[label, lows + at] = max(table[label, lows + at], sides[at - 1] - near)
        table[label, highs + at] = max(table[label, highs + at], far)
    for axis in range(axes - 3):  # further axes are the same for all rows of a block
        place = position[6 - axes + axis]
        at = axis + 1
        table[label, at] += place * pixels
        table[label, lows + at] = max(table[label, lows + at], sides[axis] - place)
        table[label, highs + at] = max(table[label, highs + at], place + 1)
    if faces > 0:
        pairs = 1 + 3 * axes
        table[label, pairs + faces - 1] += along_x
        table[label, pairs + faces - 2] += along_y
        if faces > 2:
            table[label, pairs] += along_z


@njit(nogil=True, cache=True, forceinline=True)
def sum_places(word):
    """Sum the places of the bits of a word: those whose place is odd, has bit 1, bit 2, ..."""
    if word == ALL:
        return 63 * 32
    total = popcount(word & ODD) + 2 * popcount(word & TWOS) + 4 * popcount(word & FOURS)
    total += 8 * popcount(word & EIGHTS) + 16 * popcount(word & SIXTEENS)
    return total + 32 * popcount(word & UPPER)


@njit(nogil=True, cache=True)
def count_beside(bits, row, word, part):
    """Count the bits of a row in a part of a word that have another one to the left."""
    here = bits[row, word]
    left = here << ONE
    if word > 0:
        left |= bits[row, word - 1] >> LAST
    return popcount(here & left & part)


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
