"""Kernel 1: compare the colors at both ends of every edge, until none changes.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Section 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


class Passes(Protocol):
    """The passes of a device; `colors` is an array of that device."""

    def init_colors(self, graph: Domain) -> Array:
        """Give every vertex its own index as its color."""
        ...

    def lower_colors(self, graph: Domain, colors: Array) -> bool:
        """Lower the color of an end of each edge to that of the other; tell whether any changed."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every vertex (Algorithm 2).

    A color spreads along at least one edge a round, so there are at most as many rounds as the
    longest of the shortest paths has edges, and one more, which changes nothing.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_1`.
    domain : Domain
        A graph.

    Returns
    -------
    Roots
        With the number of calls of the kernel as `rounds`.
    """
    colors = passes.init_colors(domain)
    rounds = 1
    while passes.lower_colors(domain, colors):
        rounds += 1
    return Roots(colors, rounds)
