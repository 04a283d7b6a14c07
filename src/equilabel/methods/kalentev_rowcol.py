"""Row-Col Unify: give connected elements of a row, then of a column, one label, until stable.

O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid using
CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012,
Section 2.1, Algorithms 1 to 5, for lines of any length, any number of axes and any neighborhood.
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

    def unify(self, grid: Domain, labels: Array, segment: int) -> bool:
        """Give equal neighbors on a line one label, the lowest: rows first, then other lines."""
        ...


def recipe(passes: Passes, domain: Domain, *, segment: int = 1024) -> Roots:
    """Find the root of every element.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.kalentev_rowcol`.
    domain : Domain
    segment : int
        Elements of a line that are unified at once, a power of two. Labels and rounds do not depend
        on it.

    Returns
    -------
    Roots
        With the number of calls of `unify` as `rounds`; the last one changes nothing.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.unify(domain, labels, segment):
        rounds += 1
    return Roots(labels, rounds)
