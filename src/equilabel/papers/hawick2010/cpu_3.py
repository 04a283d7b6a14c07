"""Passes of Kernel 3 (Hawick et al. 2010) on the CPU: one breadth-first search after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.graph import Graph


def init_colors(graph: Graph) -> NDArray[np.int64]:
    """Leave every vertex without a color: -1."""
    return np.full(graph.size, -1, np.int64)


def init_frontier(graph: Graph) -> NDArray[np.bool_]:
    """Return an array that says for every vertex whether it is active: none is."""
    return np.zeros(graph.size, np.bool_)


def next_source(colors: NDArray[np.int64], start: int) -> int:
    """Return the first vertex without a color from `start` on; -1 if there is none."""
    return int(first_without_color(colors, start))


def start_search(frontier: NDArray[np.bool_], source: int) -> None:
    """Make the source of a search active."""
    frontier[source] = True


def spread(
    graph: Graph,
    colors: NDArray[np.int64],
    source: int,
    frontier: NDArray[np.bool_],
    following: NDArray[np.bool_],
) -> bool:
    """Color active vertices, make their neighbors without a color active; return if any is."""
    arrays = graph.offsets, graph.neighbors, colors
    return bool(color_frontier(*arrays, source, frontier, following))


@njit(nogil=True, cache=True)
def first_without_color(colors, start):
    """Return the first vertex without a color from `start` on; -1 if there is none."""
    for i in range(start, colors.size):
        if colors[i] < 0:
            return i
    return -1


@njit(nogil=True, cache=True)
def color_frontier(offsets, neighbors, colors, source, frontier, following):
    """Color active vertices, and make their neighbors without a color active (Section 4.3.3).

    `colors` is (N,) of int64, -1 for none; `source` is the color. `frontier`, (N,) of bool, says
    which vertices are active, and becomes False; `following`, at first False, those that are active
    in the next round. Returns whether any is.
    """
    spreading = False
    for i in range(frontier.size):
        if not frontier[i]:
            continue
        frontier[i] = False
        colors[i] = source
        for k in range(offsets[i], offsets[i + 1]):
            if colors[neighbors[k]] < 0:
                following[neighbors[k]] = True
                spreading = True
    return spreading
