"""Launchers for weigel_tiles.cu, with the names and signatures of `cpu_tiles`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import kernel
from equilabel.papers.cuda.links import packed

if TYPE_CHECKING:
    from equilabel.papers.meshes import Lattice

EACH = 4  # elements of a tile for each thread, as in the paper
MOST = 256  # threads of a block


def label_tiles(lattice: Lattice, tile: int, local: str) -> cupy.ndarray:
    """Return the smallest index of the component of each element in its tile; -1 for background.

    Bonds that leave a tile, or lead around a periodic axis, are ignored.
    """
    functions = {
        "self_labeling": kernel("papers/weigel2011/weigel_tiles", "self_label"),
        "union_find": kernel("papers/weigel2011/weigel_tiles", "unite_tile"),
        "breadth_first": kernel("papers/weigel2011/weigel_tiles", "search_breadth_first"),
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
