"""Launchers for hawick_3.cu, with the names and signatures of `hawick2010.cpu_3`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import THREADS, kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.graph import Graph


def init_colors(graph: Graph) -> cupy.ndarray:
    """Leave every vertex without a color: -1."""
    return cupy.full(graph.size, -1, cupy.int64)


def init_frontier(graph: Graph) -> cupy.ndarray:
    """Return an array that says for every vertex whether it is active: none is."""
    return cupy.zeros(graph.size, cupy.bool_)


def next_source(colors: cupy.ndarray, start: int) -> int:
    """Return the first vertex without a color from `start` on; -1 if there is none."""
    if start >= colors.size:
        return -1
    first = cupy.full((), colors.size, cupy.uint64)
    launch(
        kernel("papers/hawick2010/hawick_3", "next_source"),
        THREADS,
        colors,
        start,
        colors.size,
        first,
    )
    found = int(first)
    return found if found < colors.size else -1


def start_search(frontier: cupy.ndarray, source: int) -> None:
    """Make the source of a search active."""
    frontier[source] = True


def spread(
    graph: Graph,
    colors: cupy.ndarray,
    source: int,
    frontier: cupy.ndarray,
    following: cupy.ndarray,
) -> bool:
    """Color active vertices, make their neighbors without a color active; return if any is."""
    offsets, neighbors = graph.offsets, graph.neighbors
    spreading = cupy.zeros((), cupy.uint8)
    types = f"{offsets.dtype.str[1:]}, {neighbors.dtype.str[1:]}"
    arguments = (offsets, neighbors, graph.size, colors, source, frontier, following, spreading)
    launch(kernel("papers/hawick2010/hawick_3", f"spread<{types}>"), graph.size, *arguments)
    return bool(spreading)
