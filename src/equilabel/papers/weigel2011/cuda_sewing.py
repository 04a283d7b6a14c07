"""Launchers for weigel_sewing.cu, with the names and signatures of `cpu_sewing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.cuda import links
from equilabel.papers.cuda.links import packed

from . import cuda_tiles

if TYPE_CHECKING:
    import cupy

    from equilabel.array_types import HostArray
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid
    from equilabel.papers.meshes import Lattice

AROUND = -1  # level of the steps around periodic axes


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return links.connect(domain)


def label_tiles(lattice: Lattice, tile: int, local: str) -> cupy.ndarray:
    """Return the smallest index of each component in its tile; -1 for background."""
    return cuda_tiles.label_tiles(lattice, tile, local)


def sew(lattice: Lattice, tile: int, level: int, roots: cupy.ndarray) -> bool:
    """Join pairs of tiles along each axis; return whether more than one tile is left."""
    edges, tiles = lattice.edges(tile), lattice.tiles(tile)
    one = packed(lattice, tile)
    for axis in np.flatnonzero(tiles > 1 << (level - 1)).tolist():
        width = int(edges[axis]) << (level - 1)
        _sew_axis(lattice, one, axis, width, level, roots)
    return bool((tiles > 1 << level).any())


def sew_around(lattice: Lattice, tile: int, roots: cupy.ndarray) -> None:
    """Insert the bonds that lead around periodic axes."""
    one = packed(lattice, tile)
    for axis in np.flatnonzero(lattice.periodic).tolist():
        _sew_axis(lattice, one, axis, int(lattice.shape[axis]), AROUND, roots)


def point_at_roots(roots: cupy.ndarray) -> None:
    """Point every element at the root of its tree."""
    launch(
        kernel("papers/weigel2011/weigel_sewing", "point_at_roots"), roots.size, roots.size, roots
    )


def _sew_axis(
    lattice: Lattice, one: HostArray, axis: int, width: int, level: int, roots: cupy.ndarray
) -> None:
    """Sew the seams across one axis: every second multiple of a width, from the first."""
    side = int(lattice.shape[axis])
    seams = len(range(width, side + (level == AROUND), 2 * width))
    across = roots.size // side
    launch(
        kernel("papers/weigel2011/weigel_sewing", "sew"),
        seams * across,
        one,
        lattice.links,
        np.int32(axis),
        width,
        2 * width,
        seams * across,
        across,
        np.int32(level),
        roots,
    )
