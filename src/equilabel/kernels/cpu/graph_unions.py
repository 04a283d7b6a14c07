"""Unions of vertices of a graph, by any number of threads at once.

``parents[i] <= i``, and roots are their own parents. Why threads are not in each other's way: a
root is made a child by compare-and-swap alone, which fails if it is no root any more. What is no
root may be pointed at an ancestor by a plain store: an old value that comes late is an ancestor
still. So chains end, in the root of the set, whoever wins; and the root is the smallest vertex.
"""

from .atomics import compare_and_swap
from .caching import inlined, njit

FIRST = 2  # neighbors of each vertex that are united before all others
FEW = 16  # ... among which the first parent is looked for


@inlined
def halve(parents, index):
    """Return the root of a vertex, and let the vertices on the way skip one."""
    parent = parents[index]
    while parent != index:
        above = parents[parent]
        if above != parent:
            parents[index] = above
        index = parent
        parent = above
    return index


@inlined
def unite_shared(parents, one, other):
    """Give two vertices one root, the smaller of theirs."""
    if parents[one] == parents[other]:
        return
    one = halve(parents, one)
    other = halve(parents, other)
    while one != other:
        if one < other:
            one, other = other, one
        seen = compare_and_swap(parents, one, one, other)
        if seen == one:
            return
        one = halve(parents, seen)
        other = halve(parents, other)


@njit(nogil=True, cache=True)
def point_at_smaller(offsets, neighbors, parents, begin, end):
    """Point vertices at the first smaller one of their first neighbors, or at themselves.

    Parameters
    ----------
    offsets, neighbors : arrays of int32 or int64
        The graph. Not checked.
    parents : (N,) array of int32 or int64
        Overwritten from `begin` to `end`.
    begin, end : int
        Range of vertices.
    """
    for i in range(begin, end):
        parent = i
        for k in range(offsets[i], min(offsets[i] + FEW, offsets[i + 1])):
            if neighbors[k] < i:
                parent = neighbors[k]
                break
        parents[i] = parent


@njit(nogil=True, cache=True)
def compress_range(parents, begin, end):
    """Point vertices at their roots; nothing is united meanwhile. See `point_at_smaller`."""
    for i in range(begin, end):
        parent = parents[i]
        above = parents[parent]
        while above != parent:
            parent = above
            above = parents[parent]
        parents[i] = parent


@njit(nogil=True, cache=True)
def unite_first_arcs(offsets, neighbors, parents, begin, end):
    """Unite vertices with their first neighbors. See `point_at_smaller`."""
    for i in range(begin, end):
        for k in range(offsets[i], min(offsets[i] + FIRST, offsets[i + 1])):
            unite_shared(parents, parents.dtype.type(i), parents.dtype.type(neighbors[k]))


@njit(nogil=True, cache=True)
def unite_smaller_arcs(offsets, neighbors, parents, begin, end):
    """Unite vertices with their smaller neighbors. See `point_at_smaller`."""
    for i in range(begin, end):
        for k in range(offsets[i], offsets[i + 1]):
            if neighbors[k] < i:
                unite_shared(parents, parents.dtype.type(i), parents.dtype.type(neighbors[k]))


@njit(nogil=True, cache=True)
def unite_other_arcs(offsets, neighbors, parents, largest, begin, end):
    """Unite vertices with all but their first neighbors, unless `largest` is their parent.

    Parameters
    ----------
    largest : int
        A root before this pass. An edge between a vertex below it and another is seen from there.
        If it is -1, vertices are united with their smaller neighbors.
    """
    for i in range(begin, end):
        if parents[i] == largest:
            continue
        for k in range(offsets[i] + FIRST, offsets[i + 1]):
            if largest >= 0 or neighbors[k] < i:
                unite_shared(parents, parents.dtype.type(i), parents.dtype.type(neighbors[k]))
