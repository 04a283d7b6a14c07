"""The pass that counts sizes, extents and faces straight from a run table whose runs are labeled.

A block has up to four rows: `a` and `b` below it, `c` and `d` in the plane after. A run of the
block is the union of runs of its rows; all their pixels in a word are added at once.
"""

from typing import NamedTuple

import numpy as np

from .bits import ALL, LAST, NONE, ONE, lowest, popcount
from .caching import inlined, njit
from .run_table import AXES, advance, locate, row_of

ODD = np.uint64(0xAAAAAAAAAAAAAAAA)
TWOS = np.uint64(0xCCCCCCCCCCCCCCCC)
FOURS = np.uint64(0xF0F0F0F0F0F0F0F0)
EIGHTS = np.uint64(0xFF00FF00FF00FF00)
SIXTEENS = np.uint64(0xFFFF0000FFFF0000)
UPPER = np.uint64(0xFFFFFFFF00000000)


class Block(NamedTuple):
    """Rows of a block, and the coordinates of its first row along the last two leading axes."""

    a: int
    b: int
    c: int
    d: int
    z: int
    y: int


class Sums(NamedTuple):
    """What the words of one run add up to; kept in registers, as tuples are."""

    label: int
    left: int
    right: int
    columns: int
    n_a: int
    n_b: int
    n_c: int
    n_d: int
    along_z: int
    along_y: int
    along_x: int


@njit(nogil=True, cache=True)
def add_runs(runs, blocks, sides, faces, table):
    """Do as `run_counts.add_extents` for the runs of some blocks, without a list of them.

    Parameters
    ----------
    runs : Runs
        Whose `parents` are labels by now.
    blocks : (int, int)
        The first block and the one after the last.
    sides : (axes,) array of int64
        Sides of the image.
    faces : int
        Along how many of the last axes neighbors of the same label are counted: 0, 2 or 3. All
        foreground must have one value then.
    table : (N + 1, 1 + 3 * axes + faces) array of int64
        Updated: a row for each label.

    Returns
    -------
    least, most : int
        Range of the labels met; 1 and 0 if there are none.
    """
    bits, labels = runs.bits, runs.parents
    begin, end = blocks
    empty = bits.shape[0] - 1
    position = np.empty(AXES, np.int64)
    least = np.int64(labels.size)
    most = np.int64(0)
    none = np.int64(0)
    locate(begin, runs.grid, position)
    for number in range(begin, end):
        block = Block(
            row_of(runs, position, 0, 0),
            row_of(runs, position, 0, 1) if runs.tall > 1 else empty,
            row_of(runs, position, 1, 0) if runs.deep > 1 else empty,
            row_of(runs, position, 1, 1) if runs.deep > 1 else empty,
            position[3] * runs.deep,
            position[4] * runs.tall,
        )
        sums = Sums(np.int64(-1), none, none, none, none, none, none, none, none, none, none)
        for word in range(bits.shape[1]):
            union = bits[block.a, word] | bits[block.b, word]
            if runs.deep > 1:
                union |= bits[block.c, word] | bits[block.d, word]
            begins = runs.starts[number, word]
            run = runs.first[number, word]
            while union != NONE:
                # From here to before the next start lies one run, or what is left of the last.
                part = union
                bit = union & (~union + ONE)
                if (begins & bit) != NONE:
                    begins ^= bit
                    if sums.label >= 0:
                        close_run(sums, block, position, sides, faces, table)
                    label = np.int64(labels[run])
                    left = 64 * word + lowest(union)
                    sums = Sums(label, left, left, none, none, none, none, none, none, none, none)
                    run += 1
                    least = min(least, label)
                    most = max(most, label)
                if begins != NONE:
                    part &= (begins & (~begins + ONE)) - ONE
                right = 64 * word + lowest(union) + popcount(part)
                union ^= part
                sums = add_part(sums, runs, block, word, part, right, faces)
        if sums.label >= 0:
            close_run(sums, block, position, sides, faces, table)
        advance(runs.grid, position)
    return (least, most) if most > 0 else (np.int64(1), np.int64(0))


@inlined
def add_part(sums, runs, block, word, part, right, faces):
    """Add the pixels of a run in a word.

    Parameters
    ----------
    part : uint64
        A bit for each of its columns.
    right : int
        The column after the last of them.

    Returns
    -------
    Sums
    """
    bits = runs.bits
    base = 64 * word
    a = bits[block.a, word] & part
    b = bits[block.b, word] & part
    n_a = popcount(a)
    n_b = popcount(b)
    n_c = np.int64(0)
    n_d = np.int64(0)
    columns = base * (n_a + n_b) + sum_columns(a) + sum_columns(b)
    along_z = np.int64(0)
    along_y = np.int64(0)
    along_x = np.int64(0)
    c = NONE
    d = NONE
    if runs.deep > 1:
        c = bits[block.c, word] & part
        d = bits[block.d, word] & part
        n_c = popcount(c)
        n_d = popcount(d)
        columns += base * (n_c + n_d) + sum_columns(c) + sum_columns(d)
    if faces > 0:
        along_x += count_beside(bits, block.a, word, part) + count_beside(bits, block.b, word, part)
        along_y += popcount(a & b)
        if block.y > 0:
            along_y += popcount(a & bits[block.a - 1, word])
        if runs.deep > 1:
            along_x += count_beside(bits, block.c, word, part)
            along_x += count_beside(bits, block.d, word, part)
            along_y += popcount(c & d)
            if block.y > 0:
                along_y += popcount(c & bits[max(block.c - 1, 0), word])
            along_z += popcount(a & c) + popcount(b & d)
        if block.z > 0:
            plane = runs.shape[4]
            along_z += popcount(a & bits[block.a - plane, word])
            along_z += popcount(b & bits[max(block.b - plane, 0), word])
    return Sums(
        sums.label,
        sums.left,
        right,
        sums.columns + columns,
        sums.n_a + n_a,
        sums.n_b + n_b,
        sums.n_c + n_c,
        sums.n_d + n_d,
        sums.along_z + along_z,
        sums.along_y + along_y,
        sums.along_x + along_x,
    )


@inlined
def close_run(sums, block, position, sides, faces, table):
    """Add a run of a block to the row of its label."""
    counts = table[sums.label]
    axes = sides.size
    pixels = sums.n_a + sums.n_b + sums.n_c + sums.n_d
    counts[0] += pixels
    counts[axes] += sums.columns
    widen(counts, axes - 1, sides, sums.left, sums.right)
    if axes > 1:
        above = sums.n_a + sums.n_c
        below = sums.n_b + sums.n_d
        counts[axes - 1] += pixels * block.y + below
        near = block.y if above > 0 else block.y + 1
        far = block.y + 2 if below > 0 else block.y + 1
        widen(counts, axes - 2, sides, near, far)
    if axes > 2:
        front = sums.n_a + sums.n_b
        back = sums.n_c + sums.n_d
        counts[axes - 2] += pixels * block.z + back
        near = block.z if front > 0 else block.z + 1
        far = block.z + 2 if back > 0 else block.z + 1
        widen(counts, axes - 3, sides, near, far)
    for axis in range(axes - 3):  # further axes are the same for all rows of a block
        here = position[6 - axes + axis]
        counts[1 + axis] += here * pixels
        widen(counts, axis, sides, here, here + 1)
    if faces > 0:
        pairs = 1 + 3 * axes
        counts[pairs + faces - 1] += sums.along_x
        counts[pairs + faces - 2] += sums.along_y
        if faces > 2:
            counts[pairs] += sums.along_z


@inlined
def widen(counts, axis, sides, begin, end):
    """Let the box of a label reach from `begin` to before `end` along an axis."""
    low = 1 + sides.size + axis
    high = 1 + 2 * sides.size + axis
    counts[low] = max(counts[low], sides[axis] - begin)
    counts[high] = max(counts[high], end)


@inlined
def sum_columns(word):
    """Sum the positions of the bits of a word, from those whose position is odd, has bit 1, ..."""
    if word == ALL:
        return np.int64(63 * 32)
    total = popcount(word & ODD) + 2 * popcount(word & TWOS) + 4 * popcount(word & FOURS)
    total += 8 * popcount(word & EIGHTS) + 16 * popcount(word & SIXTEENS)
    return total + 32 * popcount(word & UPPER)


@inlined
def count_beside(bits, row, word, part):
    """Count the bits of a row in a part of a word that have another one to the left."""
    here = bits[row, word]
    left = here << ONE
    if word > 0:
        left |= bits[row, word - 1] >> LAST
    return popcount(here & left & part)
