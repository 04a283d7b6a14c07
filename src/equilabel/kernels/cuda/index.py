"""Types of indices of elements, see index.cuh."""

from __future__ import annotations

import cupy


def empty_roots(size: int) -> cupy.ndarray:
    """Return room for the roots of so many elements, of the narrowest type that holds them."""
    return cupy.empty(size, cupy.int32 if size <= 2**31 else cupy.int64)
