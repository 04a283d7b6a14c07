"""Whether it pays to move an image of the host to a GPU, to label it there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .reports import find_obstacle

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Measured on an H200 beside 16 cores (docs/performance.md): copies take as long as labeling smooth
# images on the CPU does; images of many short runs are labeled twice as fast where they are moved.
LEAST = 1 << 22  # pixels
CHANGES = 0.25  # of neighboring pixels along rows that differ
ROWS = 64  # rows that are looked at, about


def pays(image: NDArray[Any]) -> bool:
    """Tell whether labels of an image come faster from a GPU, copies included.

    Parameters
    ----------
    image : numpy.ndarray of bool or integers

    Returns
    -------
    bool
        Whether CuPy is in use in this process already, has the memory, and the image is large and
        rough. Some rows are looked at, no more.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or image.size < LEAST or image.ndim == 0 or find_obstacle():
        return False
    if cupy.cuda.runtime.memGetInfo()[0] < (8 + image.itemsize) * image.size:
        return False
    each = max(1, round(ROWS ** (1 / max(1, image.ndim - 1))))
    rows = image[tuple(slice(None, None, max(1, side // each)) for side in image.shape[:-1])]
    return bool((rows[..., 1:] != rows[..., :-1]).mean() >= CHANGES)
