"""Launcher for holes.cu: background that reaches the border of an image."""

import cupy

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import THREADS, kernel, start
from equilabel.domains.grid import Grid
from equilabel.runs.cuda import passes
from equilabel.runs.cuda.tiles import AXES


def find_outside(gaps: Grid) -> Array:
    """Return 1 where a component of a grid reaches the border of the image, else 0, as uint8.

    No spatial axis of the grid is of length 1, and its values do not tell components apart. Nothing
    waits for the device.
    """
    outside = cupy.empty(gaps.shape, cupy.uint8)
    table = passes.pack(gaps, outside)
    passes.unite(table)
    passes.number(table)
    images = gaps.shape[0] if gaps.stacked else 1
    most = (outside.size + images) // 2  # of labels: at most half of the pixels of each, rounded up
    marks = cupy.zeros(most + 1, cupy.uint8)
    function = kernel("segmentation/cuda/holes", f"mark_border<{table.node}, {table.tile}>")
    first = AXES + 1 - gaps.rank
    start(function, -(-table.tiling.segments // THREADS), THREADS, table.job, first, marks)
    table.relabel(marks)
    passes.paint(table, outside, blank=False)
    return outside
