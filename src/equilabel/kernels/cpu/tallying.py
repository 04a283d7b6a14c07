"""Passes that measure labels, in closed form over runs.

Each label has a row of a table of integers: its pixels, then four columns for each axis (sum of
coordinates, first, last + 1, and pairs of neighbors along it), then three classes of border
pixels. For the last axis the fourth column counts runs: pairs are pixels less runs. Rows of
several tables add up, but for first and last, of which the least and greatest hold.
"""

import numpy as np
from numba import njit

from .bits import LAST, NONE, ONE, agrees_within, differs_within, lowest, popcount
from .outlining import classify, find_border
from .packing import AXES, advance, locate

NOWHERE = np.iinfo(np.int64).max


@njit(nogil=True, cache=True)
def accumulate(labels, columns, shape, axes, outline, first_row, last_row, table):
    """Add the runs of some rows to a table.

    Parameters
    ----------
    labels : (R * columns,) array of int
        Any; what the table has no row for is reported.
    shape : (5,) array of int64
        Leading axes, padded with ones in front.
    axes : int
        How many of the leading axes are measured: the last ones.
    outline : bool
        Whether to count classes of border pixels; needs an axis to measure.
    table : (labels, 1 + 4 * (axes + 1) [+ 3]) array of int64
        Updated. Rows begin as `open_table` makes them.

    Returns
    -------
    bool
        Whether the table had a row for every label; if not, it is unfinished.
    """
    words = -(-columns // 64)
    leading = AXES - axes
    rows = labels.size // columns
    strides = np.ones(AXES, np.int64)
    for axis in range(AXES - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    changes = np.empty(words, np.uint64)
    same = np.zeros((axes, words), np.uint64)
    marks = np.zeros((3, words), np.uint64)
    # Four rows of bits at a time: foreground, equal to the left, above, above left, above right.
    window = np.zeros((4, 5, words), np.uint64)
    border = np.zeros((4, words), np.uint64)
    ahead = 0
    if outline:
        ahead = 2
        for row in range(max(first_row - 1, 0), min(first_row + 2, rows)):
            read_row(labels, columns, row, row % shape[4], True, window[row & 3])
        for row in range(max(first_row - 1, 0), first_row + 1):
            find_border(window[row & 3], window[(row + 1) & 3], border[row & 3])
    for row in range(first_row, last_row):
        if row + ahead < rows:
            y = (position[4] + ahead) % shape[4]
            read_row(labels, columns, row + ahead, y, outline, window[(row + ahead) & 3])
        else:
            clear(window[(row + ahead) & 3])
        if outline:
            find_border(window[(row + 1) & 3], window[(row + 2) & 3], border[(row + 1) & 3])
        here = window[row & 3]
        if find_changes(here, changes):
            for axis in range(axes):
                if leading + axis == AXES - 1:
                    for word in range(words):
                        same[axis, word] = here[2, word]
                elif position[leading + axis] > 0:
                    there = row - strides[leading + axis]
                    find_pairs(labels, columns, row, there, here[0], same[axis])
                else:
                    for word in range(words):
                        same[axis, word] = NONE
            if outline:
                below = window[(row + 1) & 3]
                classify(
                    here,
                    below,
                    border[(row - 1) & 3],
                    border[row & 3],
                    border[(row + 1) & 3],
                    marks,
                )
            if not add_runs(
                labels, columns, row, position, axes, changes, same, outline, marks, table
            ):
                return False
        advance(shape, position)
    return True


@njit(nogil=True, cache=True)
def clear(window):
    """Take all bits out of a row of the window."""
    for kind in range(window.shape[0]):
        for word in range(window.shape[1]):
            window[kind, word] = NONE


@njit(nogil=True, cache=True)
def read_row(labels, columns, row, y, outline, window):
    """Compare the labels of a row with those next to them.

    Parameters
    ----------
    y : int
        Place of the row along the second axis from the end; the first has none above.
    outline : bool
        Whether to compare across corners too.
    window : (5, words) array of uint64
        Overwritten: where labels are not 0, and where they are also those to the left, above,
        above to the left and above to the right.
    """
    zero = labels.dtype.type(0)
    words = window.shape[1]
    for word in range(words):
        start = row * columns + 64 * word
        width = min(64, columns - 64 * word)
        some = differs_within(labels, start, zero, width)
        left = NONE
        above = NONE
        above_left = NONE
        above_right = NONE
        if some != NONE:
            left = some & agrees_within(labels, start, start - 1, width)
            if word == 0:
                left &= ~ONE
            if y > 0:
                up = start - columns
                above = some & agrees_within(labels, start, up, width)
                if outline:
                    above_left = some & agrees_within(labels, start, up - 1, width)
                    above_right = some & agrees_within(labels, start, up + 1, width)
                    if word == 0:
                        above_left &= ~ONE
                    if word + 1 == words:
                        above_right &= ~(ONE << np.uint64(width - 1))
        window[0, word] = some
        window[1, word] = left
        window[2, word] = above
        window[3, word] = above_left
        window[4, word] = above_right


@njit(nogil=True, cache=True)
def find_changes(window, changes):
    """Set bits where a run begins, and after the last pixel of one; tell if there is any."""
    before = NONE
    filled = NONE
    for word in range(changes.size):
        some = window[0, word]
        changes[word] = (some & ~window[1, word]) | (~some & ((some << ONE) | before))
        before = some >> LAST
        filled |= some
    return filled != NONE


@njit(nogil=True, cache=True)
def find_pairs(labels, columns, row, other, foreground, same):
    """Set bits where a label stands in another row too."""
    for word in range(foreground.size):
        same[word] = NONE
        if foreground[word] != NONE:
            start = row * columns + 64 * word
            width = min(64, columns - 64 * word)
            there = other * columns + 64 * word
            same[word] = foreground[word] & agrees_within(labels, start, there, width)


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
    """Add the runs of one row to the table, and tell if it had a line for each of them."""
    begin = -1
    label = 0
    for word in range(changes.size):
        change = changes[word]
        while change != NONE:
            x = 64 * word + lowest(change)
            change &= change - ONE
            if begin >= 0:
                add_run(table[label], begin, x, position, axes, same, outline, marks)
            label = np.int64(labels[row * columns + x]) if x < columns else 0
            begin = x if label else -1
            if label < 0 or label >= table.shape[0]:
                return False
    if begin >= 0:
        add_run(table[label], begin, columns, position, axes, same, outline, marks)
    return True


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
