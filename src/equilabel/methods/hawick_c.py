"""Directional propagation: carry the lowest label along every line, in every direction.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Kernel C (Algorithm 7).
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

    def sweep(self, grid: Domain, labels: Array) -> bool:
        """Carry the lowest label along all lines, in each direction once (Algorithm 7)."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every element.

    A label moves along whole lines, so rounds grow with the number of turns on the way through a
    component, not with its length.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_c`.
    domain : Domain

    Returns
    -------
    Roots
        With the number of calls of `sweep` as `rounds`; the last one changes nothing.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.sweep(domain, labels):
        rounds += 1
    return Roots(labels, rounds)
