"""Graphs of Hawick et al., Section 6.1, as two arrays of ends, on the device that is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

Ends = tuple[Any, Any]


def arrays(device: str) -> Any:
    """Return NumPy, or CuPy for a GPU."""
    if device == "cpu":
        return np
    import cupy

    return cupy


def disjoint(size: int, edges: int, components: int, device: str = "cpu", seed: int = 0) -> Ends:
    """Join random vertices of the same set, where each vertex belongs to one of many sets.

    Vertices are assigned at random; some may stay alone.
    """
    where = arrays(device)
    rng = where.random.default_rng(seed)
    owner = rng.integers(0, components, size)
    members = where.argsort(owner)
    counts = where.bincount(owner, minlength=components)
    starts = where.cumsum(counts) - counts
    owners = owner[rng.integers(0, size, edges)]  # large sets get more edges
    sides = [
        members[starts[owners] + (rng.random(edges) * counts[owners]).astype(np.int64)]
        for _ in range(2)
    ]
    return sides[0], sides[1]


def line(size: int, device: str = "cpu") -> Ends:
    """Join every vertex with the next."""
    where = arrays(device)
    return where.arange(size - 1), where.arange(1, size)


def scale_free(size: int, degree: int, device: str = "cpu", seed: int = 0) -> Ends:
    """Join each new vertex with `degree` earlier ones, preferring those with many edges.

    The model of Barabasi and Albert: a new edge ends where a random end of an earlier edge is.
    What an end refers to is looked up for all edges together (P. Sanders, C. Schulz, Inf. Process.
    Lett. 116 (2016) 489, doi:10.1016/j.ipl.2016.02.004). Vertex 0 has `degree` self loops.
    """
    where = arrays(device)
    edges = size * degree
    sources = where.arange(edges) // degree
    earlier = 2 * degree * sources  # ends of edges of earlier vertices
    chosen = (where.random.default_rng(seed).random(edges) * earlier).astype(np.int64)
    slot = chosen.copy()
    while True:  # even slots are sources; odd ones end where their own edge ends
        odd = where.flatnonzero(slot % 2)
        if not odd.size:
            break
        slot[odd] = chosen[slot[odd] // 2]
    return sources, sources[slot // 2]


def small_world(size: int, degree: int, rewired: float, device: str = "cpu", seed: int = 0) -> Ends:
    """Join every vertex of a ring with the nearest, then move one end of some edges elsewhere.

    The model of Watts and Strogatz.

    Parameters
    ----------
    degree : int
        Neighbors of each vertex in the ring, an even number.
    rewired : float
        Probability of an edge to get a random second end.
    """
    where = arrays(device)
    rng = where.random.default_rng(seed)
    half = degree // 2
    sources = where.repeat(where.arange(size), half)
    targets = (sources + where.tile(where.arange(1, half + 1), size)) % size
    moved = rng.random(size * half) < rewired
    return sources, where.where(moved, rng.integers(0, size, size * half), targets)
