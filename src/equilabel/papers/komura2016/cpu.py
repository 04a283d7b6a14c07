"""Passes of the generalized labeler (Komura 2016) for grids, lattices of bonds and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import unite_roots
from equilabel.devices.jit import called, inlined, njit
from equilabel.papers.meshes.cpu import label_by_index, mark_inside, resolve_chains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.bonds import Bonds
    from equilabel.domains.graph import Graph
    from equilabel.domains.grid import Grid


# ---- Passes, and grids
# Labels are flat indices, -1 for background; a label is at most the index of its element. The list
# of neighbors of an element holds its earlier neighbors of equal value, the lowest first; the
# residual list is the same list without its first entry. Both follow from the steps.


def initialize(domain: Grid | Bonds | Graph) -> NDArray[np.int64]:
    """Label every foreground element with its lowest neighbor, or itself."""
    if domain.kind == "graph":
        return np.asarray(label_vertices(domain.offsets, domain.neighbors))
    if domain.kind == "bonds":
        labels = np.arange(domain.size, dtype=np.int64)
    else:
        labels = label_by_index(domain)
    _follow(domain, labels, False)
    return labels


def analyze(labels: NDArray[np.int64]) -> None:
    """Point every element at the root of its chain of labels."""
    resolve_chains(labels)


def reduce_labels(domain: Grid | Bonds | Graph, labels: NDArray[np.int64]) -> None:
    """Unite every element with its residual list."""
    if domain.kind == "graph":
        unite_residual_list(labels, domain.offsets, domain.neighbors)
    else:
        _follow(domain, labels, True)


def _follow(domain: Grid | Bonds, labels: NDArray[np.int64], residual: bool) -> None:
    """Point elements at their lowest neighbors, or unite them with their residual lists."""
    if domain.kind == "bonds":
        follow_bonds(labels, domain.open.reshape(-1), *domain.arrays, residual)
    else:
        follow_neighbors(labels, domain.values[0], *domain.half, residual)


@njit(nogil=True, cache=True)
def follow_neighbors(labels, values, shape, steps, offsets, residual):
    """Point every element at its lowest neighbor; or, if `residual`, unite it with the others.

    `labels` are indices of elements, -1 for background; if `residual`, roots. `steps` is (K, ndim),
    to earlier neighbors in raster order, and `offsets`, (K,), the same as distances of flat
    indices. Not checked.
    """
    inside = np.empty(offsets.size, np.bool_)
    width = shape[-1]
    for start in range(0, values.size, width):
        mark_inside(start, shape, steps, inside)
        for column in range(width):
            i = start + column
            if labels[i] < 0:
                continue
            found = False
            for k in range(offsets.size):
                j = i + offsets[k]
                if not inside[k] or not 0 <= column + steps[k, -1] < width:
                    continue
                if values[i] == values[j]:
                    if found:
                        unite_roots(labels, i, j)
                    elif not residual:
                        labels[i] = j
                        break
                    found = True


# ---- Lattices of bonds
# The list of neighbors of a site holds the earlier sites to which an open bond leads: forward (a
# bit of the site itself) or backward (a bit of the other site). Only around a periodic axis does a
# step forward lead to an earlier site. The residual list is the same list without its lowest site.


@njit(nogil=True, cache=True)
def follow_bonds(labels, open_bonds, shape, steps, periodic, residual):
    """Point every site at its lowest neighbor; or, if `residual`, unite it with the others.

    Bit ``k`` of `open_bonds`, (N,) of unsigned integers, is set if the bond along ``steps[k]`` is
    open; `steps` is (K, ndim), forward. `labels` are indices of sites; if `residual`, roots. Not
    checked.
    """
    rows = np.empty((2, len(steps)), np.int64)
    earlier = np.empty(2 * len(steps), np.int64)
    width = shape[-1]
    for start in range(0, open_bonds.size, width):
        find_rows(start, shape, steps, periodic, rows)
        for column in range(width):
            i = start + column
            count = list_earlier(open_bonds, i, column, width, steps, periodic[-1], rows, earlier)
            if not residual and count:
                labels[i] = earlier[0]
            for k in range(1, count if residual else 0):
                unite_roots(labels, i, earlier[k])


@called
def find_rows(start, shape, steps, periodic, rows):
    """Find the rows to which steps lead from the row at flat index `start`.

    `rows` is (2, K) of int64: the first site of the row along each step and against it, -1 if it is
    outside.
    """
    for k in range(len(steps)):
        for way in range(2):
            rest = start // shape[-1]
            stride = shape[-1]
            found = 0
            for axis in range(shape.size - 2, -1, -1):
                side = shape[axis]
                there = rest % side + (steps[k, axis] if way == 0 else -steps[k, axis])
                rest //= side
                if there < 0 or there >= side:
                    if not periodic[axis]:
                        found = -1
                        break
                    there %= side
                found += there * stride
                stride *= side
            rows[way, k] = found


@called
def list_earlier(open_bonds, site, column, width, steps, periodic, rows, earlier):
    """List the earlier sites to which open bonds lead, the lowest first; return their number.

    The site is at `column` of a row of `width` sites, which may be `periodic`; `rows` is from
    `find_rows`; `earlier` is (2 * K,), overwritten.
    """
    count = 0
    for k in range(len(steps)):
        bit = np.uint64(1) << np.uint64(k)
        for way in range(2):
            if rows[way, k] < 0:
                continue
            there = column + (steps[k, -1] if way == 0 else -steps[k, -1])
            if there < 0 or there >= width:
                if not periodic:
                    continue
                there %= width
            other = rows[way, k] + there
            if other < site and np.uint64(open_bonds[site if way == 0 else other]) & bit:
                earlier[count] = other
                if other < earlier[0]:
                    earlier[count] = earlier[0]
                    earlier[0] = other
                count += 1
    return count


# ---- Graphs
# As in the paper, each vertex has a list of neighbors. Those below it, except the lowest, which is
# its first label, are its residual list. The lowest is searched again instead of being removed.


@inlined
def lowest_neighbor(offsets, neighbors, i):
    """Return the lowest of a vertex and its neighbors."""
    lowest = np.int64(i)
    for k in range(offsets[i], offsets[i + 1]):
        lowest = min(lowest, np.int64(neighbors[k]))
    return lowest


@njit(nogil=True, cache=True)
def label_vertices(offsets, neighbors):
    """Label every vertex with the lowest of its neighbors and itself (Figure 2)."""
    labels = np.empty(offsets.size - 1, np.int64)
    for i in range(labels.size):
        labels[i] = lowest_neighbor(offsets, neighbors, i)
    return labels


@njit(nogil=True, cache=True)
def unite_residual_list(labels, offsets, neighbors):
    """Unite every vertex with its residual list; `labels` are those of `label_vertices`, resolved.

    Algorithm 1.
    """
    for i in range(labels.size):
        lowest = lowest_neighbor(offsets, neighbors, i)
        for k in range(offsets[i], offsets[i + 1]):
            if lowest < neighbors[k] < i:
                unite_roots(labels, i, neighbors[k])
