"""Arrays of bool whose bytes may be neither 0 nor 1, as those of a view of other bytes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .array_types import Array


def normalize_bools(array: Array) -> Array:
    """Return an array that has no other bools than bytes of 0 and 1.

    NumPy takes every byte but 0 for True, and Pillow makes 255 of white: kernels that add up such
    bytes, or compare them, need 1. Arrays of other types, and those of NumPy that have no other
    bytes, are returned as they are; on a GPU bools are copied, as to look at them first would wait.
    """
    if array.dtype != np.bool_:
        return array
    found = array.view(np.uint8)
    if isinstance(array, np.ndarray):
        return array if int(found.max(initial=0)) <= 1 else found != 0
    with array.device:
        return found != 0
