"""Passes that measure labels, in closed form over runs.

Each label has a row of a table of integers: its pixels, then four columns for each axis (sum of
coordinates, first, last + 1, and pairs of neighbors along it), then three classes of border
pixels. For the last axis the fourth column counts runs: pairs are pixels less runs. Rows of
several tables add up, but for first and last, of which the least and greatest hold.
"""

import numpy as np
from numba import njit

from .bits import LAST, NONE, ONE, agrees_within, differs_within, lowest, popcount
from .packing import AXES, advance, locate

NOWHERE = np.iinfo(np.int64).max


@njit(nogil=True, cache=True)
def accumulate(labels, columns, shape, axes, outline, first_row, last_row, table):
    """Add the runs of some rows to a table.

    Parameters
    ----------
    labels : (R * columns,) array of int
        At least 0 and less than the rows of `table`.
    shape : (5,) array of int64
        Leading axes, padded with ones in front.
    axes : int
        How many of the leading axes are measured: the last ones.
    outline : bool
        Whether to count classes of border pixels.
    table : (labels, 1 + 4 * (axes + 1) [+ 3]) array of int64
        Updated. Rows begin as `open_table` makes them.
    """
    words = -(-columns // 64)
    leading = AXES - axes
    strides = np.ones(AXES, np.int64)
    for axis in range(AXES - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    changes = np.empty(words, np.uint64)
    foreground = np.empty(words, np.uint64)
    same = np.zeros((axes, words), np.uint64)
    marks = np.zeros((3, words), np.uint64)
    borders = np.zeros((3, words), np.uint64)
    if outline:
        if position[4] > 0:
            find_border(labels, columns, shape[4], first_row - 1, position[4] - 1, borders[0])
        find_border(labels, columns, shape[4], first_row, position[4], borders[1])
    for row in range(first_row, last_row):
        filled = find_changes(labels, columns, row, foreground, changes)
        if outline:
            if position[4] + 1 < shape[4]:
                find_border(labels, columns, shape[4], row + 1, position[4] + 1, borders[2])
            else:
                borders[2] = NONE
        if filled:
            for axis in range(axes):
                find_pairs(
                    labels,
                    columns,
                    row,
                    row - strides[leading + axis] if position[leading + axis] > 0 else -1,
                    foreground,
                    same[axis],
                )
            if outline:
                classify_border(labels, columns, row, borders, marks)
            add_runs(labels, columns, row, position, axes, changes, same, outline, marks, table)
        if outline:
            if position[4] + 1 < shape[4]:
                borders[0] = borders[1]
                borders[1] = borders[2]
            else:
                borders[0] = NONE
                if row + 1 < last_row:
                    find_border(labels, columns, shape[4], row + 1, 0, borders[1])
        advance(shape, position)


@njit(nogil=True, cache=True)
def find_changes(labels, columns, row, foreground, changes):
    """Set bits where labels are not 0, and where they differ from the pixel before."""
    zero = labels.dtype.type(0)
    filled = NONE
    for word in range(foreground.size):
        start = row * columns + 64 * word
        width = min(64, columns - 64 * word)
        some = differs_within(labels, start, zero, width)
        foreground[word] = some
        change = NONE
        if some != NONE or (word > 0 and foreground[word - 1] >> LAST):
            change = ~agrees_within(labels, start, start - 1, width)
            if width < 64:
                change &= (ONE << np.uint64(width)) - ONE
            if word == 0:
                change |= ONE
        changes[word] = change
        filled |= some
    return filled != NONE


@njit(nogil=True, cache=True)
def find_pairs(labels, columns, row, other, foreground, same):
    """Set bits where a label stands in another row too; `other` is negative outside the image."""
    for word in range(foreground.size):
        same[word] = NONE
        if foreground[word] != NONE and other >= 0:
            start = row * columns + 64 * word
            width = min(64, columns - 64 * word)
            there = other * columns + 64 * word
            same[word] = foreground[word] & agrees_within(labels, start, there, width)


@njit(nogil=True, cache=True)
def find_border(labels, columns, height, row, y, border):
    """Set bits where a label has a neighbor across an edge that is another, or outside."""
    zero = labels.dtype.type(0)
    for word in range(border.size):
        start = row * columns + 64 * word
        width = min(64, columns - 64 * word)
        some = differs_within(labels, start, zero, width)
        if some != NONE:
            inner = some
            inner &= agrees_within(labels, start, start - 1, width)
            inner &= agrees_within(labels, start, start + 1, width)
            if word == 0:
                inner &= ~ONE
            if word + 1 == border.size:
                inner &= ~(ONE << np.uint64(width - 1))
            if y == 0 or y == height - 1:
                inner = NONE
            elif inner != NONE:
                inner &= agrees_within(labels, start, start - columns, width)
                inner &= agrees_within(labels, start, start + columns, width)
            some &= ~inner
        border[word] = some


@njit(nogil=True, cache=True)
def classify_border(labels, columns, row, borders, marks):
    """Sort border pixels by how many of their neighbors are border pixels of the same label.

    With `a` of them across edges and `b` across corners, ``marks[0]`` is set for a in (2, 3) and
    b < 3, ``marks[1]`` for (a, b) = (0, 2) or (1, 3), ``marks[2]`` for a = 1 and b in (1, 2):
    the three weights of Benkrid and Crookes' estimate of the perimeter.

    Parameters
    ----------
    borders : (3, words) array of uint64
        Border pixels of the row before, this one and the next.
    """
    words = borders.shape[1]
    for word in range(words):
        center = borders[1, word]
        marks[0, word] = NONE
        marks[1, word] = NONE
        marks[2, word] = NONE
        if center == NONE:
            continue
        start = row * columns + 64 * word
        width = min(64, columns - 64 * word)
        before = word - 1
        after = word + 1
        shifted = np.empty((3, 2), np.uint64)
        for k in range(3):
            shifted[k, 0] = borders[k, word] << ONE
            shifted[k, 1] = borders[k, word] >> ONE
            if before >= 0:
                shifted[k, 0] |= borders[k, before] >> LAST
            if after < words:
                shifted[k, 1] |= borders[k, after] << LAST
        up = start - columns
        down = start + columns
        a1, a2, a4 = tally(
            meeting(labels, start, up, width, borders[0, word] & center),
            meeting(labels, start, down, width, borders[2, word] & center),
            meeting(labels, start, start - 1, width, shifted[1, 0] & center),
            meeting(labels, start, start + 1, width, shifted[1, 1] & center),
        )
        b1, b2, b4 = tally(
            meeting(labels, start, up - 1, width, shifted[0, 0] & center),
            meeting(labels, start, up + 1, width, shifted[0, 1] & center),
            meeting(labels, start, down - 1, width, shifted[2, 0] & center),
            meeting(labels, start, down + 1, width, shifted[2, 1] & center),
        )
        none = center & ~a1 & ~a2 & ~a4
        one = center & a1 & ~a2
        marks[0, word] = center & a2 & ~(b1 & b2) & ~b4
        marks[1, word] = (none & b2 & ~b1) | (one & b1 & b2)
        marks[2, word] = one & (b1 ^ b2)


@njit(nogil=True, cache=True)
def meeting(labels, start, other, width, candidates):
    """Keep the candidates whose label is that of a neighbor."""
    if candidates == NONE:
        return NONE
    return candidates & agrees_within(labels, start, other, width)


@njit(nogil=True, cache=True)
def tally(p, q, r, s):
    """Add four words bit by bit: the ones, twos and fours of each sum."""
    pq = p ^ q
    rs = r ^ s
    return pq ^ rs, (p & q) ^ (r & s) ^ (pq & rs), p & q & r & s


@njit(nogil=True, cache=True)
def count_between(words, begin, end):
    """Count the bits of a row from one column to before another."""
    first = begin >> 6
    last = (end - 1) >> 6
    head = ~((ONE << np.uint64(begin & 63)) - ONE)
    tail = ~NONE >> np.uint64(63 - ((end - 1) & 63))
    if first == last:
        return popcount(words[first] & head & tail)
    count = popcount(words[first] & head) + popcount(words[last] & tail)
    for word in range(first + 1, last):
        count += popcount(words[word])
    return count


@njit(nogil=True, cache=True)
def add_runs(labels, columns, row, position, axes, changes, same, outline, marks, table):
    """Add the runs of one row to the table; runs end where the next change is."""
    begin = -1
    label = 0
    for word in range(changes.size):
        change = changes[word]
        while change != NONE:
            x = 64 * word + lowest(change)
            change &= change - ONE
            if begin >= 0:
                add_run(table[label], begin, x, position, axes, same, outline, marks)
            label = np.int64(labels[row * columns + x])
            begin = x if label else -1
    if begin >= 0:
        add_run(table[label], begin, columns, position, axes, same, outline, marks)


@njit(nogil=True, cache=True, forceinline=True)
def add_run(line, begin, end, position, axes, same, outline, marks):
    """Add one run to the line of its label."""
    length = end - begin
    line[0] += length
    for axis in range(axes):
        place = position[AXES - axes + axis]
        column = 1 + 4 * axis
        line[column] += place * length
        line[column + 1] = min(line[column + 1], place)
        line[column + 2] = max(line[column + 2], place + 1)
        line[column + 3] += count_between(same[axis], begin, end)
    column = 1 + 4 * axes
    line[column] += (begin + end - 1) * length // 2
    line[column + 1] = min(line[column + 1], begin)
    line[column + 2] = max(line[column + 2], end)
    line[column + 3] += 1
    if outline:
        for k in range(3):
            line[column + 4 + k] += count_between(marks[k], begin, end)


@njit(nogil=True, cache=True)
def add_values(labels, values, begin, end, sums, lows, highs):
    """Add the values of some pixels to sums, and keep the least and greatest of each label.

    Parameters
    ----------
    labels : (P,) array of int
        At least 0 and less than the length of `sums`.
    values : (P,) array of int or float
        Measured.
    sums : (labels,) array of int64 or float64
        Updated, as are `lows` and `highs`. NaN is kept.
    """
    for pixel in range(begin, end):
        label = labels[pixel]
        if label:
            value = values[pixel]
            sums[label] += value
            if value < lows[label] or value != value:
                lows[label] = value
            if value > highs[label] or value != value:
                highs[label] = value


@njit(nogil=True, cache=True)
def add_squares(labels, values, begin, end, means, squares):
    """Add the squared distances of some pixels' values from the mean of their label."""
    for pixel in range(begin, end):
        label = labels[pixel]
        if label:
            distance = values[pixel] - means[label]
            squares[label] += distance * distance
