"""Passes of local neighbor propagation (Hawick et al. 2010, Kernel B) on the CPU.

Labels are flat indices, -1 for background. Tiles stand for the blocks of threads of a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit
from equilabel.papers.cpu.neighbors import label_by_index
from equilabel.papers.meshes import tile_edges

from .cpu_a import take_lowest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: NDArray[np.int64], tile_size: int) -> bool:
    """Take the lowest label nearby, then propagate labels inside each tile (Algorithm 6).

    All elements are read before any is written, as if all blocks of a GPU ran in lockstep: a label
    moves through one tile. Returns whether any label was lowered by a neighbor; after the first
    round, tiles are stable, so only a label from another tile can start a change.
    """
    values = grid.values[0]
    if not take_lowest(labels.copy(), values, *grid.full, labels):
        return False
    edges = np.array(tile_edges(grid.shape, tile_size, stacked=grid.stacked), np.int64)
    settle_tiles(labels, values, *grid.full, edges)
    return True


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def settle_tiles(labels, values, shape, steps, offsets, edges):
    """Propagate labels inside each tile until none of its labels changes (loop of Algorithm 6).

    `edges` is (ndim,), the sides of a tile, which may be shorter at the end of an axis. Other
    arrays are those of `cpu_a.take_lowest`.
    """
    rank = shape.size
    tiles = 1
    for axis in range(rank):
        tiles *= -(-shape[axis] // edges[axis])
    extents = np.empty(rank, np.int64)
    for tile in range(tiles):
        rest = tile
        origin = 0
        stride = 1
        for axis in range(rank - 1, -1, -1):
            along = -(-shape[axis] // edges[axis])
            begin = rest % along * edges[axis]
            rest //= along
            extents[axis] = min(edges[axis], shape[axis] - begin)
            origin += begin * stride
            stride *= shape[axis]
        forth = True
        while settle_tile(labels, values, shape, steps, offsets, origin, extents, forth):
            forth = not forth


@njit(nogil=True, cache=True)
def settle_tile(labels, values, shape, steps, offsets, origin, extents, forth):
    """Visit the elements of a tile once, and lower labels to the lowest nearby in the tile.

    Elements are visited in raster order, or backward if not `forth`, and see labels that were just
    lowered. This ends with the same labels as the paper's loop, where all threads of a block run in
    lockstep. The tile begins at element `origin` and has `extents`, (ndim,), along each axis.
    Returns whether any label changed.
    """
    rank = shape.size
    coordinates = np.empty(rank, np.int64)
    count = 1
    for axis in range(rank):
        count *= extents[axis]
    changed = False
    for n in range(count):
        rest = n if forth else count - 1 - n
        i = origin
        stride = 1
        for axis in range(rank - 1, -1, -1):
            coordinates[axis] = rest % extents[axis]
            rest //= extents[axis]
            i += coordinates[axis] * stride
            stride *= shape[axis]
        lowest = labels[i]
        if lowest < 0:
            continue
        for k in range(offsets.size):
            inside = True
            for axis in range(rank):
                if not 0 <= coordinates[axis] + steps[k, axis] < extents[axis]:
                    inside = False
            if inside:
                near = labels[i + offsets[k]]
                if 0 <= near < lowest and values[i + offsets[k]] == values[i]:
                    lowest = near
        if lowest < labels[i]:
            labels[i] = lowest
            changed = True
    return changed
