"""Kernel 3: a breadth-first search for each component, one after the other.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Section 4.3.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


class Passes(Protocol):
    """The passes of a device; all arrays are of that device."""

    def init_colors(self, graph: Domain) -> Array:
        """Leave every vertex without a color: -1."""
        ...

    def init_frontier(self, graph: Domain) -> Array:
        """Make an array that tells for every vertex whether it is active: none is."""
        ...

    def next_source(self, colors: Array, start: int) -> int:
        """Return the first vertex without a color from `start` on; -1 if there is none."""
        ...

    def start_search(self, frontier: Array, source: int) -> None:
        """Make the source of a search active."""
        ...

    def spread(
        self, graph: Domain, colors: Array, source: int, frontier: Array, following: Array
    ) -> bool:
        """Color active vertices; make their neighbors without a color active: tell if any was."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every vertex.

    The first vertex without a color is the source of the next search, and its index the color that
    the search spreads, by one edge a round.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_3`.
    domain : Domain
        A graph.

    Returns
    -------
    Roots
        With the number of calls of the kernel, of all searches, as `rounds`.
    """
    colors = passes.init_colors(domain)
    frontier, following = passes.init_frontier(domain), passes.init_frontier(domain)
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
