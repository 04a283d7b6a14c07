"""Launchers for weigel_relaxation.cu, shaped like `equilabel.kernels.cpu.weigel_relaxation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from . import links, weigel_tiles
from ._compile import kernel, launch
from .lattice import packed

if TYPE_CHECKING:
    from equilabel.bonds import Bonds
    from equilabel.grid import Grid
    from equilabel.kernels.lattice import Lattice


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return links.connect(domain)


def label_tiles(lattice: Lattice, tile: int, local: str) -> cupy.ndarray:
    """Return the smallest index of each component in its tile; -1 for background."""
    return weigel_tiles.label_tiles(lattice, tile, local)


def list_borders(lattice: Lattice, tile: int, roots: cupy.ndarray) -> cupy.ndarray:
    """List the pairs of roots that a link between two tiles, or around an axis, joins (Figure 5).

    Waits for the device, to learn how many there are.
    """
    count = cupy.zeros(2, cupy.uint64)
    known = packed(lattice, tile), lattice.links, roots.size, roots
    launch(kernel("weigel_relaxation", "count_pairs"), roots.size, *known, count[:1])
    pairs = cupy.empty((int(count[0]), 2), cupy.int64)
    if len(pairs):
        launch(kernel("weigel_relaxation", "store_pairs"), roots.size, *known, count[1:], pairs)
    return pairs


def relax(pairs: cupy.ndarray, roots: cupy.ndarray) -> bool:
    """Give both roots of each pair the smaller label; tell whether any label changed.

    Waits for the device.
    """
    changed = cupy.zeros(1, cupy.int32)
    launch(kernel("weigel_relaxation", "relax"), len(pairs), len(pairs), pairs, roots, changed)
    return bool(changed)


def spread(roots: cupy.ndarray) -> None:
    """Give every element the label of the root of its tile."""
    launch(kernel("weigel_relaxation", "spread"), roots.size, roots.size, roots)
