"""Passes of the generalized labeler (Komura 2016) on the CPU.

Labels are flat indices, -1 for background; a label is at most the index of the element that bears
it. The list of neighbors of an element holds its earlier neighbors of equal value, the lowest
first; the residual list is the same list without its first entry. Neither is stored: both follow
from the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import komura_bonds, komura_graph
from .caching import njit
from .union_find import root_of, unite_roots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.bonds import Bonds
    from equilabel.graphs import Graph
    from equilabel.grid import Grid


def initialize(domain: Grid | Bonds | Graph) -> NDArray[np.int64]:
    """Label every foreground element with its lowest neighbor, or itself."""
    if domain.kind == "bonds":
        return np.asarray(komura_bonds.label_sites(domain.open.reshape(-1), *domain.arrays))
    if domain.kind == "graph":
        return komura_graph.initialize(domain)
    return np.asarray(label_elements(*domain.bounded_values, *domain.half))


def analyze(labels: NDArray[np.int64]) -> None:
    """Point every element at the end of its chain of labels."""
    resolve_chains(labels)


def reduce_labels(domain: Grid | Bonds | Graph, labels: NDArray[np.int64]) -> None:
    """Unite every element with its residual list."""
    if domain.kind == "bonds":
        komura_bonds.unite_sites(labels, domain.open.reshape(-1), *domain.arrays)
    elif domain.kind == "graph":
        komura_graph.reduce_labels(domain, labels)
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
