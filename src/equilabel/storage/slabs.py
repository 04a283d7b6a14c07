"""Slabs of arrays that are not in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SLAB = 2**26  # bytes read at once


def slabs(shape: Sequence[int], itemsize: int) -> Iterator[tuple[slice, ...]]:
    """Yield slabs of an array along its first axis, each with as many planes as fit in `SLAB`.

    >>> len(list(slabs((64, 1024, 1024), 4))), list(slabs((0, 4), 1))
    (4, [])
    """
    if not shape:
        yield ()
    elif 0 not in shape:
        count = max(1, SLAB // (math.prod(shape[1:]) * itemsize))
        for start in range(0, shape[0], count):
            yield (slice(start, start + count),)
