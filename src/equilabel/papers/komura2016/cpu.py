"""Passes of the generalized labeler (Komura 2016) for grids, lattices of bonds and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of, unite_roots
from equilabel.devices.jit import inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.bonds import Bonds
    from equilabel.domains.graph import Graph
    from equilabel.domains.grid import Grid


# ---- Passes of the generalized labeler (Komura 2016) on a lattice of bonds, on the CPU
# The list of neighbors of a site holds the earlier sites to which an open bond leads: forward, by a
# bit of the site itself, or backward, by a bit of the other site. The two differ only at periodic
# boundaries, where a step forward may lead to an earlier site. The residual list is the same list
# without the lowest of them.


@njit(nogil=True, cache=True)
def label_sites(open_bonds, shape, steps, periodic):
    """Label every site with its lowest neighbor, or itself.

    Parameters
    ----------
    open_bonds : (N,) array of unsigned integers
        Bit ``k`` of a site is set if its bond along ``steps[k]`` is open. Not checked.
    shape : (ndim,) array of int64
        Shape of the lattice.
    steps : (K, ndim) array of int64
        Forward, of -1, 0 and 1. Not checked.
    periodic : (ndim,) array of bool

    Returns
    -------
    labels : (N,) array of int64
    """
    labels = np.empty(open_bonds.size, np.int64)
    rows = np.empty((2, len(steps)), np.int64)
    earlier = np.empty(2 * len(steps), np.int64)
    width = shape[-1]
    for start in range(0, open_bonds.size, width):
        find_rows(start, shape, steps, periodic, rows)
        for column in range(width):
            i = start + column
            count = list_earlier(open_bonds, i, column, width, steps, periodic[-1], rows, earlier)
            labels[i] = earlier[0] if count else i
    return labels


@njit(nogil=True, cache=True)
def unite_sites(labels, open_bonds, shape, steps, periodic):
    """Unite every site with its residual list.

    Parameters
    ----------
    labels : (N,) array of int64
        Overwritten, with longer chains. From `label_sites`, resolved. Not checked.
    open_bonds, shape, steps, periodic
        As for `label_sites`.
    """
    rows = np.empty((2, len(steps)), np.int64)
    earlier = np.empty(2 * len(steps), np.int64)
    width = shape[-1]
    for start in range(0, open_bonds.size, width):
        find_rows(start, shape, steps, periodic, rows)
        for column in range(width):
            i = start + column
            count = list_earlier(open_bonds, i, column, width, steps, periodic[-1], rows, earlier)
            for k in range(1, count):
                unite_roots(labels, i, earlier[k])


@njit(nogil=True, cache=True)
def find_rows(start, shape, steps, periodic, rows):
    """Find the rows to which steps lead from one row, forward and backward.

    Parameters
    ----------
    start : int
        Flat index of the first site of the row.
    shape, steps, periodic
        As for `label_sites`.
    rows : (2, K) array of int64
        Overwritten: the first site of the row along each step and against it, -1 if it is outside.
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


@njit(nogil=True, cache=True)
def list_earlier(open_bonds, site, column, width, steps, periodic, rows, earlier):
    """List the earlier sites to which open bonds lead, the lowest first.

    Parameters
    ----------
    open_bonds, steps
        As for `label_sites`.
    site, column, width : int
        Flat index of the site, and its place in a row of `width` sites.
    periodic : bool
        Whether rows are.
    rows : (2, K) array of int64
        From `find_rows`.
    earlier : (2 * K,) array of int64
        Overwritten.

    Returns
    -------
    int
        How many sites were listed.
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


# ---- Passes of the generalized labeler (Komura 2016) on the CPU that read a graph
# As in the paper, each vertex has a list of neighbors. Those below it are its residual list, but
# for the lowest, which is its first label. That one is looked for again instead of being removed.


def initialize_graph(graph: Graph) -> NDArray[np.int64]:
    """Label every vertex with its lowest neighbor, if that is lower, or with itself."""
    return np.asarray(label_vertices(graph.offsets, graph.neighbors))


def reduce_graph_labels(graph: Graph, labels: NDArray[np.int64]) -> None:
    """Unite every vertex with its residual list."""
    unite_residual_list(labels, graph.offsets, graph.neighbors)


# -------------------------------------------------------------------- kernels


@inlined
def lowest_neighbor(offsets, neighbors, i):
    """Return the lowest of the neighbors of a vertex and itself."""
    lowest = np.int64(i)
    for k in range(offsets[i], offsets[i + 1]):
        lowest = min(lowest, np.int64(neighbors[k]))
    return lowest


@njit(nogil=True, cache=True)
def label_vertices(offsets, neighbors):
    """Label every vertex with the lowest of its neighbors and itself (Figure 2).

    Parameters
    ----------
    offsets, neighbors : arrays of int32 or int64
        The graph. Not checked.

    Returns
    -------
    labels : (N,) array of int64
    """
    labels = np.empty(offsets.size - 1, np.int64)
    for i in range(labels.size):
        labels[i] = lowest_neighbor(offsets, neighbors, i)
    return labels


@njit(nogil=True, cache=True)
def unite_residual_list(labels, offsets, neighbors):
    """Unite every vertex with its residual list (Algorithm 1).

    Parameters
    ----------
    labels : (N,) array of int64
        Overwritten, with longer chains. From `label_vertices`, resolved. Not checked.
    offsets, neighbors
        As for `label_vertices`.
    """
    for i in range(labels.size):
        lowest = lowest_neighbor(offsets, neighbors, i)
        for k in range(offsets[i], offsets[i + 1]):
            if lowest < neighbors[k] < i:
                unite_roots(labels, i, neighbors[k])


# ---- Passes of the generalized labeler (Komura 2016) on the CPU
# Labels are flat indices, -1 for background; a label is at most the index of the element that bears
# it. The list of neighbors of an element holds its earlier neighbors of equal value, the lowest
# first; the residual list is the same list without its first entry. Neither is stored: both follow
# from the steps.


def initialize(domain: Grid | Bonds | Graph) -> NDArray[np.int64]:
    """Label every foreground element with its lowest neighbor, or itself."""
    if domain.kind == "bonds":
        return np.asarray(label_sites(domain.open.reshape(-1), *domain.arrays))
    if domain.kind == "graph":
        return initialize_graph(domain)
    return np.asarray(label_elements(*domain.bounded_values, *domain.half))


def analyze(labels: NDArray[np.int64]) -> None:
    """Point every element at the end of its chain of labels."""
    resolve_chains(labels)


def reduce_labels(domain: Grid | Bonds | Graph, labels: NDArray[np.int64]) -> None:
    """Unite every element with its residual list."""
    if domain.kind == "bonds":
        unite_sites(labels, domain.open.reshape(-1), *domain.arrays)
    elif domain.kind == "graph":
        reduce_graph_labels(domain, labels)
    else:
        unite_residual(labels, domain.values[0], *domain.half)


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def label_elements(values, background, bounded, shape, steps, offsets):
    """Label every foreground element with its lowest neighbor, or itself.

    Parameters
    ----------
    values : (N,) array of unsigned integers
        The image, flat in C order.
    background : scalar of the same type
        Value that gets label -1, if `bounded`.
    bounded : bool
        Whether there is one.
    shape : (ndim,) array of int64
        Shape of the image.
    steps : (K, ndim) array of int64
        To earlier neighbors, in raster order. Not checked.
    offsets : (K,) array of int64
        The same steps as distances between flat indices. Not checked.

    Returns
    -------
    labels : (N,) array of int64
    """
    labels = np.empty(values.size, np.int64)
    inside = np.empty(offsets.size, np.bool_)
    width = shape[-1]
    for start in range(0, values.size, width):
        mark_inside(start, shape, steps, inside)
        for column in range(width):
            i = start + column
            labels[i] = i
            if bounded and values[i] == background:
                labels[i] = -1
                continue
            for k in range(offsets.size):
                if inside[k] and 0 <= column + steps[k, -1] < width:
                    j = i + offsets[k]
                    if values[i] == values[j]:
                        labels[i] = j
                        break
    return labels


@njit(nogil=True, cache=True)
def resolve_chains(labels):
    """Point every element at the end of its chain of labels.

    Parameters
    ----------
    labels : (N,) array of int64
        Overwritten. ``labels[i] <= i``, -1 for background. Not checked.
    """
    for i in range(labels.size):
        if labels[i] >= 0:
            labels[i] = root_of(labels, i)


@njit(nogil=True, cache=True)
def unite_residual(labels, values, shape, steps, offsets):
    """Unite every element with its residual list.

    Parameters
    ----------
    labels : (N,) array of int64
        Overwritten, with longer chains. From `label_elements`, resolved. Not checked.
    values, shape, steps, offsets
        As for `label_elements`.
    """
    inside = np.empty(offsets.size, np.bool_)
    width = shape[-1]
    for start in range(0, values.size, width):
        mark_inside(start, shape, steps, inside)
        for column in range(width):
            i = start + column
            if labels[i] < 0:
                continue
            residual = False
            for k in range(offsets.size):
                if inside[k] and 0 <= column + steps[k, -1] < width:
                    j = i + offsets[k]
                    if values[i] == values[j]:
                        if residual:
                            unite_roots(labels, i, j)
                        residual = True


@njit(nogil=True, cache=True)
def mark_inside(start, shape, steps, inside):
    """Return which steps from one row stay inside the image, along all axes but the last.

    Parameters
    ----------
    start : int
        Flat index of the first element of the row.
    shape : (ndim,) array of int64
    steps : (K, ndim) array of int64
    inside : (K,) array of bool
        Overwritten.
    """
    inside[:] = True
    rest = start // shape[-1]
    for axis in range(shape.size - 2, -1, -1):
        coordinate = rest % shape[axis]
        rest //= shape[axis]
        for k in range(inside.size):
            if not 0 <= coordinate + steps[k, axis] < shape[axis]:
                inside[k] = False
