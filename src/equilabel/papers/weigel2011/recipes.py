"""Tiles are sewn together in pairs, or exchange labels across borders (Weigel 2011).

M. Weigel, Connected component identification and cluster update on graphics processing units,
Phys. Rev. E 84 (2011) 036709, doi:10.1103/PhysRevE.84.036709.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from types import ModuleType


# ---- Tiles are labeled by themselves, then sewn together, two by two along each axis
# Sections II.B and II.C.2.


def sewing(
    passes: ModuleType, domain: Domain, *, tile: int = 16, local: str = "self_labeling"
) -> Roots:
    """Find the root of every element; `rounds` is the number of levels, at least 1.

    The labels of tiles are trees of depth one. A level inserts the bonds between tiles that become
    one, as unions of trees; after each level, tiles are twice as long. The bonds around periodic
    axes come last.
    """
    lattice = passes.connect(domain)
    roots = passes.label_tiles(lattice, tile, local)
    level = 1
    while passes.sew(lattice, tile, level, roots):
        level += 1
    passes.sew_around(lattice, tile, roots)
    passes.point_at_roots(roots)
    return Roots(roots, level)


# ---- Tiles are labeled by themselves, then exchange labels across their borders, until stable
# Sections II.B and II.C.1.


def relaxation(
    passes: ModuleType, domain: Domain, *, tile: int = 16, local: str = "self_labeling"
) -> Roots:
    """Find the root of every element; `rounds` counts relaxation steps, the last changes nothing.

    Only the roots on both sides of a border between tiles take part: their labels, at first their
    own indices, decrease to the smallest of the component, tile by tile.
    """
    lattice = passes.connect(domain)
    roots = passes.label_tiles(lattice, tile, local)
    pairs = passes.list_borders(lattice, tile, roots)
    rounds = 1
    while passes.relax(pairs, roots):
        rounds += 1
    passes.spread(roots)
    return Roots(roots, rounds)
