"""Labels at the ends of axes, pairs of labels that touch where blocks meet, and their unions."""

import numpy as np

from equilabel.devices.cpu.bits import NONE, ONE
from equilabel.devices.cpu.union_find import unite
from equilabel.devices.jit import njit

from .run_table import block_of, label_at

# ---- Union-find over edges that come a few at a time and are not kept


@njit(nogil=True, cache=True)
def unite_edges(parents, edges):
    """Unite the two ends of every edge, (E, 2) of int64, all less than the size P of the forest.

    `parents` is (P,) of int32 or int64, ``arange(P)`` at first. Nothing is checked.
    """
    for i in range(edges.shape[0]):
        unite(parents, edges[i, 0], edges[i, 1])


@njit(nogil=True, cache=True)
def lower_firsts(parents, firsts):
    """Point every element at its root, set ``firsts[root]`` to the least of its component.

    `parents` is (P,) of int32 or int64, a forest; `firsts` is (P,) of int64.
    """
    for i in range(parents.size):
        root = parents[parents[i]]  # that of an earlier element is resolved
        parents[i] = root
        if firsts[i] < firsts[root]:
            firsts[root] = firsts[i]


# ---- Pairs of labels that touch where two blocks meet

SEEN = 1024  # slots of a hash table of recent pairs, which are not listed again


@njit(nogil=True, cache=True)
def list_pairs(labels, opposite, rows, columns, corners, values, others, pairs):
    """List pairs of labels, (P, 2), that touch between two layers, (R, W); return how many.

    Where an element matches the opposite one, its other neighbors there are skipped. `rows`,
    `columns` and `corners` say whether it touches what is beside that, along each axis and both.
    `values` and `others`, of the labels of either layer, must be equal; empty if they need not.
    """
    found = 0
    seen = np.zeros((SEEN, 2), np.int64)
    some = values.size > 0
    height, width = labels.shape
    for row in range(height):
        above, below = max(row - rows, 0), min(row + rows, height - 1)
        for column in range(width):
            label = np.int64(labels[row, column])
            if label <= 0:
                continue
            left, right = max(column - columns, 0), min(column + columns, width - 1)
            straight = np.int64(opposite[row, column])
            matches = straight > 0 and not (some and values[label - 1] != others[straight - 1])
            if matches:
                above_here, below_here, left, right = row, row, column, column
            else:
                above_here, below_here = above, below
            for r in range(above_here, below_here + 1):
                for c in range(left, right + 1):
                    if r != row and c != column and not corners:
                        continue
                    other = np.int64(opposite[r, c])
                    if other <= 0 or (some and values[label - 1] != others[other - 1]):
                        continue
                    slot = (label * 31 + other) & (SEEN - 1)
                    if seen[slot, 0] == label and seen[slot, 1] == other:
                        continue
                    seen[slot, 0], seen[slot, 1] = label, other
                    if found < pairs.shape[0]:
                        pairs[found, 0], pairs[found, 1] = label, other
                    found += 1
    return found


# ---- Labels at the border of an image, from its table of runs: the image is not painted


@njit(nogil=True, cache=True)
def mark_border(runs, columns, axes, marks):
    """Write 1 to `marks`, (N + 1,), for labels, and 0, at the ends of the last axis and of others.

    These are the last `axes` of the leading axes. The `parents` of `runs` are labels by now.
    """
    for row in range(runs.bits.shape[0] - 1):
        block, bits = block_of(runs, row), runs.bits[row]
        rest, whole = row, False
        for axis in range(runs.shape.size - 1, runs.shape.size - 1 - axes, -1):
            above = rest // runs.shape[axis]
            place = rest - above * runs.shape[axis]
            whole |= place == 0 or place == runs.shape[axis] - 1
            rest = above
        for x in range(0, columns, 1 if whole else max(columns - 1, 1)):
            inside = (bits[x >> 6] & (ONE << np.uint64(x & 63))) != NONE
            marks[label_at(runs, block, x) if inside else 0] = 1
