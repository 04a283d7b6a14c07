"""The pass that counts places and faces straight from a run table whose runs have their labels."""

import numpy as np

from .bits import ALL, LAST, NONE, ONE, lowest, popcount
from .caching import njit
from .packing import AXES, advance, locate, row_beside

ODD = np.uint64(0xAAAAAAAAAAAAAAAA)
TWOS = np.uint64(0xCCCCCCCCCCCCCCCC)
FOURS = np.uint64(0xF0F0F0F0F0F0F0F0)
EIGHTS = np.uint64(0xFF00FF00FF00FF00)
SIXTEENS = np.uint64(0xFFFF0000FFFF0000)
UPPER = np.uint64(0xFFFFFFFF00000000)


@njit(nogil=True, cache=True)
def add_runs(
    bits, starts, first, labels, shape, grid, deep, tall, begin, end, sides, axes, faces, table
):
    """Do as `run_counts.add_places` for the runs of some blocks, without a list of them.

    A block has up to four rows: `a` and `b` below it, `c` and `d` in the plane after. A run of the
    block is the union of runs of its rows; all their pixels in a word are added at once.

    Parameters
    ----------
    bits : (R + 1, words) array of uint64
        Foreground; the last row is empty.
    starts, first, labels, shape, grid, deep, tall
        As for `run_lists.list_joined`.
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
