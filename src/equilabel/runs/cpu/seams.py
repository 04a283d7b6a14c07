"""Labels at the faces of blocks, pairs of labels that touch there, and their unions."""

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, lowest
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

    Return the number of roots. `parents` is (P,) of int32 or int64, a forest; `firsts` is (P,) of
    int64.
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
    """Write the values of all roots to `keys`, (N,) of int64, in the order of the roots.

    `parents` is (P,), roots of all elements; `firsts` is (P,) of int64.
    """
    found = 0
    for i in range(parents.size):
        if parents[i] == i:
            keys[found] = firsts[i]
            found += 1


MANY = 64  # most keys in a bucket, which is sorted by insertion


@njit(nogil=True, cache=True)
def rank_keys(keys, ends, order):
    """Replace every key by its rank, from 1; return False if they are not spread evenly enough.

    A bucket sort: `keys` is (N,) of int64, not negative and all different; `ends`, (S + 1,) of
    int64 for S buckets, and `order`, (N,) of int64, are overwritten. Fails if a bucket gets more
    than `MANY` keys; then `keys` are unchanged.
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
    """Replace the root of every element, (P,), by the number of the root.

    `numbers` is (N,) of int64, for the roots in their order.
    """
    found = 0
    for i in range(parents.size):
        root = parents[i]
        if root == i:
            parents[i] = numbers[found]
            found += 1
        else:  # the root is an earlier element, which has its number
            parents[i] = parents[root]


# ---- Pairs of labels that touch where two blocks meet

SEEN = 1024  # slots of a hash table of recent pairs, which are not listed again


@njit(nogil=True, cache=True)
def list_pairs(labels, opposite, rows, columns, corners, values, others, pairs):
    """List pairs of labels that touch between two layers, (R, W) each; return their number.

    Where an element matches the opposite one, its other neighbors in that layer are skipped.
    `rows`, `columns` and `corners` say whether an element touches what is beside the opposite one,
    along each axis and along both. `values` and `others` hold the value of each label of either
    layer, if only equal ones belong together; otherwise they are empty. `pairs` is (P, 2) of int64;
    the number returned may be greater than P.
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


# ---- Labels of parts of an image, from its table of runs: the image is not painted


@njit(nogil=True, cache=True)
def list_firsts(runs, columns, firsts):
    """Write the flat index of the first pixel of each label to `firsts`, (N,) of int64.

    The `parents` of `runs` are labels 1 to N in the order of their first pixels. Not checked.
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
            if single:  # runs may be told apart by values
                begins = runs.starts[block, word]
            while begins != NONE:
                x = 64 * word + lowest(begins)
                begins &= begins - ONE
                if label_at(runs, block, x) > found:
                    firsts[found] = row * columns + x
                    found += 1


@njit(nogil=True, cache=True)
def paint_columns(runs, first, last, out):
    """Write the labels of columns `first` to `last` of all rows to `out`, (R, last - first) of int.

    The `parents` of `runs` are labels by now.
    """
    for row in range(runs.bits.shape[0] - 1):
        block = block_of(runs, row)
        for x in range(first, last):
            inside = (runs.bits[row, x >> 6] & (ONE << np.uint64(x & 63))) != NONE
            out[row, x - first] = label_at(runs, block, x) if inside else 0


@njit(nogil=True, cache=True)
def mark_labels(runs, rows, first, last, marks):
    """Write 1 to `marks`, (N + 1,), for the labels in columns `first` to `last` of chosen rows.

    `rows` are (L,) of int64; the `parents` of `runs` are labels by now.
    """
    for k in range(rows.size):
        row = rows[k]
        block = block_of(runs, row)
        for x in range(first, last):
            if (runs.bits[row, x >> 6] & (ONE << np.uint64(x & 63))) != NONE:
                marks[label_at(runs, block, x)] = 1
