"""Launchers for komura_graph.cu, named and shaped like `equilabel.kernels.cpu.komura_graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from ._compile import kernel, launch

if TYPE_CHECKING:
    from equilabel.graphs import Graph


def initialize(graph: Graph) -> cupy.ndarray:
    """Label every vertex with its lowest neighbor, if that is lower, or with itself."""
    offsets, neighbors = graph.offsets, graph.neighbors
    labels = cupy.empty(graph.size, cupy.int64)
    types = f"{offsets.dtype.str[1:]}, {neighbors.dtype.str[1:]}"
    function = kernel("komura_graph", f"initialize<{types}>")
    launch(function, graph.size, offsets, neighbors, graph.size, labels)
    return labels


def reduce_labels(graph: Graph, labels: cupy.ndarray) -> None:
    """Unite every vertex with its residual list."""
    offsets, neighbors = graph.offsets, graph.neighbors
    types = f"{offsets.dtype.str[1:]}, {neighbors.dtype.str[1:]}"
    function = kernel("komura_graph", f"reduce_labels<{types}>")
    launch(function, graph.size, offsets, neighbors, graph.size, labels)
