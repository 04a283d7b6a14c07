"""Time `label_graph` beside SciPy, NetworkX (small graphs) and, on a GPU, ECL-CC and CuPy.

Graphs: random edges, R-MAT (few vertices have most of the edges), a lattice with some bonds closed
(like roads), and one long path, in order and shuffled. They are made where they are labeled. Peers
get the form that they ask for, made beforehand. Run as ``python benchmarks/graphs.py [--edges N]
[--device cuda] [--only WORD] [--methods METHOD ...]``; results go to
``benchmarks/results/graphs.json``, those of a GPU to ``graphs_cuda.json``.
"""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import Graph, label_graph
from equilabel.domains import lattices
from equilabel.papers import load_passes, load_recipe
from equilabel.papers.table import METHODS
from harness import interleave, store

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 300_000  # edges up to which NetworkX is timed
LIMITS = {"hawick_1": 1e8, "hawick_2": 1e8, "komura": 1e9}  # most edges of those that need rounds
LONG = {"hawick_1": 1e4, "hawick_2": 1e4, "hawick_3": 1e4, "komura": 1e6}  # ... with long paths


def rmat(xp: Any, vertices: int, edges: int, seed: int = 0) -> Graph:
    """Make a graph by recursive choice of a quadrant (Chakrabarti, Zhan, Faloutsos 2004).

    Each bit of both ends of an edge is drawn with the probabilities of Graph500: 0.57, 0.19, 0.19
    and 0.05.
    """
    random = xp.random.default_rng(seed)
    sources, targets = xp.zeros(edges, xp.int64), xp.zeros(edges, xp.int64)
    for _ in range((vertices - 1).bit_length()):
        quadrant = random.random(edges, xp.float32)
        below = quadrant >= 0.76
        sources = sources << 1 | below
        targets = targets << 1 | ((quadrant >= 0.57) & ~below) | (quadrant >= 0.95)
    return Graph.from_edges(sources, targets, size=1 << (vertices - 1).bit_length())


def uniform(xp: Any, vertices: int, edges: int, seed: int = 0) -> Graph:
    """Draw both ends of each edge from all vertices."""
    ends = xp.random.default_rng(seed).integers(0, vertices, (2, edges))
    return Graph.from_edges(ends[0], ends[1], size=vertices)


def path(xp: Any, edges: int, *, shuffled: bool = False) -> Graph:
    """Join each vertex with the next, numbered in order or at random."""
    vertices = xp.arange(edges + 1)
    if shuffled:
        vertices = xp.argsort(xp.random.default_rng(0).random(edges + 1))
    return Graph.from_edges(vertices[:-1], vertices[1:])


def roads(xp: Any, edges: int, probability: float = 0.7) -> Graph:
    """Make a square lattice, seven of ten bonds of which are open."""
    side = isqrt(round(edges / 2 / probability))
    like = None if xp is np else xp.empty(0)
    bonds = lattices.square(side, open_probability=probability, seed=1, like=like)
    return Graph.from_bonds(bonds)


def graphs(xp: Any, edges: int) -> dict[str, Callable[[], Graph]]:
    """Name the makers of all graphs."""
    return {
        "random": partial(uniform, xp, max(edges // 8, 2), edges),
        "R-MAT": partial(rmat, xp, max(edges // 8, 2), edges),
        "roads": partial(roads, xp, edges),
        "path": partial(path, xp, edges),
        "path, shuffled": partial(path, xp, edges, shuffled=True),
    }


def ours(graph: Graph, name: str, methods: list[str], device: str) -> dict[str, Callable[[], Any]]:
    """List what labels a graph: `label_graph`, and the methods, whose answer is roots."""
    found: dict[str, Callable[[], Any]] = {"label_graph": partial(label_graph, graph)}
    limits = LONG if name in ("roads", "path", "path, shuffled") else LIMITS
    for method in methods:
        most = limits.get(method, 1e4 if method == "hawick_3" else float("inf"))
        if graph.neighbors.size > 2 * most:
            continue
        found[method] = partial(load_recipe(method), load_passes(method, device), graph)
    return found


def peers(graph: Graph, device: str) -> dict[str, Callable[[], Any]]:
    """List the labelers of other packages; those that are missing are left out."""
    found: dict[str, Callable[[], Any]] = {}
    shape = (graph.size, graph.size)
    if device == "cuda":
        found["ECL-CC"] = import_module("peers_graph_cuda").ecl_cc(graph)
        try:
            sparse, csgraph = (
                import_module(f"cupyx.scipy.sparse{end}") for end in ("", ".csgraph")
            )
            ones = np.empty(graph.neighbors.size, np.float32, like=graph.neighbors)
            ones[:] = 1
            rows = sparse.csr_matrix((ones, graph.neighbors, graph.offsets), shape=shape)
            csgraph.connected_components(rows[:1, :1], directed=False)
        except (ImportError, RuntimeError) as error:
            print(f"CuPy is left out: {error}")
            return found
        found["CuPy"] = partial(csgraph.connected_components, rows, directed=False)
        return found
    sparse, csgraph = import_module("scipy.sparse"), import_module("scipy.sparse.csgraph")
    ones = np.ones(graph.neighbors.size, np.int8)
    rows = sparse.csr_array((ones, graph.neighbors, graph.offsets), shape=shape)
    found["SciPy"] = partial(csgraph.connected_components, rows, directed=False)
    found["label_graph of SciPy's"] = partial(label_graph, rows)
    if graph.neighbors.size <= 2 * SMALL:
        try:
            networkx = import_module("networkx")
        except ImportError as error:
            print(f"NetworkX is left out: {error}")
            return found
        nodes = networkx.empty_graph(graph.size)
        nodes.add_edges_from(zip(*(ends.tolist() for ends in graph.edges), strict=True))
        found["NetworkX"] = lambda: list(networkx.connected_components(nodes))
    return found


def check(graph: Graph, others: dict[str, Callable[[], Any]]) -> None:
    """Fail unless our numbers are those of SciPy, or rank the roots of ECL-CC."""
    if "SciPy" in others:
        np.testing.assert_array_equal(label_graph(graph), others["SciPy"]()[1])
    if "ECL-CC" in others:
        roots = others["ECL-CC"]()
        if not (np.searchsorted(np.unique(roots), roots) == label_graph(graph)).all():
            message = "label_graph and ECL-CC found other components"
            raise ValueError(message)


def waited(run: Callable[[], Any], xp: Any) -> Callable[[], Any]:
    """Return a call that ends when the device has done the work."""

    def call() -> Any:
        result = run()
        xp.cuda.get_current_stream().synchronize()
        return result

    return call


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=float, nargs="+", default=[1e4, 3e5, 1e7])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", default="", help="only graphs whose name contains this word")
    known = [name for name, row in METHODS.items() if "graph" in row.domains]
    parser.add_argument("--methods", nargs="*", choices=known, default=known)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    on_cuda = options.device == "cuda"
    xp = import_module("cupy") if on_cuda else np
    rows = []
    for edges in map(int, options.edges):
        for name, make in graphs(xp, edges).items():
            if options.only not in name:
                continue
            graph = make()
            others = peers(graph, options.device)
            check(graph, others)
            runs = ours(graph, name, options.methods, options.device) | others
            if on_cuda:
                runs = {each: waited(run, xp) for each, run in runs.items()}
            times = interleave(runs, options.rounds)
            arcs = int(graph.neighbors.size)
            row = {"graph": name, "vertices": graph.size, "edges": arcs // 2, "seconds": times}
            rows.append(row)
            best = times["label_graph"]["min"]
            shown = "  ".join(f"{key} {t['min'] * 1e3:.2f}" for key, t in times.items())
            print(f"{name:<15}{arcs // 2:>11} edges  {arcs / 2 / best / 1e9:.3f} G/s  ms: {shown}")
            del graph, others, runs
    if not options.only:
        print(store("graphs_cuda" if on_cuda else "graphs", rows))


if __name__ == "__main__":
    main()
