"""Passes of Kernel 2 (Hawick et al. 2010) on the CPU: vertex by vertex, if its color changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.graph import Graph


def init_colors(graph: Graph) -> NDArray[np.int64]:
    """Give every vertex its own index as its color."""
    return np.arange(graph.size, dtype=np.int64)


def init_frontier(graph: Graph, active: bool) -> NDArray[np.bool_]:
    """Return an array that says for every vertex whether it is active."""
    return np.full(graph.size, active)


def compare(
    graph: Graph,
    colors: NDArray[np.int64],
    frontier: NDArray[np.bool_],
    following: NDArray[np.bool_],
) -> bool:
    """Compare active vertices with their neighbors; return whether any color changed."""
    return bool(compare_neighbors(graph.offsets, graph.neighbors, colors, frontier, following))


@njit(nogil=True, cache=True)
def compare_neighbors(offsets, neighbors, colors, frontier, following):
    """Lower the colors of active vertices, or of their neighbors (Algorithm 3).

    `colors` is (N,) of int64. `frontier`, (N,) of bool, says which vertices are active, and becomes
    False; `following`, at first False, those that are active in the next round. Returns whether any
    color changed.
    """
    changed = False
    for i in range(frontier.size):
        if not frontier[i]:
            continue
        frontier[i] = False
        color = colors[i]
        for k in range(offsets[i], offsets[i + 1]):
            j = neighbors[k]
            if color < colors[j]:
                colors[j] = color
                following[j] = True
                changed = True
            elif color > colors[j]:
                color = colors[j]
        if color < colors[i]:
            colors[i] = color
            following[i] = True
            changed = True
    return changed
