"""Local neighbor propagation: as neighbor propagation, but through a whole tile in each round.

K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA,
Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002, Kernel B (Algorithm 6).
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

    def propagate(self, grid: Domain, labels: Array, tile_size: int) -> bool:
        """Take the lowest label nearby, then propagate labels inside each tile (Algorithm 6)."""
        ...


def recipe(passes: Passes, domain: Domain, *, tile_size: int = 256) -> Roots:
    """Find the root of every element.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.hawick_b`.
    domain : Domain
    tile_size : int
        Most elements of a tile, which is as nearly a square or cube as powers of two allow: 16 x 16
        in the paper.

    Returns
    -------
    Roots
        With the number of calls of `propagate` as `rounds`; the last one changes nothing.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.propagate(domain, labels, tile_size):
        rounds += 1
    return Roots(labels, rounds)
