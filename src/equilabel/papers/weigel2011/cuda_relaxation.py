"""Launchers for weigel_relaxation.cu, with the names and signatures of `cpu_relaxation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.cuda import links
from equilabel.papers.cuda.links import packed

from . import cuda_tiles

if TYPE_CHECKING:
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid
    from equilabel.papers.meshes import Lattice


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return links.connect(domain)


def label_tiles(lattice: Lattice, tile: int, local: str) -> cupy.ndarray:
    """Return the smallest index of each component in its tile; -1 for background."""
    return cuda_tiles.label_tiles(lattice, tile, local)


def list_borders(lattice: Lattice, tile: int, roots: cupy.ndarray) -> cupy.ndarray:
    """List the pairs of roots joined by a link between tiles, or around an axis (Figure 5).

    Waits for the device to get their number.
    """
    count = cupy.zeros(2, cupy.uint64)
    known = packed(lattice, tile), lattice.links, roots.size, roots
    launch(
        kernel("papers/weigel2011/weigel_relaxation", "count_pairs"), roots.size, *known, count[:1]
    )
    pairs = cupy.empty((int(count[0]), 2), cupy.int64)
    if len(pairs):
        launch(
            kernel("papers/weigel2011/weigel_relaxation", "store_pairs"),
            roots.size,
            *known,
            count[1:],
            pairs,
        )
    return pairs


def relax(pairs: cupy.ndarray, roots: cupy.ndarray) -> bool:
    """Give both roots of each pair the smaller label; return whether any label changed.

    Waits for the device.
    """
    changed = cupy.zeros(1, cupy.int32)
    launch(
        kernel("papers/weigel2011/weigel_relaxation", "relax"),
        len(pairs),
        len(pairs),
        pairs,
        roots,
        changed,
    )
    return bool(changed)


def spread(roots: cupy.ndarray) -> None:
    """Give every element the label of the root of its tile."""
    launch(kernel("papers/weigel2011/weigel_relaxation", "spread"), roots.size, roots.size, roots)
