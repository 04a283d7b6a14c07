"""Label equivalence and row-column unification (Kalentev et al. 2011).

O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid using CUDA,
J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from types import ModuleType


# ---- Label equivalence: lower every label to the lowest nearby, shorten the chains, until stable
# Listings 1 to 3, for any number of axes and any neighborhood; Listing 4 for sizes and perimeters.


def label_equivalence(passes: ModuleType, domain: Domain, *, accumulate: bool = False) -> Roots:
    """Find the root of every element; `rounds` counts scans, the last lowers nothing.

    A label is an index into the padded image, so it serves as a reference too. A scan lowers the
    label that each label refers to; the analysis then points every element at the root of its
    chain. With `accumulate`, the analysis also counts the elements of each component and their
    exposed faces along each axis (Listing 4): `Roots.counts` holds them at the first element of
    each component in the padded image, and zeros at all others.
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
# Section 2.1, Algorithms 1 to 5, for lines of any length, any number of axes and any neighborhood.


def row_column(passes: ModuleType, domain: Domain, *, segment: int = 1024) -> Roots:
    """Find the root of every element; `rounds` counts calls of `unify`, the last changes nothing.

    `segment`, a power of two, is the number of elements of a line that are unified at once. Labels
    and rounds do not depend on it.
    """
    labels = passes.initialize(domain)
    rounds = 1
    while passes.unify(domain, labels, segment):
        rounds += 1
    return Roots(labels, rounds)
