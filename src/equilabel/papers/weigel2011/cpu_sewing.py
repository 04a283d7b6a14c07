"""Passes of hierarchical sewing (Weigel 2011, Section II.C.2) on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of, unite
from equilabel.devices.jit import njit
from equilabel.papers.cpu import links
from equilabel.papers.cpu.links import neighbor, seam_level

from . import cpu_tiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid
    from equilabel.papers.meshes import Lattice

AROUND = -1  # level of the steps around periodic axes


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return links.connect(domain)


def label_tiles(lattice: Lattice, tile: int, local: str) -> NDArray[np.int64]:
    """Return the smallest index of each component in its tile; -1 for background."""
    return cpu_tiles.label_tiles(lattice, tile, local)


def sew(lattice: Lattice, tile: int, level: int, roots: NDArray[np.int64]) -> bool:
    """Join pairs of tiles along each axis; return whether more than one tile is left."""
    edges, tiles = lattice.edges(tile), lattice.tiles(tile)
    for axis in np.flatnonzero(tiles > 1 << (level - 1)).tolist():
        width = int(edges[axis]) << (level - 1)
        _sew_axis(lattice, edges, axis, width, level, roots)
    return bool((tiles > 1 << level).any())


def sew_around(lattice: Lattice, tile: int, roots: NDArray[np.int64]) -> None:
    """Insert the bonds that lead around periodic axes."""
    for axis in np.flatnonzero(lattice.periodic).tolist():
        side = int(lattice.shape[axis])
        _sew_axis(lattice, lattice.edges(tile), axis, side, AROUND, roots)


def point_at_roots(roots: NDArray[np.int64]) -> None:
    """Point every element at the root of its tree."""
    resolve_trees(roots)


def _sew_axis(
    lattice: Lattice,
    edges: NDArray[np.int64],
    axis: int,
    width: int,
    level: int,
    roots: NDArray[np.int64],
) -> None:
    """Sew the seams across one axis: every second multiple of a width, from the first."""
    shape = lattice.shape
    for seam in range(width, int(shape[axis]) + (level == AROUND), 2 * width):
        sew_seam(
            lattice.links, shape, lattice.steps, lattice.periodic, edges, axis, seam, level, roots
        )


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def sew_seam(links, shape, steps, periodic, edges, axis, seam, level, roots):
    """Unite the elements on both sides of a seam that are linked across it.

    The seam lies before coordinate `seam` of `axis`, or, around a periodic axis, before its side.
    Links that also cross a seam of a higher level along another axis are left for that level.
    `edges` is (4,), the sides of tiles; `roots` is (N,), trees of indices with ``roots[i] <= i``,
    -1 for background. Other arrays are those of `Lattice`.
    """
    site = np.zeros(4, np.int64)
    across = roots.size // shape[axis]
    for _ in range(across):
        for sign in (1, -1):
            site[axis] = seam - 1 if sign > 0 else seam % shape[axis]
            here = 0
            for each in range(4):
                here = here * shape[each] + site[each]
            for k in range(len(steps)):
                if (
                    links[here] >> k & 1
                    and steps[k, axis] == sign
                    and seam_level(shape, steps, k, edges, site) == level
                ):
                    unite(roots, here, neighbor(shape, periodic, steps, k, 1, site))
        for each in range(3, -1, -1):  # move on along the seam
            if each != axis:
                site[each] += 1
                if site[each] < shape[each]:
                    break
                site[each] = 0


@njit(nogil=True, cache=True)
def resolve_trees(roots):
    """Point every element at the root of its tree, ``roots[i] <= i``; -1 for background."""
    for i in range(roots.size):
        if roots[i] >= 0:
            roots[i] = root_of(roots, i)
