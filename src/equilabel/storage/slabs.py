"""Arrays that are not in memory, read slab by slab."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from equilabel.array_types import Array, HostArray

SLAB = 2**26  # bytes read at once


def read_slabs(array: Array, report: Callable[[], None]) -> HostArray:
    """Read an array of Dask or Zarr, or of a file mapped to memory, into memory.

    Parameters
    ----------
    array : array
    report : callable
        Called before each slab is read; what it raises ends the reading.

    Examples
    --------
    >>> read_slabs(np.eye(2), lambda: print("a slab"))
    a slab
    array([[1., 0.],
           [0., 1.]])
    """
    pixels = np.empty(array.shape, array.dtype)
    for part in slabs(array.shape, array.dtype.itemsize):
        report()
        pixels[part] = np.asarray(array[part])
    return pixels


def slabs(shape: Sequence[int], itemsize: int) -> Iterator[tuple[slice, ...]]:
    """Yield the slabs of an array along its first axis, each of as many planes as fit.

    Examples
    --------
    >>> len(list(slabs((64, 1024, 1024), 4))), list(slabs((0, 4), 1))
    (4, [])
    """
    if not shape:
        yield ()
    elif 0 not in shape:
        count = max(1, SLAB // (math.prod(shape[1:]) * itemsize))
        for start in range(0, shape[0], count):
            yield (slice(start, start + count),)
