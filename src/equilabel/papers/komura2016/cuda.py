"""Launchers for komura.cu, with the names and signatures of `komura2016.cpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import Kernel, empty_roots, kernel, launch
from equilabel.papers.meshes.cuda import pixel_and_rank

if TYPE_CHECKING:
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.graph import Graph
    from equilabel.domains.grid import Grid

BATCH = 4  # elements of a thread of `analyze`, as in komura.cu
SHORT = 4  # average neighbors of a vertex up to which a thread has GRAPH_BATCH vertices
GRAPH_BATCH = 2


# ---- Passes, and grids


def initialize(domain: Grid | Bonds | Graph) -> cupy.ndarray:
    """Label every foreground element with its lowest neighbor, or itself."""
    if domain.kind == "grid":
        values, *background = domain.bounded_values
        labels = cupy.empty(values.size, cupy.int64)
        function = kernel("papers/komura2016/komura", f"initialize<{pixel_and_rank(domain)}>")
        steps = *domain.half, domain.half[2].size
        launch(function, values.size, values, *background, values.size, *steps, labels)
        return labels
    labels = empty_roots(domain.size)
    if domain.kind == "bonds":
        function = kernel("papers/komura2016/komura", f"label_sites<{_types(domain, labels)}>")
        _over_sites(function, domain, labels)
    else:
        types = _graph_types(domain, labels)
        function = kernel("papers/komura2016/komura", f"label_vertices<{types}>")
        _over_vertices(function, domain, labels)
    return labels


def analyze(labels: cupy.ndarray) -> None:
    """Point every element at the root of its chain of labels."""
    function = kernel("papers/komura2016/komura", f"analyze<{labels.dtype.str[1:]}>")
    launch(function, -(-labels.size // BATCH), labels.size, labels)


def reduce_labels(domain: Grid | Bonds | Graph, labels: cupy.ndarray) -> None:
    """Unite every element with its residual list (Algorithm 1)."""
    if domain.kind == "grid":
        values, steps = domain.values[0], (*domain.half, domain.half[2].size)
        function = kernel("papers/komura2016/komura", f"reduce_labels<{pixel_and_rank(domain)}>")
        launch(function, values.size, values, values.size, *steps, labels)
    elif domain.kind == "bonds":
        function = kernel("papers/komura2016/komura", f"unite_sites<{_types(domain, labels)}>")
        _over_sites(function, domain, labels)
    else:
        types = _graph_types(domain, labels)
        function = kernel("papers/komura2016/komura", f"unite_vertices<{types}>")
        _over_vertices(function, domain, labels)


# ---- Lattices of bonds


def _types(bonds: Bonds, labels: cupy.ndarray) -> str:
    """Return the types of a lattice and its labels, as template parameters."""
    return f"{bonds.open.dtype.str[1:]}, {bonds.rank}, {labels.dtype.str[1:]}"


def _over_sites(function: Kernel, bonds: Bonds, labels: cupy.ndarray) -> None:
    """Start a kernel with a thread for each site."""
    shape, steps, periodic = bonds.arrays
    launch(function, bonds.size, bonds.open, bonds.size, shape, steps, len(steps), periodic, labels)


# ---- Graphs


def _batch(graph: Graph) -> int:
    """Return how many vertices a thread has: one if lists are long."""
    return GRAPH_BATCH if graph.neighbors.size <= SHORT * graph.size else 1


def _graph_types(graph: Graph, labels: cupy.ndarray) -> str:
    """Return the types of a graph and its labels, and the batch, as template parameters."""
    arrays = graph.offsets, graph.neighbors, labels
    return ", ".join([*(each.dtype.str[1:] for each in arrays), str(_batch(graph))])


def _over_vertices(function: Kernel, graph: Graph, labels: cupy.ndarray) -> None:
    """Start a kernel with `_batch` vertices for each thread."""
    threads = -(-graph.size // _batch(graph))
    launch(function, threads, graph.offsets, graph.neighbors, graph.size, labels)
