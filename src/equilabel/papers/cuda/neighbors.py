"""Launcher for index_labels.cu, with the name and signature of `equilabel.papers.cpu.neighbors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


def label_by_index(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own flat index, background with -1."""
    values, background = grid.values
    labels = cupy.empty(values.size, cupy.int64)
    pixel = values.dtype
    launch(
        kernel("papers/cuda/index_labels", f"label_by_index<{pixel.str[1:]}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        values.size,
        labels,
    )
    return labels
