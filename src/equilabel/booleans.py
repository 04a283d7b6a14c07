"""Normalize arrays of bool whose bytes are neither 0 nor 1, such as views of other arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .array_types import Array


def normalize_bools(array: Array) -> Array:
    """Return an array of bool whose bytes are 0 or 1; other types are returned unchanged.

    NumPy treats every nonzero byte as True, and Pillow stores 255 for white, but kernels that add
    or compare bytes need 1. A NumPy array that is already normalized is returned as it is. On a
    GPU, bools are always copied, because checking them first would wait for the GPU.
    """
    if array.dtype != np.bool_:
        return array
    found = array.view(np.uint8)
    if isinstance(array, np.ndarray):
        return array if int(found.max(initial=0)) <= 1 else found != 0
    with array.device:
        return found != 0
