"""Launcher for growing.cu: the nearest object of each pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy

from equilabel.devices.cuda.kernels import kernel, launch

if TYPE_CHECKING:
    from equilabel.array_types import Array


def find_along(
    labels: Array, length: int, inner: int, step: Any, reach: int, far: Any, limit: Any, sums: Any
) -> tuple[Array, Array]:
    """Return the least sums of squares along an axis, and the labels there: both (P,).

    `sums` are those of the axes before, or None; other arguments are those of the CPU's kernels.
    """
    squares, near = cupy.empty(labels.size, step.dtype), cupy.empty_like(labels)
    types = f"u{labels.itemsize}, {step.dtype.str[1:]}"
    function = kernel("segmentation/cuda/growing", f"find_along<{types}>")
    sizes = labels.size, length, inner
    given = 0 if sums is None else sums
    launch(function, labels.size, *sizes, step, reach, far, limit, labels, given, squares, near)
    return squares, near
