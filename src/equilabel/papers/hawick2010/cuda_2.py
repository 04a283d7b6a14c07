"""Launchers for hawick_2.cu, with the names and signatures of `hawick2010.cpu_2`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.graph import Graph


def init_colors(graph: Graph) -> cupy.ndarray:
    """Give every vertex its own index as its color."""
    return cupy.arange(graph.size, dtype=cupy.int64)


def init_frontier(graph: Graph, active: bool) -> cupy.ndarray:
    """Return an array that says for every vertex whether it is active."""
    return cupy.full(graph.size, active, cupy.bool_)


def compare(
    graph: Graph, colors: cupy.ndarray, frontier: cupy.ndarray, following: cupy.ndarray
) -> bool:
    """Compare active vertices with their neighbors; return whether any color changed."""
    offsets, neighbors = graph.offsets, graph.neighbors
    changed = cupy.zeros((), cupy.uint8)
    types = f"{offsets.dtype.str[1:]}, {neighbors.dtype.str[1:]}"
    arguments = (offsets, neighbors, graph.size, colors, frontier, following, changed)
    launch(kernel("papers/hawick2010/hawick_2", f"compare<{types}>"), graph.size, *arguments)
    return bool(changed)
