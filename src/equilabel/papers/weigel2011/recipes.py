"""Tiles are sewn together in pairs, or exchange labels across borders (Weigel 2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


# ---- Tiles are labeled by themselves, then sewn together, two by two along each axis
# M. Weigel, Connected component identification and cluster update on graphics processing units,
# Phys. Rev. E 84 (2011) 036709, doi:10.1103/PhysRevE.84.036709, Sections II.B and II.C.2.


class SewingPasses(Protocol):
    """The passes of a device; `roots` is an array of that device."""

    def connect(self, domain: Domain) -> Any:
        """Tell for each element which of its neighbors it is linked to."""
        ...

    def label_tiles(self, lattice: Any, tile: int, local: str) -> Array:
        """Find the smallest index of each component in its tile (Figures 1, 3, 4)."""
        ...

    def sew(self, lattice: Any, tile: int, level: int, roots: Array) -> bool:
        """Join pairs of tiles along each axis (Figure 7); tell whether more than one is left."""
        ...

    def sew_around(self, lattice: Any, tile: int, roots: Array) -> None:
        """Insert the bonds that lead around periodic axes."""
        ...

    def point_at_roots(self, roots: Array) -> None:
        """Point every element at the root of its tree."""
        ...


def sewing(
    passes: SewingPasses, domain: Domain, *, tile: int = 16, local: str = "self_labeling"
) -> Roots:
    """Find the root of every element.

    The labels of tiles are trees of depth one. A level inserts the bonds between tiles that become
    one, as unions of trees; after each level, tiles are twice as long. The bonds around periodic
    boundaries come last.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.weigel_sewing`.
    domain : Domain
    tile : int
        Edge of the tiles. Not checked.
    local : {"self_labeling", "union_find", "breadth_first"}
        How tiles are labeled.

    Returns
    -------
    Roots
        With the number of levels as `rounds`, at least 1.
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
# M. Weigel, Connected component identification and cluster update on graphics processing units,
# Phys. Rev. E 84 (2011) 036709, doi:10.1103/PhysRevE.84.036709, Sections II.B and II.C.1.


class RelaxationPasses(Protocol):
    """The passes of a device; `roots` and `pairs` are arrays of that device."""

    def connect(self, domain: Domain) -> Any:
        """Tell for each element which of its neighbors it is linked to."""
        ...

    def label_tiles(self, lattice: Any, tile: int, local: str) -> Array:
        """Find the smallest index of each component in its tile (Figures 1, 3, 4)."""
        ...

    def list_borders(self, lattice: Any, tile: int, roots: Array) -> Array:
        """List the pairs of roots that a bond between two tiles joins (Figure 5)."""
        ...

    def relax(self, pairs: Array, roots: Array) -> bool:
        """Give both roots of each pair the smaller label; tell whether any label changed."""
        ...

    def spread(self, roots: Array) -> None:
        """Give every element the label of the root of its tile."""
        ...


def relaxation(
    passes: RelaxationPasses, domain: Domain, *, tile: int = 16, local: str = "self_labeling"
) -> Roots:
    """Find the root of every element.

    Only the roots on both sides of a border between tiles take part in the relaxation: their
    labels, which begin as their own indices, sink to the smallest of the component, tile by tile.
    The first round that changes nothing is the last.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.weigel_relaxation`.
    domain : Domain
    tile : int
        Edge of the tiles. Not checked.
    local : {"self_labeling", "union_find", "breadth_first"}
        How tiles are labeled.

    Returns
    -------
    Roots
        With the number of relaxation steps as `rounds`, the last included.
    """
    lattice = passes.connect(domain)
    roots = passes.label_tiles(lattice, tile, local)
    pairs = passes.list_borders(lattice, tile, roots)
    rounds = 1
    while passes.relax(pairs, roots):
        rounds += 1
    passes.spread(roots)
    return Roots(roots, rounds)
