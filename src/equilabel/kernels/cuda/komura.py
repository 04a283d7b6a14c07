"""Launchers for komura.cu, named and shaped like `equilabel.kernels.cpu.komura`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from ._compile import kernel, launch

if TYPE_CHECKING:
    from equilabel.grid import Grid


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its lowest neighbor, or itself."""
    values, background = grid.values
    shape, steps, offsets = grid.half
    labels = cupy.empty(values.size, cupy.int64)
    pixel = values.dtype
    launch(
        kernel("komura", f"initialize<{pixel.str[1:]}, {shape.size}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
    )
    return labels


def analyze(labels: cupy.ndarray) -> None:
    """Point every element at the end of its chain of labels."""
    launch(kernel("komura", "analyze"), labels.size, labels.size, labels)


def reduce_labels(grid: Grid, labels: cupy.ndarray) -> None:
    """Unite every element with its residual list (Algorithm 1)."""
    values = grid.values[0]
    shape, steps, offsets = grid.half
    launch(
        kernel("komura", f"reduce_labels<{values.dtype.str[1:]}, {shape.size}>"),
        values.size,
        values,
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
    )
