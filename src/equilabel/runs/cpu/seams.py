"""Where blocks meet: labels at their ends, pairs that touch, and unions of these."""

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, lowest
from equilabel.devices.cpu.union_find import unite
from equilabel.devices.jit import njit

from .run_table import block_of, label_at

# ---- Union-find over edges that come a few at a time: no edge is held, and no list of neighbors


@njit(nogil=True, cache=True)
def unite_edges(parents, edges):
    """Unite the two ends of every edge.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        A forest, see `union_find`; `arange(P)` at first. Overwritten.
    edges : (E, 2) array of int64
        Less than P. Not checked.
    """
    for i in range(edges.shape[0]):
        unite(parents, edges[i, 0], edges[i, 1])


@njit(nogil=True, cache=True)
def lower_firsts(parents, firsts):
    """Point every element at its root, and collect the least value of each component there.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        A forest. Overwritten.
    firsts : (P,) array of int64
        Overwritten: that of a root becomes the least of its component.

    Returns
    -------
    int
        Number of roots.
    """
    count = 0
    for i in range(parents.size):
        root = parents[parents[i]]  # that of an earlier element is resolved
        parents[i] = root
        count += root == i
        if firsts[i] < firsts[root]:
            firsts[root] = firsts[i]
    return count


@njit(nogil=True, cache=True)
def list_roots(parents, firsts, keys):
    """Write down the values of all roots, in the order of the roots.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        Roots of all elements.
    firsts : (P,) array of int64
    keys : (N,) array of int64
        Overwritten; as many as there are roots. Not checked.
    """
    found = 0
    for i in range(parents.size):
        if parents[i] == i:
            keys[found] = firsts[i]
            found += 1


MANY = 64  # keys of one stretch, which are sorted by insertion


@njit(nogil=True, cache=True)
def rank_keys(keys, ends, order):
    """Replace every key by its place among all of them, from 1, where they are spread out.

    They are sorted by stretches of equal length first, and then in each of these.

    Parameters
    ----------
    keys : (N,) array of int64
        From 0; no two are equal. Overwritten.
    ends : (S + 1,) array of int64
        Overwritten, for S stretches.
    order : (N,) array of int64
        Overwritten.

    Returns
    -------
    bool
        Whether it was done; not if there are more than `MANY` keys in a stretch.
    """
    largest = np.int64(0)
    for i in range(keys.size):
        largest = max(largest, keys[i])
    shift = np.int64(0)
    while largest >> shift >= ends.size - 1:
        shift += 1
    ends[:] = 0
    for i in range(keys.size):
        ends[(keys[i] >> shift) + 1] += 1
    for k in range(ends.size - 1):
        if ends[k + 1] > MANY:
            return False
        ends[k + 1] += ends[k]
    for i in range(keys.size):
        k = keys[i] >> shift
        order[ends[k]] = i
        ends[k] += 1
    first = np.int64(0)
    for k in range(ends.size - 1):
        for i in range(first + 1, ends[k]):
            moved, j = order[i], i
            while j > first and keys[order[j - 1]] > keys[moved]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
        first = ends[k]
    for i in range(keys.size):
        keys[order[i]] = i + 1
    return True


@njit(nogil=True, cache=True)
def number_elements(parents, numbers):
    """Replace the root of every element by the number of the root.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        Roots of all elements. Overwritten.
    numbers : (N,) array of int64
        Of the roots, in their order.
    """
    found = 0
    for i in range(parents.size):
        root = parents[i]
        if root == i:
            parents[i] = numbers[found]
            found += 1
        else:  # an earlier element, which has its number
            parents[i] = parents[root]


# ---- Labels that touch where two blocks meet, as pairs; one that comes again soon is listed once

SEEN = 1024  # pairs that were listed last, by a hash of them


@njit(nogil=True, cache=True)
def list_pairs(labels, opposite, rows, columns, corners, values, others, pairs):
    """Pair the labels of one layer with those opposite, or around these where they do not match.

    Parameters
    ----------
    labels, opposite : (R, W) arrays of int
        Of the one layer and of the other; 0 is background.
    rows, columns, corners : bool
        Whether an element touches what is beside the opposite one, along each axis and both.
    values, others : (N,), (M,) arrays of int64, or (0,)
        Value of each label of either layer, where only equal ones belong together.
    pairs : (P, 2) array of int64
        Overwritten, as far as it goes.

    Returns
    -------
    int
        Number of pairs, which may be more than there is room for.
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


# ---- What blocks of an image have to know of each other, from their runs: no label is written


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
