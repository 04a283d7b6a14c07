"""Kernels for the outlines of labeled objects, drawn again whenever a threshold is moved."""

import numpy as np

from equilabel.devices.jit import inlined, njit

OUTSIDE, INSIDE, EDGE = np.uint8(0), np.uint8(1), np.uint8(2)


@njit(nogil=True, cache=True)
def draw_outlines(labels, code):
    """Write `OUTSIDE`, `INSIDE` or `EDGE` for each pixel into `code`, (M, N) uint8.

    Pixels at the edge of an object have a neighbor of another label; beyond the border are none.
    """
    rows, columns = labels.shape
    last = columns - 1
    for y in range(rows):
        here, above, below = labels[y], labels[max(y - 1, 0)], labels[min(y + 1, rows - 1)]
        left, right, out = here[:-2], here[2:], code[y]
        for x, beside in ((0, min(1, last)), (last, max(last - 1, 0))):
            out[x] = place(here[x], above[x], below[x], here[beside], here[beside])
        here, above, below, out = here[1:-1], above[1:-1], below[1:-1], out[1:-1]
        for x in range(columns - 2):
            out[x] = place(here[x], above[x], below[x], left[x], right[x])


@inlined
def place(value, above, below, left, right):
    """Return the code of a pixel from its value and those of its four neighbors."""
    same = (above == value) & (below == value) & (left == value) & (right == value)
    return OUTSIDE if value == 0 else INSIDE if same else EDGE
