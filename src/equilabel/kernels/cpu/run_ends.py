"""What blocks of an image have to know of each other, from their runs: no label is written."""

import numpy as np

from .bits import LAST, NONE, ONE, lowest
from .caching import njit
from .run_table import block_of, label_at


@njit(nogil=True, cache=True)
def list_firsts(runs, columns, firsts):
    """Find the first pixel of each label.

    Parameters
    ----------
    runs : Runs
        Whose `parents` are labels 1 to N by now, in the order of their first pixels. Not checked.
    firsts : (N,) array of int64
        Overwritten: flat indices.
    """
    found = 0
    single = runs.deep * runs.tall == 1
    for row in range(runs.bits.shape[0] - 1):
        block = block_of(runs, row)
        carry = NONE
        for word in range(runs.bits.shape[1]):
            if found == firsts.size:
                return
            pixels = runs.bits[row, word]
            begins = pixels & ~((pixels << ONE) | carry)
            carry = pixels >> LAST
            if single:  # values may tell runs apart
                begins = runs.starts[block, word]
            while begins != NONE:
                x = 64 * word + lowest(begins)
                begins &= begins - ONE
                if label_at(runs, block, x) > found:
                    firsts[found] = row * columns + x
                    found += 1


@njit(nogil=True, cache=True)
def paint_columns(runs, first, last, out):
    """Write the labels of some columns of all rows.

    Parameters
    ----------
    runs : Runs
        Whose `parents` are labels by now.
    first, last : int
        Columns from `first` to before `last`.
    out : (R, last - first) array of int
        Overwritten.
    """
    for row in range(runs.bits.shape[0] - 1):
        block = block_of(runs, row)
        for x in range(first, last):
            inside = (runs.bits[row, x >> 6] & (ONE << np.uint64(x & 63))) != NONE
            out[row, x - first] = label_at(runs, block, x) if inside else 0
