"""Launchers for roots, see labels.cu, with the signatures of `equilabel.runs.cpu.numbering`."""

import cupy

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import kernel, launch


def number_roots(roots: Array, labels: Array) -> Array:
    """Label components in raster order of their first elements; return their number."""
    size = roots.size
    numbers = cupy.empty(size, cupy.int32 if size < 2**31 else cupy.int64)
    types = f"{roots.dtype.str[1:]}, {numbers.dtype.str[1:]}"
    launch(kernel("runs/cuda/labels", f"flag<{types}>"), size, roots, size, numbers)
    cupy.cumsum(numbers, out=numbers)
    function = kernel("runs/cuda/labels", f"gather<{types}, u{labels.itemsize}>")
    launch(function, size, roots, size, numbers, labels)
    return numbers[-1]
