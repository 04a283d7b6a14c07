"""Launchers for kalentev_rowcol.cu, shaped like `equilabel.kernels.cpu.kalentev_rowcol`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.kernels.geometry import count_lines, longest_line

from ._compile import kernel
from .index_labels import label_by_index

if TYPE_CHECKING:
    from equilabel.grid import Grid

MOST_BLOCKS = 2**20  # a block takes one line after the other if there are more


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def unify(grid: Grid, labels: cupy.ndarray, segment: int) -> bool:
    """Give equal neighbors on a line one label, the lowest: rows first, then other lines.

    Waits for the device after the last direction, to tell whether any label was lowered.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    changed = cupy.zeros(1, cupy.int32)
    function = kernel("kalentev_rowcol", f"unify<{values.dtype.str[1:]}, {shape.size}>")
    for k in range(len(grid.steps) // 2, len(grid.steps)):  # rows come first
        longest = longest_line(grid.shape, grid.steps[k])
        threads = min(segment, max(64, 1 << max(longest - 1, 1).bit_length())) // 2
        lines = count_lines(grid.shape, grid.steps[k])
        arguments = (values, values.size, shape, steps, offsets, k, lines, labels, changed)
        function((min(lines, MOST_BLOCKS),), (threads,), arguments)
    return bool(changed)
