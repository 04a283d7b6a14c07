"""Launchers for komura_graph.cu, named and shaped like `equilabel.kernels.cpu.komura_graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._compile import Kernel, kernel, launch
from .index import empty_roots

if TYPE_CHECKING:
    import cupy

    from equilabel.graphs import Graph

SHORT, BATCH = 4, 2  # neighbors of a vertex on average, up to which a thread has BATCH vertices


def initialize(graph: Graph) -> cupy.ndarray:
    """Label every vertex with its lowest neighbor, if that is lower, or with itself."""
    labels = empty_roots(graph.size)
    function = kernel("komura_graph", f"initialize<{_types(graph, labels)}>")
    _over_vertices(function, graph, labels)
    return labels


def reduce_labels(graph: Graph, labels: cupy.ndarray) -> None:
    """Unite every vertex with its residual list."""
    function = kernel("komura_graph", f"reduce_labels<{_types(graph, labels)}>")
    _over_vertices(function, graph, labels)


def _batch(graph: Graph) -> int:
    """Return how many vertices a thread has: one where lists are long."""
    return BATCH if graph.neighbors.size <= SHORT * graph.size else 1


def _types(graph: Graph, labels: cupy.ndarray) -> str:
    """Name the types of a graph and its labels, and the batch, as template parameters."""
    arrays = graph.offsets, graph.neighbors, labels
    return ", ".join([*(each.dtype.str[1:] for each in arrays), str(_batch(graph))])


def _over_vertices(function: Kernel, graph: Graph, labels: cupy.ndarray) -> None:
    """Start a kernel of komura_graph.cu."""
    threads = -(-graph.size // _batch(graph))
    launch(function, threads, graph.offsets, graph.neighbors, graph.size, labels)
