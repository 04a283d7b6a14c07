"""Launchers for tiles.cu, sewing.cu and relaxation.cu, as in `weigel2011.cpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.meshes import cuda as meshes
from equilabel.papers.meshes.cuda import packed

if TYPE_CHECKING:
    from equilabel.array_types import HostArray
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid
    from equilabel.papers.meshes import Lattice


# ---- Labels of each tile on its own

EACH = 4  # elements of a tile for each thread, as in the paper
MOST = 256  # threads of a block


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return meshes.connect(domain)


def label_tiles(lattice: Lattice, tile: int, local: str) -> cupy.ndarray:
    """Return the smallest index of the component of each element in its tile; -1 for background.

    Bonds that leave a tile, or lead around a periodic axis, are ignored.
    """
    functions = {
        "self_labeling": kernel("papers/weigel2011/tiles", "self_label"),
        "union_find": kernel("papers/weigel2011/tiles", "unite_tile"),
        "breadth_first": kernel("papers/weigel2011/tiles", "search_breadth_first"),
    }
    roots = cupy.empty(lattice.links.size, cupy.int64)
    edges = lattice.edges(tile)
    room = int(edges.prod())
    blocks = int(np.prod(-(-lattice.shape // edges)))
    threads = min(max(-(-room // EACH // 32) * 32, 32), MOST)
    memory = 4 * (2 * room + 16) + 2 * room
    arguments = (packed(lattice, tile), lattice.links, np.int32(room), roots)
    functions[local]((blocks,), (threads,), arguments, shared_mem=memory)
    return roots


# ---- Hierarchical sewing

AROUND = -1  # level of the steps around periodic axes


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
    launch(kernel("papers/weigel2011/sewing", "point_at_roots"), roots.size, roots.size, roots)


def _sew_axis(
    lattice: Lattice, one: HostArray, axis: int, width: int, level: int, roots: cupy.ndarray
) -> None:
    """Sew the seams across one axis: every second multiple of a width, from the first."""
    side = int(lattice.shape[axis])
    across = roots.size // side
    pairs = len(range(width, side + (level == AROUND), 2 * width)) * across
    where = np.int32(axis), width, 2 * width, pairs, across, np.int32(level)
    launch(kernel("papers/weigel2011/sewing", "sew"), pairs, one, lattice.links, *where, roots)


# ---- Label relaxation


def list_borders(lattice: Lattice, tile: int, roots: cupy.ndarray) -> cupy.ndarray:
    """List the pairs of roots joined by a link between tiles, or around an axis (Figure 5).

    Waits for the device to get their number.
    """
    size, count = roots.size, cupy.zeros(2, cupy.uint64)
    known = packed(lattice, tile), lattice.links, size, roots
    launch(kernel("papers/weigel2011/relaxation", "count_pairs"), size, *known, count[:1])
    pairs = cupy.empty((int(count[0]), 2), cupy.int64)
    if len(pairs):
        function = kernel("papers/weigel2011/relaxation", "store_pairs")
        launch(function, size, *known, count[1:], pairs)
    return pairs


def relax(pairs: cupy.ndarray, roots: cupy.ndarray) -> bool:
    """Give both roots of each pair the smaller label; return whether any label changed.

    Waits for the device.
    """
    count, changed = len(pairs), cupy.zeros(1, cupy.int32)
    launch(kernel("papers/weigel2011/relaxation", "relax"), count, count, pairs, roots, changed)
    return bool(changed)


def spread(roots: cupy.ndarray) -> None:
    """Give every element the label of the root of its tile."""
    launch(kernel("papers/weigel2011/relaxation", "spread"), roots.size, roots.size, roots)
