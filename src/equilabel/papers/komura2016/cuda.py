"""Launchers for komura.cu, komura_bonds.cu and komura_graph.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import Kernel, empty_roots, kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.graph import Graph
    from equilabel.domains.grid import Grid


# ---- Launchers for komura_graph.cu, with the names and signatures of `komura2016.cpu`

SHORT, GRAPH_BATCH = (
    4,
    2,
)  # average neighbors of a vertex up to which a thread has GRAPH_BATCH vertices


def initialize_graph(graph: Graph) -> cupy.ndarray:
    """Label every vertex with its lowest neighbor if that is lower, or with itself."""
    labels = empty_roots(graph.size)
    function = kernel(
        "papers/komura2016/komura_graph", f"initialize<{_graph_types(graph, labels)}>"
    )
    _over_vertices(function, graph, labels)
    return labels


def reduce_graph_labels(graph: Graph, labels: cupy.ndarray) -> None:
    """Unite every vertex with its residual list."""
    function = kernel(
        "papers/komura2016/komura_graph", f"reduce_labels<{_graph_types(graph, labels)}>"
    )
    _over_vertices(function, graph, labels)


def _batch(graph: Graph) -> int:
    """Return how many vertices a thread has: one if lists are long."""
    return GRAPH_BATCH if graph.neighbors.size <= SHORT * graph.size else 1


def _graph_types(graph: Graph, labels: cupy.ndarray) -> str:
    """Return the types of a graph and its labels, and the batch, as template parameters."""
    arrays = graph.offsets, graph.neighbors, labels
    return ", ".join([*(each.dtype.str[1:] for each in arrays), str(_batch(graph))])


def _over_vertices(function: Kernel, graph: Graph, labels: cupy.ndarray) -> None:
    """Start a kernel of komura_graph.cu."""
    threads = -(-graph.size // _batch(graph))
    launch(function, threads, graph.offsets, graph.neighbors, graph.size, labels)


# ---- Launchers for komura.cu, with the names and signatures of `komura2016.cpu`

BATCH = 4  # elements of a thread of `analyze`, as in komura.cu


def initialize(domain: Grid | Bonds | Graph) -> cupy.ndarray:
    """Label every foreground element with its lowest neighbor, or itself."""
    if domain.kind == "graph":
        return initialize_graph(domain)
    if domain.kind == "bonds":
        labels = empty_roots(domain.size)
        function = kernel(
            "papers/komura2016/komura_bonds", f"label_sites<{_types(domain, labels)}>"
        )
        _over_sites(function, domain, labels)
        return labels
    values, background = domain.values
    shape, steps, offsets = domain.half
    labels = cupy.empty(values.size, cupy.int64)
    pixel = values.dtype
    launch(
        kernel("papers/komura2016/komura", f"initialize<{pixel.str[1:]}, {shape.size}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
    )
    return labels


def analyze(labels: cupy.ndarray) -> None:
    """Point every element at the root of its chain of labels."""
    function = kernel("papers/komura2016/komura", f"analyze<{labels.dtype.str[1:]}>")
    launch(function, -(-labels.size // BATCH), labels.size, labels)


def reduce_labels(domain: Grid | Bonds | Graph, labels: cupy.ndarray) -> None:
    """Unite every element with its residual list (Algorithm 1)."""
    if domain.kind == "graph":
        reduce_graph_labels(domain, labels)
        return
    if domain.kind == "bonds":
        function = kernel(
            "papers/komura2016/komura_bonds", f"unite_sites<{_types(domain, labels)}>"
        )
        _over_sites(function, domain, labels)
        return
    values = domain.values[0]
    shape, steps, offsets = domain.half
    launch(
        kernel("papers/komura2016/komura", f"reduce_labels<{values.dtype.str[1:]}, {shape.size}>"),
        values.size,
        values,
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
    )


def _types(bonds: Bonds, labels: cupy.ndarray) -> str:
    """Return the types of a lattice and its labels, as template parameters."""
    return f"{bonds.open.dtype.str[1:]}, {bonds.rank}, {labels.dtype.str[1:]}"


def _over_sites(function: Kernel, bonds: Bonds, labels: cupy.ndarray) -> None:
    """Start a kernel of komura_bonds.cu."""
    shape, steps, periodic = bonds.arrays
    launch(function, bonds.size, bonds.open, bonds.size, shape, steps, len(steps), periodic, labels)
