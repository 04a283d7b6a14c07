"""Passes of Kernel 1 (Hawick et al. 2010) on the CPU: edge by edge."""

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


def lower_colors(graph: Graph, colors: NDArray[np.int64]) -> bool:
    """Lower the color at one end of each edge to that at the other; return whether any changed."""
    return bool(compare_ends(*graph.edges, colors))


@njit(nogil=True, cache=True)
def compare_ends(sources, targets, colors):
    """Give the lower color of both ends of each edge to the other end (Algorithm 2).

    `sources` and `targets` are (M,), the edges (not checked); `colors` is (N,) of int64. Returns
    whether any color changed.
    """
    changed = False
    for edge in range(sources.size):
        i = sources[edge]
        j = targets[edge]
        if colors[i] < colors[j]:
            colors[j] = colors[i]
            changed = True
        elif colors[j] < colors[i]:
            colors[i] = colors[j]
            changed = True
    return changed
