"""Launchers for rowcol.cu, with the names and signatures of `cpu_rowcol`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel
from equilabel.papers.cuda.neighbors import label_by_index
from equilabel.papers.meshes import count_lines, longest_line

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid

MOST_BLOCKS = 2**20  # if there are more lines, a block takes several


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def unify(grid: Grid, labels: cupy.ndarray, segment: int) -> bool:
    """Give equal neighbors on a line one label, the lowest: rows first, then other lines.

    Waits for the device, and returns whether any label was lowered.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    changed = cupy.zeros(1, cupy.int32)
    function = kernel("papers/kalentev2011/rowcol", f"unify<{values.dtype.str[1:]}, {shape.size}>")
    for k in range(len(grid.steps) // 2, len(grid.steps)):  # rows come first
        longest = longest_line(grid.shape, grid.steps[k])
        threads = min(segment, max(64, 1 << max(longest - 1, 1).bit_length())) // 2
        lines = count_lines(grid.shape, grid.steps[k])
        arguments = (values, values.size, shape, steps, offsets, k, lines, labels, changed)
        function((min(lines, MOST_BLOCKS),), (threads,), arguments)
    return bool(changed)
