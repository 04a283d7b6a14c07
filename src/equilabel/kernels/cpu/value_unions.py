"""The pass that unites touching runs in images of many values."""

import numpy as np

from .bits import LAST, NONE, ONE
from .caching import inlined, njit
from .run_contacts import unite_contacts
from .run_table import AXES, advance, locate
from .vector_compare import agrees_within


@njit(nogil=True, cache=True)
def link_values(pixels, columns, runs, edges, span):
    """Unite every run with the runs of equal value that it touches in earlier rows.

    As `link`, for images of many values: blocks are single rows, and values are compared.
    """
    shape = runs.shape
    first_row, last_row, low, high = span
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    for row in range(first_row, last_row):
        for edge in range(edges.shape[0]):
            other = 0
            for axis in range(AXES):
                there = position[axis] + edges[edge, axis]
                if there < 0 or there >= shape[axis]:
                    other = -1
                    break
                other = other * shape[axis] + there
            if other < low or other >= high:
                continue
            link_row(pixels, columns, runs, row, other, edges[edge, AXES] != 0)
        advance(shape, position)


@inlined
def link_row(pixels, columns, runs, row, other, diagonal):
    """Unite the runs of a row with the runs of equal value that they touch in another row.

    Parameters
    ----------
    diagonal : bool
        Whether corners touch.
    """
    bits, starts = runs.bits, runs.starts
    words = bits.shape[1]
    carry = NONE
    for word in range(words):
        foreground = bits[row, word]
        if foreground == NONE:
            carry = NONE
            continue
        start = row * columns + 64 * word
        there = other * columns + 64 * word
        width = min(64, columns - 64 * word)
        here = starts[row, word]
        same = foreground & agrees_within(pixels, start, there, width)
        events = same & (here | ~((same << ONE) | carry))
        carry = same >> LAST
        left = NONE
        right = NONE
        if diagonal:
            alone = foreground & ~same
            left = alone & here & agrees_within(pixels, start, there - 1, width)
            if word == 0:
                left &= ~ONE
            right = alone & ~((foreground & ~here) >> ONE)
            right &= agrees_within(pixels, start, there + 1, width)
            if word + 1 == words:
                right &= ~(ONE << np.uint64(width - 1))
        unite_contacts(runs, events, left, right, row, other, word)
