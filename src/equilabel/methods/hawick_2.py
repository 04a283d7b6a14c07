"""Kernel 2: vertices whose color changed compare it with their neighbors, until none changes.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Section 4.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


class Passes(Protocol):
    """The passes of a device; all arrays are of that device."""

    def init_colors(self, graph: Domain) -> Array:
        """Give every vertex its own index as its color."""
        ...

    def init_frontier(self, graph: Domain, active: bool) -> Array:
        """Make an array that tells for every vertex whether it is active."""
        ...

    def compare(self, graph: Domain, colors: Array, frontier: Array, following: Array) -> bool:
        """Compare active vertices with their neighbors; tell whether any color changed."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every vertex (Algorithm 3).

    A vertex is active in a round if its color changed in the round before; all are in the first.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_2`.
    domain : Domain
        A graph.

    Returns
    -------
    Roots
        With the number of calls of the kernel as `rounds`.
    """
    colors = passes.init_colors(domain)
    frontier = passes.init_frontier(domain, True)
    following = passes.init_frontier(domain, False)
    rounds = 1
    while passes.compare(domain, colors, frontier, following):
        frontier, following = following, frontier
        rounds += 1
    return Roots(colors, rounds)
