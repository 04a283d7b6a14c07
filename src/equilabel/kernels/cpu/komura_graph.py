"""Passes of the generalized labeler (Komura 2016) on the CPU that read a graph.

As in the paper, each vertex has a list of neighbors. Those below it are its residual list, but for
the lowest, which is its first label. That one is looked for again instead of being removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .caching import inlined, njit
from .union_find import unite_roots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.graphs import Graph


def initialize(graph: Graph) -> NDArray[np.int64]:
    """Label every vertex with its lowest neighbor, if that is lower, or with itself."""
    return np.asarray(label_vertices(graph.offsets, graph.neighbors))


def reduce_labels(graph: Graph, labels: NDArray[np.int64]) -> None:
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
