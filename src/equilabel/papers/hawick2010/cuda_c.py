"""Launchers for hawick_c.cu, with the names and signatures of `hawick2010.cpu_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.cuda.neighbors import label_by_index
from equilabel.papers.meshes import both_ways, count_lines

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def sweep(grid: Grid, labels: cupy.ndarray) -> bool:
    """Carry the lowest label along all lines, in each direction once (Algorithm 7).

    Waits for the device, and returns whether any label was lowered.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    changed = cupy.zeros(1, cupy.int32)
    function = kernel("papers/hawick2010/hawick_c", f"sweep<{values.dtype.str[1:]}, {shape.size}>")
    for k in both_ways(len(grid.steps)):
        lines = count_lines(grid.shape, grid.steps[k])
        launch(
            function,
            lines,
            values,
            values.size,
            shape,
            steps,
            offsets,
            k,
            lines,
            labels,
            changed,
        )
    return bool(changed)
