"""Label equivalence with references: labels that touch become equivalent, until stable.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Kernel D (Algorithm 8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


class Passes(Protocol):
    """The passes of a device; `labels` and `references` are arrays of that device."""

    def initialize(self, grid: Domain) -> tuple[Array, Array]:
        """Label every foreground element with its own index; let each label refer to itself."""
        ...

    def scan(self, grid: Domain, labels: Array, references: Array) -> bool:
        """Refer each label to the lowest label next to it (Algorithm 8, scanning phase)."""
        ...

    def analyze(self, labels: Array, references: Array) -> None:
        """Refer each label in use to the end of its chain (Algorithm 8, analysis phase)."""
        ...

    def relabel(self, labels: Array, references: Array) -> None:
        """Replace each label by the one it refers to (Algorithm 8, labeling phase)."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every element.

    The first scan that finds no two labels side by side is the last, and nothing is left to analyze
    then.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_d`.
    domain : Domain

    Returns
    -------
    Roots
        With the number of scans as `rounds`.
    """
    labels, references = passes.initialize(domain)
    rounds = 1
    while passes.scan(domain, labels, references):
        passes.analyze(labels, references)
        passes.relabel(labels, references)
        rounds += 1
    return Roots(labels, rounds)
