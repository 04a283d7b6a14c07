"""Kernels for the outlines of labeled objects, drawn again whenever a threshold is moved."""

import numpy as np

from equilabel.devices.jit import called, inlined, njit

OUTSIDE, INSIDE, EDGE = np.uint8(0), np.uint8(1), np.uint8(2)


@njit(nogil=True, cache=True)
def draw_outlines(labels, width, code):
    """Write `OUTSIDE`, `INSIDE` or `EDGE` for each pixel into `code`, (M, N) uint8.

    The edge of an object is its pixels up to `width` steps away from another label. The border of
    the image is not an edge.
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
    for step in range(1, width):
        widen(code, EDGE + np.uint8(step - 1))
    if width > 1:
        for y in range(rows):
            for x in range(columns):
                code[y, x] = min(code[y, x], EDGE)


@inlined
def place(value, above, below, left, right):
    """Return the code of a pixel from its value and those of its four neighbors."""
    same = (above == value) & (below == value) & (left == value) & (right == value)
    return OUTSIDE if value == 0 else INSIDE if same else EDGE


@called
def widen(code, edge):
    """Write ``edge + 1`` for the inside pixels that have a neighbor of code `edge`."""
    rows, columns = code.shape
    for y in range(rows):
        here, above, below = code[y], code[max(y - 1, 0)], code[min(y + 1, rows - 1)]
        for x in range(columns):
            if here[x] == INSIDE:
                left, right = here[max(x - 1, 0)], here[min(x + 1, columns - 1)]
                if (above[x] == edge) | (below[x] == edge) | (left == edge) | (right == edge):
                    here[x] = edge + np.uint8(1)
