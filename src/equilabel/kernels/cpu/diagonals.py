"""The pass that tells apart pixels of one value that touch without connecting.

Planes and steps are those of `neighbor_bits`; the labels are those of runs.
"""

import numpy as np

from .bits import LAST, NONE, ONE, lowest
from .caching import njit
from .run_table import block_of, label_at


@njit(nogil=True, cache=True)
def separate(runs, steps, first_row, last_row, planes):
    """Take out of what `neighbor_bits.overlay` found the neighbors with another label.

    Neighbors across a face have the same. Others do if one of the steps between leads to a pixel
    of the same label, which touches the other across a face, or if the pixel to the right touches
    both; what is left is looked up.

    Parameters
    ----------
    runs : Runs
        Whose `parents` are labels by now.
    """
    count = steps.shape[0]
    hops = np.zeros(count, np.int64)
    between = np.full((count, 3), -1)  # steps that differ in one axis, which they do not go along
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
    blocks = np.empty(1 + count, np.int64)  # of a row, and of those that the steps lead to
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
