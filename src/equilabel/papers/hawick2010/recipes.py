"""Kernels A to D for meshes and 1 to 3 for graphs (Hawick, Leist, Playne 2010).

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from types import ModuleType


# ---- Neighbor propagation: every element takes the lowest label among its neighbors, until stable
# Kernel A (Algorithm 5).


def kernel_a(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every element; `rounds` counts calls of `propagate`.

    A label moves by one element in a round. So the number of rounds is the greatest length of a
    shortest path from the first element of a component, plus the last round, which changes nothing.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.propagate(domain, labels):
        rounds += 1
    return Roots(labels, rounds)


# ---- Local neighbor propagation: as neighbor propagation, but through a whole tile in each round
# Kernel B (Algorithm 6).


def kernel_b(passes: ModuleType, domain: Domain, *, tile_size: int = 256) -> Roots:
    """Find the root of every element; `rounds` counts calls of `propagate`; the last is idle.

    A tile has at most `tile_size` elements, and is as nearly a square or cube as powers of two
    allow: 16 x 16 in the paper.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.propagate_tiles(domain, labels, tile_size):
        rounds += 1
    return Roots(labels, rounds)


# ---- Directional propagation: carry the lowest label along every line, in every direction
# Kernel C (Algorithm 7).


def kernel_c(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every element; `rounds` counts calls of `sweep`, the last changes nothing.

    A label moves along whole lines, so rounds grow with the number of turns on a path through a
    component, not with its length.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.sweep(domain, labels):
        rounds += 1
    return Roots(labels, rounds)


# ---- Label equivalence with references: labels that touch become equivalent, until stable
# Kernel D (Algorithm 8).


def kernel_d(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every element; `rounds` counts scans.

    The last scan finds no two different labels side by side, so there is nothing left to analyze.
    """
    labels = passes.initialize(domain)
    references = passes.init_references(labels)
    rounds = 1
    while passes.scan(domain, labels, references):
        passes.analyze(labels, references)
        passes.relabel(labels, references)
        rounds += 1
    return Roots(labels, rounds)


# ---- Kernel 1: compare the colors at both ends of every edge, until none changes
# Section 4.3.1.


def kernel_1(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every vertex (Algorithm 2); `rounds` counts calls of the kernel.

    A color spreads along at least one edge in a round. So there are at most as many rounds as the
    longest of the shortest paths has edges, plus the last round, which changes nothing.
    """
    colors = passes.init_colors(domain)
    rounds = 1
    while passes.lower_colors(domain, colors):
        rounds += 1
    return Roots(colors, rounds)


# ---- Kernel 2: vertices whose color changed compare it with their neighbors, until none changes
# Section 4.3.2.


def kernel_2(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every vertex (Algorithm 3); `rounds` counts calls of the kernel.

    A vertex is active in a round if its color changed in the round before; all are in the first.
    """
    colors = passes.init_colors(domain)
    frontier = passes.init_frontier(domain, True)
    following = passes.init_frontier(domain, False)
    rounds = 1
    while passes.compare(domain, colors, frontier, following):
        frontier, following = following, frontier
        rounds += 1
    return Roots(colors, rounds)


# ---- Kernel 3: a breadth-first search for each component, one after the other
# Section 4.3.3.


def kernel_3(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every vertex; `rounds` counts calls of the kernel in all searches.

    The first vertex without a color is the source of the next search, and its index is the color
    that the search spreads, by one edge in a round.
    """
    colors = passes.clear_colors(domain)
    frontier = passes.init_frontier(domain, False)
    following = passes.init_frontier(domain, False)
    rounds = 0
    source = passes.next_source(colors, 0)
    while source >= 0:
        passes.start_search(frontier, source)
        spreading = True
        while spreading:
            spreading = passes.spread(domain, colors, source, frontier, following)
            frontier, following = following, frontier
            rounds += 1
        source = passes.next_source(colors, source + 1)
    return Roots(colors, max(rounds, 1))
