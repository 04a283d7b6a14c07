"""Launcher for holes.cu: labels at the border of an image."""

from math import prod

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import kernel, launch


def mark_border(labels: Array, first: int, marks: Array) -> None:
    """Write 1 to `marks`, (N + 1,) uint8, for labels at the ends of the axes from `first` on.

    `labels` are C-contiguous int32 or int64, 0 to N; not checked.
    """
    function = kernel("segmentation/cuda/holes", f"mark_ends<u{labels.itemsize}>")
    shape = labels.shape
    for axis in range(first, labels.ndim):
        outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
        launch(function, 2 * outer * inner, labels, outer, shape[axis], inner, marks)
