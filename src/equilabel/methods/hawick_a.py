"""Neighbor propagation: every element takes the lowest label among its neighbors, until stable.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Kernel A (Algorithm 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


class Passes(Protocol):
    """The passes of a device; `labels` is an array of that device."""

    def initialize(self, grid: Domain) -> Array:
        """Label every foreground element with its own index."""
        ...

    def propagate(self, grid: Domain, labels: Array) -> bool:
        """Give every element the lowest label among it and its neighbors (Algorithm 5)."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every element.

    A label moves by one element in a round, so the number of rounds is the longest shortest path
    from the first element of a component to another of its elements, and one more, which changes
    nothing.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_a`.
    domain : Domain

    Returns
    -------
    Roots
        With the number of calls of `propagate` as `rounds`.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.propagate(domain, labels):
        rounds += 1
    return Roots(labels, rounds)
