"""Multi-grid labels: connections at distances 2^m carry labels far, and labels make connections.

J. Apostolakis, P. Coddington, E. Marinari, A multi-grid cluster labeling scheme, Europhys. Lett.
17 (1992) 189-194, doi:10.1209/0295-5075/17/3/001 (report CRPC-TR91155, 1991).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from types import ModuleType


def recipe(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every element; `rounds` counts cycles, with the last, which changes nothing.

    A cycle goes from neighbors to the longest distance. Two elements at distance 2^m are connected
    if both halves of the way are, or if their labels are equal; labels move along connections.
    """
    grids = passes.start(domain)
    rounds = 0
    changed = True
    while changed:
        for level in range(grids.levels):
            passes.improve(grids, level)
            passes.propagate(grids, level)
        changed = passes.has_changed(grids)
        rounds += 1
    return Roots(passes.roots_of(grids), rounds)
