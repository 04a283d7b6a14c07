"""Launchers for hawick_a.cu, named and shaped like `equilabel.kernels.cpu.hawick_a`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from ._compile import kernel, launch
from .index_labels import label_by_index

if TYPE_CHECKING:
    from equilabel.grid import Grid


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: cupy.ndarray) -> bool:
    """Give every element the lowest label among it and its neighbors (Algorithm 5).

    Waits for the device, to tell whether any label was lowered.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    changed = cupy.zeros(1, cupy.int32)
    launch(
        kernel("hawick_a", f"propagate<{values.dtype.str[1:]}, {shape.size}>"),
        values.size,
        values,
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
        changed,
    )
    return bool(changed)
