"""Union-find: forests of indices, ``parents[i] <= i``, whose roots are their own parents.

At the end are the passes of the method of this name, on graphs, in threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel import threads

from . import graph_unions
from .caching import inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.graphs import Graph

SAMPLE = 1024  # vertices among which the largest component is looked for


@inlined
def find(parents, index):
    """Return the root of an element, as an unsigned number, and halve the path to it."""
    index = np.uint64(index)  # unsigned: no index counts from the end
    parent = np.uint64(parents[index])
    while parent != index:
        above = np.uint64(parents[parent])
        parents[index] = above
        index = above
        parent = np.uint64(parents[index])
    return index


@inlined
def root_of(parents, index):
    """Return the root of an element, and change nothing."""
    parent = parents[index]
    while parent != index:
        index = parent
        parent = parents[index]
    return index


@inlined
def unite(parents, one, other):
    """Give two elements one root, the smaller of theirs, and halve the paths to it."""
    one = np.uint64(one)
    other = np.uint64(other)
    mine = np.uint64(parents[one])
    theirs = np.uint64(parents[other])
    if mine == theirs:
        return
    if mine == one and theirs < one:
        parents[one] = theirs
        return
    one = find(parents, one)
    other = find(parents, other)
    if one < other:
        parents[other] = one
    elif other < one:
        parents[one] = other


@njit(nogil=True, cache=True)
def unite_roots(parents, one, other):
    """Give two elements one root, the smaller of theirs (Komura 2016, Algorithm 1).

    As on a GPU, where another thread may lower the same root at any moment. Here elements come one
    by one, and the first attempt is the last.
    """
    high = root_of(parents, one)
    low = root_of(parents, other)
    done = high == low
    if high < low:
        high, low = low, high
    while not done:
        before = atomic_min(parents, high, low)
        if before == low:
            done = True
        elif before > low:
            high = before
        else:  # another chain was joined here meanwhile: join it to this one
            high, low = low, before


@njit(nogil=True, cache=True)
def atomic_min(parents, index, root):
    """Lower the parent of an element to `root` if that is less; return what it was."""
    before = parents[index]
    if root < before:
        parents[index] = root
    return before


# --------------------------------------------------------- passes, on graphs


def initialize(domain: Graph) -> HostArray:
    """Point every vertex at a smaller neighbor among its first ones, or at itself."""
    size = domain.size
    parents: HostArray = np.empty(size, np.int32 if size <= np.iinfo(np.int32).max else np.int64)
    graph = domain.offsets, domain.neighbors, parents
    threads.each(graph_unions.point_at_smaller, [(*graph, *each) for each in _ranges(parents)])
    return parents


def compress(parents: HostArray) -> None:
    """Point every vertex at its root."""
    threads.each(graph_unions.compress_range, [(parents, *each) for each in _ranges(parents)])


def unite_all(domain: Graph, parents: HostArray) -> None:
    """Unite every vertex with its smaller neighbors."""
    graph = domain.offsets, domain.neighbors, parents
    threads.each(graph_unions.unite_smaller_arcs, [(*graph, *each) for each in _ranges(parents)])


def unite_first(domain: Graph, parents: HostArray) -> None:
    """Unite every vertex with its first neighbors."""
    graph = domain.offsets, domain.neighbors, parents
    threads.each(graph_unions.unite_first_arcs, [(*graph, *each) for each in _ranges(parents)])


def find_largest(parents: HostArray) -> int:
    """Return the root that half of a sample of vertices have or more; -1 if there is none."""
    spread = np.arange(SAMPLE, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sample = parents[spread % np.uint64(parents.size)]
    roots, counts = np.unique(sample, return_counts=True)
    return int(roots[counts.argmax()]) if 2 * counts.max() >= SAMPLE else -1


def unite_rest(domain: Graph, parents: HostArray, largest: int) -> None:
    """Unite vertices that have another root with their other neighbors; for -1, the smaller."""
    graph = domain.offsets, domain.neighbors, parents, largest
    threads.each(graph_unions.unite_other_arcs, [(*graph, *each) for each in _ranges(parents)])


def finish(parents: HostArray) -> NDArray[np.int64]:
    """Return the root of every vertex."""
    compress(parents)
    return parents.astype(np.int64, copy=False)


def _ranges(parents: HostArray) -> list[tuple[int, int]]:
    """Cut the vertices into ranges, some for each thread."""
    return threads.ranges(parents.size, 4 * parents.size)
