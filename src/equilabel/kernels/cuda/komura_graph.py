"""Launchers for komura_graph.cu, named and shaped like `equilabel.kernels.cpu.komura_graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._compile import kernel, launch
from .index import empty_roots

if TYPE_CHECKING:
    import cupy

    from equilabel.graphs import Graph


def initialize(graph: Graph) -> cupy.ndarray:
    """Label every vertex with its lowest neighbor, if that is lower, or with itself."""
    offsets, neighbors = graph.offsets, graph.neighbors
    labels = empty_roots(graph.size)
    types = _types(graph, labels)
    function = kernel("komura_graph", f"initialize<{types}>")
    launch(function, graph.size, offsets, neighbors, graph.size, labels)
    return labels


def reduce_labels(graph: Graph, labels: cupy.ndarray) -> None:
    """Unite every vertex with its residual list."""
    offsets, neighbors = graph.offsets, graph.neighbors
    types = _types(graph, labels)
    function = kernel("komura_graph", f"reduce_labels<{types}>")
    launch(function, graph.size, offsets, neighbors, graph.size, labels)


def _types(graph: Graph, labels: cupy.ndarray) -> str:
    """Name the types of a graph and its labels, as template parameters."""
    arrays = graph.offsets, graph.neighbors, labels
    return ", ".join(each.dtype.str[1:] for each in arrays)
