"""Planes of bits: where an earlier neighbor has the same label."""

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, lowest, popcount
from equilabel.devices.jit import njit
from equilabel.runs.cpu.packing import agrees_within, differs_within
from equilabel.runs.cpu.run_table import block_of, label_at

# ---- From pixels to planes of bits: where a pixel has the label of an earlier neighbor
# Rows are lines along the last axis, of `columns` pixels in words of 64 bits. Leading axes are
# five, padded with ones in front. ``planes[row, word, 0]`` is set where labels are not 0,
# ``planes[row, word, 1 + s]`` where they also equal that at ``steps[s]``, a step (z, y, x) along
# the last three axes to an earlier pixel in raster order. The last step is (0, 0, -1).


@njit(nogil=True, cache=True)
def compare(labels, columns, shape, steps, first_row, last_row, planes):
    """Compare the labels of some rows with those of earlier neighbors.

    `labels` are flat, `shape`, (5,), has the leading axes, `steps` is (S, 3). `planes`,
    (>= rows, words, >= 1 + S), is overwritten from the first row on. Even if another thread
    changes labels meanwhile, each run of the planes has a start and an end.
    """
    zero = labels.dtype.type(0)
    words = -(-columns // 64)
    left = steps.shape[0]
    for row in range(first_row, last_row):
        y = row % shape[4]
        z = row // shape[4] % shape[3]
        before = NONE
        for word in range(words):
            start = row * columns + 64 * word
            width = min(64, columns - 64 * word)
            some = differs_within(labels, start, zero, width)
            planes[row - first_row, word, 0] = some
            for step in range(steps.shape[0]):
                dx = steps[step, 2]
                same = NONE
                if some != NONE and y + steps[step, 1] >= 0 and z + steps[step, 0] >= 0:
                    if y + steps[step, 1] < shape[4]:
                        ahead = steps[step, 0] * shape[4] + steps[step, 1]
                        other = start + ahead * columns + dx
                        same = some & agrees_within(labels, start, other, width)
                        if dx < 0 and word == 0:
                            same &= ~ONE
                        if dx > 0 and word + 1 == words:
                            same &= ~(ONE << np.uint64(width - 1))
                planes[row - first_row, word, 1 + step] = same
            planes[row - first_row, word, left] &= (some << ONE) | (before >> LAST)
            before = some


@njit(nogil=True, cache=True)
def overlay(bits, shape, steps, first_row, last_row, planes):
    """Do as `compare` for an image of one value in which all neighbors have the same label.

    `bits`, (>= R, words), is the foreground, without bits after the last column.
    """
    words = bits.shape[1]
    for row in range(first_row, last_row):
        y = row % shape[4]
        z = row // shape[4] % shape[3]
        for word in range(words):
            some = bits[row, word]
            planes[row - first_row, word, 0] = some
            for step in range(steps.shape[0]):
                dx = steps[step, 2]
                same = NONE
                if some != NONE and y + steps[step, 1] >= 0 and z + steps[step, 0] >= 0:
                    if y + steps[step, 1] < shape[4]:
                        other = row + steps[step, 0] * shape[4] + steps[step, 1]
                        same = bits[other, word]
                        if dx < 0:
                            same <<= ONE
                            if word > 0:
                                same |= bits[other, word - 1] >> LAST
                        elif dx > 0:
                            same >>= ONE
                            if word + 1 < words:
                                same |= bits[other, word + 1] << LAST
                        same &= some
                planes[row - first_row, word, 1 + step] = same


@njit(nogil=True, cache=True)
def count_starts(planes, first, last, left, begin, end):
    """Count the runs of some rows of planes in columns `begin` to before `end`."""
    runs = 0
    for row in range(first, last):
        for word in range(begin >> 6, ((end - 1) >> 6) + 1):
            if planes[row, word, 0] != NONE:
                runs += popcount(find_starts(planes, row, word, left, begin, end))
    return runs


@njit(nogil=True, cache=True)
def within(word, begin, end):
    """Return a word with the bits of columns `begin` to before `end`."""
    inside = ~NONE
    if begin > 64 * word:
        inside = NONE if begin >= 64 * word + 64 else inside << np.uint64(begin - 64 * word)
    if end < 64 * word + 64:
        inside = NONE if end <= 64 * word else inside & ((ONE << np.uint64(end - 64 * word)) - ONE)
    return inside


@njit(nogil=True, cache=True)
def find_starts(planes, row, word, left, begin, end):
    """Return the bits of a word where a run begins; runs are cut at the first column."""
    same = planes[row, word, left]
    if begin >> 6 == word:
        same &= ~(ONE << np.uint64(begin & 63))
    return planes[row, word, 0] & ~same & within(word, begin, end)


@njit(nogil=True, cache=True)
def find_ends(planes, row, word, left, begin, end):
    """Return the bits of a word where a run ends; runs are cut at the last column."""
    same = planes[row, word, left] >> ONE
    if word + 1 < planes.shape[1]:
        same |= planes[row, word + 1, left] << LAST
    if (end - 1) >> 6 == word:
        same &= ~(ONE << np.uint64((end - 1) & 63))
    return planes[row, word, 0] & ~same & within(word, begin, end)


@njit(nogil=True, cache=True)
def divide(bits, starts, first_row, last_row, planes):
    """Fill the planes of foreground and of the pixel to the left from the starts of runs."""
    for row in range(first_row, last_row):
        for word in range(bits.shape[1]):
            planes[row - first_row, word, 0] = bits[row, word]
            planes[row - first_row, word, 1] = bits[row, word] & ~starts[row, word]


# ---- Neighbors of one value that are not connected


@njit(nogil=True, cache=True)
def separate(runs, steps, first_row, last_row, planes):
    """Clear bits that `overlay` set for neighbors with another label; `runs.parents` are labels.

    Neighbors across a face have the same label. Others do if one of the steps between leads to a
    pixel of the same label, which shares a face with the other one, or if the pixel to the right
    shares a face with both; only for the rest, labels are looked up.
    """
    count = steps.shape[0]
    hops = np.zeros(count, np.int64)
    between = np.full((count, 3), -1)  # the same step without its part along an axis, if any
    for step in range(count):
        for axis in range(3):
            hops[step] += steps[step, axis] != 0
        for other in range(count):
            for axis in range(3):
                near = steps[step, axis] != 0 and steps[other, axis] == 0
                for rest in range(3):
                    near = near and (rest == axis or steps[other, rest] == steps[step, rest])
                if near:
                    between[step, axis] = other
    shape, words = runs.shape, runs.starts.shape[1]
    blocks = np.empty(1 + count, np.int64)  # of a row, and of the rows at each step
    for row in range(first_row, last_row):
        at = row - first_row
        blocks[0] = block_of(runs, row)
        for step in range(count):
            other = row + steps[step, 0] * shape[4] + steps[step, 1]
            blocks[1 + step] = block_of(runs, other)
        for word in range(words):
            some = planes[at, word, 0]
            if some == NONE:
                continue
            after = some >> ONE  # the pixel to the right is foreground
            if word + 1 < words:
                after |= planes[at, word + 1, 0] << LAST
            for level in range(2, 4):
                for step in range(count):
                    same = planes[at, word, 1 + step]
                    if hops[step] != level or same == NONE:
                        continue
                    apart = same
                    for axis in range(3):
                        if between[step, axis] >= 0:
                            apart &= ~planes[at, word, 1 + between[step, axis]]
                    if level == 2 and steps[step, 2] > 0:
                        apart &= ~after
                    while apart != NONE:
                        bit = apart & (~apart + ONE)
                        apart ^= bit
                        x = 64 * word + lowest(bit)
                        here = label_at(runs, blocks[0], x)
                        x += steps[step, 2]
                        if here != label_at(runs, blocks[1 + step], x):
                            same ^= bit
                    planes[at, word, 1 + step] = same
