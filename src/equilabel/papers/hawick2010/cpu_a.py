"""Passes of neighbor propagation (Hawick et al. 2010, Kernel A) on the CPU.

Labels are flat indices, -1 for background; a label is the index of an element of its component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit
from equilabel.papers.cpu.neighbors import label_by_index, lowest_near
from equilabel.papers.komura2016.cpu import mark_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: NDArray[np.int64]) -> bool:
    """Give every element the lowest label among it and its neighbors; return whether any changed.

    All elements are read before any is written, as if all threads of a GPU ran in lockstep: a label
    moves by one element (Algorithm 5).
    """
    return bool(take_lowest(labels.copy(), grid.values[0], *grid.full, labels))


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def take_lowest(before, values, shape, steps, offsets, labels):
    """Write the lowest label among every element and its neighbors; return whether any changed.

    `before` is read and `labels`, equal at first, is written: (N,) of int64. `steps` is (K, ndim),
    to all neighbors, and `offsets` the same as distances of flat indices; not checked.
    """
    changed = False
    inside = np.empty(offsets.size, np.bool_)
    width = shape[-1]
    for start in range(0, values.size, width):
        mark_inside(start, shape, steps, inside)
        for column in range(width):
            i = start + column
            if before[i] < 0:
                continue
            lowest = lowest_near(before, values, i, column, width, steps, offsets, inside)
            if lowest < before[i]:
                labels[i] = lowest
                changed = True
    return changed
