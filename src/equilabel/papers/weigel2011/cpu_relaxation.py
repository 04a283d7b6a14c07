"""Passes of label relaxation (Weigel 2011, Section II.C.1) on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit
from equilabel.papers.cpu import links
from equilabel.papers.cpu.links import move_on, neighbor, seam_level

from . import cpu_tiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid
    from equilabel.papers.meshes import Lattice


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return links.connect(domain)


def label_tiles(lattice: Lattice, tile: int, local: str) -> NDArray[np.int64]:
    """Return the smallest index of each component in its tile; -1 for background."""
    return cpu_tiles.label_tiles(lattice, tile, local)


def list_borders(lattice: Lattice, tile: int, roots: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the pairs of roots joined by a link between tiles, or around an axis (Figure 5)."""
    edges = lattice.edges(tile)
    none = np.empty((0, 2), np.int64)
    pairs = np.empty((collect_pairs(*lattice, edges, roots, none), 2), np.int64)
    collect_pairs(*lattice, edges, roots, pairs)
    return pairs


def relax(pairs: NDArray[np.int64], roots: NDArray[np.int64]) -> bool:
    """Give both roots of each pair the smaller label; return whether any label changed."""
    return bool(relax_pairs(pairs, roots))


def spread(roots: NDArray[np.int64]) -> None:
    """Give every element the label of the root of its tile."""
    spread_labels(roots)


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def collect_pairs(links, shape, steps, periodic, edges, roots, pairs):
    """Write the roots on both sides of each link that leaves a tile, if they differ; count pairs.

    `edges` is (4,), the sides of tiles; `roots` is (N,), of each element in its tile, -1 for
    background. `pairs` is (M, 2) of int64, or empty: then nothing is written. Other arrays are
    those of `Lattice`.
    """
    site = np.zeros(4, np.int64)
    count = 0
    for i in range(roots.size):
        for k in range(len(steps)):
            if links[i] >> k & 1 and seam_level(shape, steps, k, edges, site) != 0:
                j = neighbor(shape, periodic, steps, k, 1, site)
                if roots[i] != roots[j]:
                    if len(pairs):
                        pairs[count, 0], pairs[count, 1] = roots[i], roots[j]
                    count += 1
        move_on(site, shape)
    return count


@njit(nogil=True, cache=True)
def relax_pairs(pairs, roots):
    """Give both roots of each pair the smaller of their labels; return whether any changed.

    `roots` holds, at the root of a part of a component in a tile, its label: its own index at
    first.
    """
    changed = False
    for m in range(len(pairs)):
        one, other = roots[pairs[m, 0]], roots[pairs[m, 1]]
        if one != other:
            roots[pairs[m, 0]] = roots[pairs[m, 1]] = min(one, other)
            changed = True
    return changed


@njit(nogil=True, cache=True)
def spread_labels(roots):
    """Give every element the label of the root of its tile.

    An element that is no root refers to its root; a root refers to the smallest index of its
    component, which refers to itself. -1 for background.
    """
    for i in range(roots.size):
        if roots[i] >= 0:
            roots[i] = roots[roots[i]]
