"""Labels replaced by means of a table, and the first element of each."""

import numpy as np

from equilabel.devices.jit import njit


@njit(nogil=True, cache=True)
def renumber(labels, numbers):
    """Replace labels 0 to N by `numbers`, (N + 1,).

    `labels`, (P,) of int, is overwritten; its type holds the numbers. Not checked.
    """
    for i in range(labels.size):
        labels[i] = numbers[labels[i]]


@njit(nogil=True, cache=True)
def list_firsts(labels, firsts):
    """Find the first element of each label.

    `labels`, (P,) of int, are 0 to N, where 1 to N are in the order of their first elements (not
    checked). `firsts`, (N,) of int64, is overwritten by flat indices.
    """
    found = 0
    for i in range(labels.size):
        if labels[i] > found:
            firsts[found] = i
            found += 1
            if found == firsts.size:
                return


@njit(nogil=True, cache=True)
def place_in_image(flat, sides, origin, strides, out):
    """Find where elements of a block, (N,) flat indices, are in the whole image: `out`, (N,).

    `sides` and `origin`, (D,), are those of the block; `strides`, (D,), those of the image.
    """
    first = np.int64(0)
    for axis in range(sides.size):
        first += origin[axis] * strides[axis]
    for i in range(flat.size):
        rest, found = flat[i], first
        for axis in range(sides.size - 1, 0, -1):
            above = rest // sides[axis]
            found += (rest - above * sides[axis]) * strides[axis]
            rest = above
        out[i] = found + rest * strides[0]
