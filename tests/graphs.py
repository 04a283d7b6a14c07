"""Graphs to label, and what SciPy says of them."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from equilabel import Graph


def random_edges(size, count, seed=0):
    return np.random.default_rng(seed).integers(0, size, (count, 2))


def star(size, hub):
    leaves = np.delete(np.arange(size), hub)
    return np.stack([np.full(size - 1, hub), leaves], 1)


def path(vertices):
    return np.stack([vertices[:-1], vertices[1:]], 1)


def hubs(size, count, seed=0):
    """Join the last vertices, as hubs, with all others, each by itself but for a few."""
    rng = np.random.default_rng(seed)
    spokes = np.stack([size - 1 - rng.integers(0, count, size - count), np.arange(size - count)], 1)
    return np.concatenate([spokes, random_edges(size - count, 3, seed)])


def cliques(count, size):
    """Vertices that all know one another, in pairs of cliques whose last vertices are joined.

    One clique of a pair has the even vertices, so that the edge between them is nobody's first.
    """
    pairs = 2 * np.argwhere(np.triu(np.ones((size, size)), 1))
    both = np.concatenate([pairs, pairs + 1, [(2 * size - 2, 2 * size - 1)]])
    return np.concatenate([both + 2 * size * k for k in range(count // 2)])


def bridges(count, size):
    """Join pairs of cliques, each by a vertex that has no other neighbors."""
    inside = np.argwhere(np.triu(np.ones((size, size)), 1))
    clique = np.arange(count)
    between = np.stack([count * size + clique // 2, size * clique], 1)
    return np.concatenate([*(inside + size * k for k in clique), between])


SHUFFLED = np.random.default_rng(5).permutation(300)
GRAPHS = {
    "a vertex": Graph.from_edges([], size=1),
    "no edges": Graph.from_edges([], size=7),
    "self loops": Graph.from_edges([(0, 0), (2, 2), (2, 4)], size=5),
    "repeated edges": Graph.from_edges([(3, 1)] * 40 + [(1, 3)] * 3, size=4),
    "star": Graph.from_edges(star(300, 150)),
    "star, hub last": Graph.from_edges(star(300, 299)),
    "path": Graph.from_edges(path(np.arange(300))),
    "path, backwards": Graph.from_edges(path(np.arange(300)[::-1])),
    "path, shuffled": Graph.from_edges(path(SHUFFLED)),
    "hubs": Graph.from_edges(hubs(300, 6)),
    "cliques": Graph.from_edges(cliques(20, 12)),  # none of them holds half of the vertices
    "bridges": Graph.from_edges(bridges(20, 12)),
    "complete": Graph.from_edges(np.argwhere(np.triu(np.ones((30, 30)), 1))),
    **{
        f"random, {count} edges": Graph.from_edges(random_edges(200, count), size=200)
        for count in (30, 100, 150, 400, 1000)
    },
}


def expected_components(graph):
    """Return the number of components, and that of each vertex, as SciPy does."""
    weights = np.ones(graph.neighbors.size, np.int8)
    rows = csr_array((weights, graph.neighbors, graph.offsets), shape=(graph.size, graph.size))
    return connected_components(rows, directed=False)


def expected_roots(graph):
    """Return the smallest vertex of the component of each vertex."""
    count, numbers = expected_components(graph)
    first = np.full(count, graph.size)
    np.minimum.at(first, numbers, np.arange(graph.size))
    return first[numbers]
