"""Neighbors of 64 pixels at a time: pairs of equal labels, Euler numbers and outlines."""

from __future__ import annotations

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE
from equilabel.devices.jit import called, inlined, njit
from equilabel.runs.cpu.packing import agrees_within, differs_within

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
def overlay(bits, starts, shape, steps, first_row, last_row, planes):
    """Do as `compare` for an image of one value in which all neighbors have the same label.

    `bits`, (R + 1, words), is the foreground, without bits after the last column. Where blocks are
    single rows, `starts`, (R, words), tell where runs begin, also of several values, if the only
    step is to the left.
    """
    left = steps.shape[0]
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
            if starts.shape[0] + 1 == bits.shape[0]:
                planes[row - first_row, word, left] &= ~starts[row, word]


@called
def within(word, begin, end):
    """Return a word with the bits of columns `begin` to before `end`."""
    inside = ~NONE
    if begin > 64 * word:
        inside = NONE if begin >= 64 * word + 64 else inside << np.uint64(begin - 64 * word)
    if end < 64 * word + 64:
        inside = NONE if end <= 64 * word else inside & ((ONE << np.uint64(end - 64 * word)) - ONE)
    return inside


@called
def find_starts(planes, row, word, left, begin, end):
    """Return the bits of a word where a run begins; runs are cut at the first column."""
    same = planes[row, word, left]
    if begin >> 6 == word:
        same &= ~(ONE << np.uint64(begin & 63))
    return planes[row, word, 0] & ~same & within(word, begin, end)


@called
def find_ends(planes, row, word, left, begin, end):
    """Return the bits of a word where a run ends; runs are cut at the last column."""
    same = planes[row, word, left] >> ONE
    if word + 1 < planes.shape[1]:
        same |= planes[row, word + 1, left] << LAST
    if (end - 1) >> 6 == word:
        same &= ~(ONE << np.uint64((end - 1) & 63))
    return planes[row, word, 0] & ~same & within(word, begin, end)


# ---- From planes of bits to planes of configurations whose bits add up to Euler numbers
# The Euler number of an object with full connectivity is that of the union of its closed pixels:
# vertices - edges + pixels in 2D, vertices - edges + faces - voxels in 3D. Each of these cells is
# counted at the first pixel of its label, in raster order, that touches it. With face connectivity
# it is that of the graph of pixels with its cells filled: pixels - pairs + squares - cubes, each
# counted at its last pixel. Both sums are reduced here so that almost no bit is left inside an
# object. Objects that touch do not influence each other, since only equal labels are neighbors.
#
# Letters are the bits of a step: ``w`` left, ``n`` above, ``u`` the plane before, which 2D has not.

FULL = (1, -1, 1, -1, -1)  # what the bits of each plane count; in 2D there are the first two
FACE = (1, -1, 1, -1)


@njit(nogil=True, cache=True)
def euler_full(planes, first, last, left, to):
    """Set the bits that count if corners connect: planes from `to` on, for some rows.

    The first planes are those of `compare` with all steps, of which `left` is the last one.
    Summed over the eight windows of 2 x 2 x 2 voxels, the twelve of 2 x 2 and the six of 2 around
    a voxel, most first touches cancel; five words are left.
    """
    for row in range(first, last):
        for word in range(planes.shape[1]):
            some = planes[row, word, 0]
            nw = planes[row, word, left - 3]
            n = planes[row, word, left - 2]
            ne = planes[row, word, left - 1]
            w = planes[row, word, left]
            if left == 4:
                planes[row, word, to] = some & ~(nw | n | w)
                planes[row, word, to + 1] = ne & ~n
                continue
            unw = planes[row, word, 1]
            un = planes[row, word, 2]
            une = planes[row, word, 3]
            uw = planes[row, word, 4]
            u = planes[row, word, 5]
            ue = planes[row, word, 6]
            usw = planes[row, word, 7]
            us = planes[row, word, 8]
            use = planes[row, word, 9]
            planes[row, word, to] = some & ~(unw | un | uw | u | nw | n | w)
            planes[row, word, to + 1] = (ne | ue | une) & ~(n | un | u)
            planes[row, word, to + 2] = ue & ~u
            planes[row, word, to + 3] = (ue | use) & ~(u | us)
            planes[row, word, to + 4] = (us | usw) & ~(w | uw | u)


@njit(nogil=True, cache=True)
def euler_face(planes, first, last, left, to):
    """Set the bits that count if faces connect, as `euler_full` does."""
    for row in range(first, last):
        for word in range(planes.shape[1]):
            n = planes[row, word, left - 2]
            w = planes[row, word, left]
            north = w & planes[row, word, left - 3]
            planes[row, word, to] = planes[row, word, 0] & ~w
            planes[row, word, to + 1] = n & ~north
            if left > 4:
                uw = planes[row, word, 4]
                u = planes[row, word, 5]
                cube = north & uw & planes[row, word, 1]
                planes[row, word, to + 2] = n & u & planes[row, word, 2] & ~cube
                planes[row, word, to + 3] = u & ~(w & uw)


EULER = {"euler_full": (euler_full, FULL), "euler_face": (euler_face, FACE)}  # groups of the table


# ---- Border pixels of labels, classified by their neighbors for an estimate of the perimeter
# A border pixel has a neighbor across an edge that is not of its label. Its neighbors that are
# border pixels of the same label are counted: `a` across edges and `b` across corners. Benkrid and
# Crookes give it the weight 1 for a in (2, 3) and b < 3, sqrt(2) for (a, b) = (0, 2) or (1, 3), and
# their mean for a = 1 and b in (1, 2).

EQUAL = 3  # planes filled by `classify`: weight 1, sqrt(2), and the mean of both
UNEVEN = 8  # straight along x, y, (x y), (x x y), (x y y); diagonal; half diagonal, half x or y


@njit(nogil=True, cache=True)
def find_border(planes, border):
    """Set bits where a label has a neighbor across an edge that has another label, or none.

    `planes` are those of `compare`, 2D; the last row of `border`, (rows, words), sees none below.
    """
    rows, words = border.shape
    for row in range(rows):
        for word in range(words):
            left = planes[row, word, 4]
            right = left >> ONE
            if word + 1 < words:
                right |= planes[row, word + 1, 4] << LAST
            below = planes[row + 1, word, 2] if row + 1 < rows else NONE
            border[row, word] = planes[row, word, 0] & ~(
                left & right & planes[row, word, 2] & below
            )


@njit(nogil=True, cache=True)
def classify(planes, border, first, last, uneven, to):
    """Sort the border pixels of rows into planes from `to` on: `EQUAL`, or `UNEVEN` if `uneven`.

    `border` must be right from the row before `first` to the one after `last`.
    """
    for row in range(first, last):
        for word in range(border.shape[1]):
            center = border[row, word]
            for k in range(UNEVEN if uneven else EQUAL):
                planes[row, word, to + k] = NONE
            if center == NONE:
                continue
            north, south, west, east, diagonals = border_beside(planes, border, row, word)
            a1, a2, a4 = tally(north, south, west, east)
            b1, b2, b4 = diagonals
            straight = center & a2 & ~(b1 & b2) & ~b4
            one = center & a1 & ~a2
            diagonal = (center & ~a1 & ~a2 & ~a4 & b2 & ~b1) | (one & b1 & b2)
            mixed = one & (b1 ^ b2)
            if uneven:
                some_x = west ^ east
                some_y = north ^ south
                both_x = west & east
                both_y = north & south
                planes[row, word, to] = straight & both_x & ~north & ~south
                planes[row, word, to + 1] = straight & both_y & ~west & ~east
                planes[row, word, to + 2] = straight & some_x & some_y
                planes[row, word, to + 3] = straight & both_x & some_y
                planes[row, word, to + 4] = straight & both_y & some_x
                planes[row, word, to + 5] = diagonal
                planes[row, word, to + 6] = mixed & some_x
                planes[row, word, to + 7] = mixed & some_y
            else:
                planes[row, word, to] = straight
                planes[row, word, to + 1] = diagonal
                planes[row, word, to + 2] = mixed


@inlined
def border_beside(planes, border, row, word):
    """Return where the neighbors of a word's pixels are border pixels of the same label.

    North, south, west, east; and the number of such diagonal neighbors, as of `tally`.
    """
    rows, words = border.shape
    north = NONE
    northwest = NONE
    northeast = NONE
    if row > 0:
        north = border[row - 1, word]
        northwest = north << ONE
        northeast = north >> ONE
        if word > 0:
            northwest |= border[row - 1, word - 1] >> LAST
        if word + 1 < words:
            northeast |= border[row - 1, word + 1] << LAST
    south = NONE
    southwest = NONE
    southeast = NONE
    if row + 1 < rows:
        south = planes[row + 1, word, 2] & border[row + 1, word]
        southwest = (planes[row + 1, word, 3] & border[row + 1, word]) << ONE
        southeast = (planes[row + 1, word, 1] & border[row + 1, word]) >> ONE
        if word > 0:
            southwest |= (planes[row + 1, word - 1, 3] & border[row + 1, word - 1]) >> LAST
        if word + 1 < words:
            southeast |= (planes[row + 1, word + 1, 1] & border[row + 1, word + 1]) << LAST
    west = border[row, word] << ONE
    east = (planes[row, word, 4] & border[row, word]) >> ONE
    if word > 0:
        west |= border[row, word - 1] >> LAST
    if word + 1 < words:
        east |= (planes[row, word + 1, 4] & border[row, word + 1]) << LAST
    diagonals = tally(
        planes[row, word, 1] & northwest,
        planes[row, word, 3] & northeast,
        southwest,
        southeast,
    )
    return north & planes[row, word, 2], south, west & planes[row, word, 4], east, diagonals


@inlined
def tally(p, q, r, s):
    """Add four words bit by bit: return the ones, twos and fours of each sum."""
    pq = p ^ q
    rs = r ^ s
    return pq ^ rs, (p & q) ^ (r & s) ^ (pq & rs), p & q & r & s
