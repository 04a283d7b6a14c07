"""Union-find over edges that come a few at a time: no edge is held, and no list of neighbors."""

import numpy as np

from .caching import njit
from .union_find import unite


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
