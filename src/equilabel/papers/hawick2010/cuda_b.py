"""Launchers for hawick_b.cu, with the names and signatures of `hawick2010.cpu_b`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel
from equilabel.papers.cuda.neighbors import label_by_index
from equilabel.papers.meshes import tile_edges

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: cupy.ndarray, tile_size: int) -> bool:
    """Take the lowest label nearby, then propagate labels inside each tile (Algorithm 6).

    Waits for the device, and returns whether any label was lowered.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    edges = tile_edges(grid.shape, tile_size, stacked=grid.stacked)
    tiles = prod(-(-side // edge) for side, edge in zip(grid.shape, edges, strict=True))
    changed = cupy.zeros(1, cupy.int32)
    function = kernel(
        "papers/hawick2010/hawick_b", f"propagate<{values.dtype.str[1:]}, {shape.size}>"
    )
    arguments = (
        values,
        shape,
        steps,
        offsets,
        offsets.size,
        sum((edge.bit_length() - 1) << 4 * axis for axis, edge in enumerate(edges)),
        labels,
        changed,
    )
    function((tiles,), (prod(edges),), arguments)
    return bool(changed)
