"""Launchers for komura.cu, named and shaped like `equilabel.kernels.cpu.komura`."""

import cupy

from ._compile import kernel, launch


def initialize(values, background, shape, steps, offsets):
    """Label every foreground element with its lowest neighbor, or itself."""
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


def analyze(labels):
    """Point every element at the end of its chain of labels."""
    launch(kernel("komura", "analyze"), labels.size, labels.size, labels)


def reduce_labels(labels, values, shape, steps, offsets):
    """Unite every element with its residual list (Algorithm 1)."""
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
