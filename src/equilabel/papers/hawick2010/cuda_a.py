"""Launchers for hawick_a.cu, with the names and signatures of `hawick2010.cpu_a`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.cuda.neighbors import label_by_index

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: cupy.ndarray) -> bool:
    """Give every element the lowest label among it and its neighbors (Algorithm 5).

    Waits for the device, and returns whether any label was lowered.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    changed = cupy.zeros(1, cupy.int32)
    launch(
        kernel("papers/hawick2010/hawick_a", f"propagate<{values.dtype.str[1:]}, {shape.size}>"),
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
