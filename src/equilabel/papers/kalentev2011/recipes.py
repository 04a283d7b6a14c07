"""Label equivalence and row-column unification (Kalentev et al. 2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


# ---- Label equivalence: lower every label to the lowest nearby, shorten the chains, until stable
# O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid using
# CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012,
# Listings 1 to 3, for any number of axes and any neighborhood; Listing 4 for sizes and perimeters.


class Passes(Protocol):
    """The passes of a device; `labels` and `counts` are arrays of that device."""

    def init_labels(self, grid: Domain) -> Array:
        """Label every foreground element with its own index in the padded image (Listing 1)."""
        ...

    def scan(self, grid: Domain, labels: Array) -> bool:
        """Lower what each label refers to; tell whether any was lowered (Listing 3)."""
        ...

    def analyze(self, labels: Array) -> None:
        """Point every element at the end of its chain of labels (Listing 2)."""
        ...

    def init_counts(self, grid: Domain, labels: Array) -> Array:
        """Count every element and its exposed faces as its own component (Section 4)."""
        ...

    def analyze_counts(self, labels: Array, counts: Array) -> None:
        """Do as `analyze`, and move the counts of each element to that end (Listing 4)."""
        ...

    def crop(self, grid: Domain, labels: Array) -> Array:
        """Take the padding off: labels become roots."""
        ...


def label_equivalence(passes: Passes, domain: Domain, *, accumulate: bool = False) -> Roots:
    """Find the root of every element.

    A label is an index into the padded image, and so a reference as well: no second array is
    needed. A scan lowers the label that each label refers to; the analysis then points every
    element at the end of its chain. The first scan that lowers nothing is the last.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.kalentev`.
    domain : Domain
    accumulate : bool
        Whether the analysis also counts the elements of each component and their exposed faces
        along each axis (Listing 4): `Roots.counts`, at the first element of each component in the
        padded image, and zeros at all others.

    Returns
    -------
    Roots
        With the number of scans as `rounds`.
    """
    labels = passes.init_labels(domain)
    counts = passes.init_counts(domain, labels) if accumulate else None
    rounds = 1
    while passes.scan(domain, labels):
        if accumulate:
            passes.analyze_counts(labels, counts)
        else:
            passes.analyze(labels)
        rounds += 1
    return Roots(passes.crop(domain, labels), rounds, counts)


# ---- Row-Col Unify: give connected elements of a row, then of a column, one label, until stable
# O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid using
# CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012,
# Section 2.1, Algorithms 1 to 5, for lines of any length, any number of axes and any neighborhood.


class RowColumnPasses(Protocol):
    """The passes of a device; `labels` is an array of that device."""

    def initialize(self, grid: Domain) -> Array:
        """Label every foreground element with its own index."""
        ...

    def unify(self, grid: Domain, labels: Array, segment: int) -> bool:
        """Give equal neighbors on a line one label, the lowest: rows first, then other lines."""
        ...


def row_column(passes: RowColumnPasses, domain: Domain, *, segment: int = 1024) -> Roots:
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
