"""Unions of vertices of a graph, by any number of threads at once.

``parents[i] <= i``, and a root is its own parent. Threads do not disturb each other: a root becomes
a child only by compare-and-swap, which fails if it is no longer a root. A vertex that is not a root
may be pointed at an ancestor by a plain store, because an old value is still an ancestor. The root
of a component is its smallest vertex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.cpu.atomics import compare_and_swap
from equilabel.devices.jit import inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.domains.graph import Graph

SAMPLE = 1024  # vertices in which the largest component is searched

FIRST = 2  # neighbors of each vertex that are united before all others
FEW = 16  # neighbors of each vertex in which its first parent is searched


@inlined
def halve(parents, index):
    """Return the root of a vertex; every vertex on the way is pointed at its grandparent."""
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
    """Give two vertices one root, the smaller of theirs, while other threads do the same."""
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
    """Point vertices `begin` to `end` at the first smaller of their first neighbors, or themselves.

    `offsets` and `neighbors` are the graph (int32 or int64, not checked), `parents` is (N,) of
    either type.
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
    """Point vertices at their roots, while nothing is united."""
    for i in range(begin, end):
        parent = parents[i]
        above = parents[parent]
        while above != parent:
            parent = above
            above = parents[parent]
        parents[i] = parent


@njit(nogil=True, cache=True)
def unite_first_arcs(offsets, neighbors, parents, begin, end):
    """Unite vertices with their first neighbors."""
    for i in range(begin, end):
        for k in range(offsets[i], min(offsets[i] + FIRST, offsets[i + 1])):
            unite_shared(parents, parents.dtype.type(i), parents.dtype.type(neighbors[k]))


@njit(nogil=True, cache=True)
def unite_arcs(offsets, neighbors, parents, skipped, largest, begin, end):
    """Unite vertices whose parent is not `largest` with all but their first, `skipped` neighbors.

    An edge between a vertex of `largest`, a root before this pass, and another is seen from the
    other one. If it is -1, vertices are united with their smaller neighbors only.
    """
    for i in range(begin, end):
        if parents[i] == largest:
            continue
        for k in range(offsets[i] + skipped, offsets[i + 1]):
            if largest >= 0 or neighbors[k] < i:
                unite_shared(parents, parents.dtype.type(i), parents.dtype.type(neighbors[k]))


# --------------------------------------------------------- passes, on graphs


def initialize(domain: Graph) -> HostArray:
    """Point every vertex at a smaller neighbor among its first ones, or at itself."""
    size = domain.size
    parents: HostArray = np.empty(size, np.int32 if size <= np.iinfo(np.int32).max else np.int64)
    graph = domain.offsets, domain.neighbors, parents
    threads.each(point_at_smaller, [(*graph, *each) for each in _ranges(parents)])
    return parents


def compress(parents: HostArray) -> None:
    """Point every vertex at its root."""
    threads.each(compress_range, [(parents, *each) for each in _ranges(parents)])


def unite_all(domain: Graph, parents: HostArray) -> None:
    """Unite every vertex with its smaller neighbors."""
    graph = domain.offsets, domain.neighbors, parents, 0, -1
    threads.each(unite_arcs, [(*graph, *each) for each in _ranges(parents)])


def unite_first(domain: Graph, parents: HostArray) -> None:
    """Unite every vertex with its first neighbors."""
    graph = domain.offsets, domain.neighbors, parents
    threads.each(unite_first_arcs, [(*graph, *each) for each in _ranges(parents)])


def find_largest(parents: HostArray) -> int:
    """Return the root that at least half of a sample of vertices have; -1 if there is none."""
    spread = np.arange(SAMPLE, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sample = parents[spread % np.uint64(parents.size)]
    roots, counts = np.unique(sample, return_counts=True)
    return int(roots[counts.argmax()]) if 2 * counts.max() >= SAMPLE else -1


def unite_rest(domain: Graph, parents: HostArray, largest: int) -> None:
    """Unite vertices outside the component of `largest` with others; if -1, with smaller ones."""
    graph = domain.offsets, domain.neighbors, parents, FIRST, largest
    threads.each(unite_arcs, [(*graph, *each) for each in _ranges(parents)])


def finish(parents: HostArray) -> NDArray[np.int64]:
    """Return the root of every vertex."""
    compress(parents)
    return parents.astype(np.int64, copy=False)


def _ranges(parents: HostArray) -> list[tuple[int, int]]:
    """Cut the vertices into ranges, some for each thread."""
    return threads.ranges(parents.size, 4 * parents.size)
