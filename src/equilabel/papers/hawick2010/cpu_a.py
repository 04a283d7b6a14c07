"""Passes of neighbor propagation (Hawick et al. 2010, Kernel A) on the CPU.

Labels are flat indices, -1 for background; a label is that of an element of the same component.
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
    """Give every element the lowest label among it and its neighbors (Algorithm 5).

    All elements read before any is written, as if all threads of a GPU kept step: a label moves
    by one element.

    Returns
    -------
    bool
        Whether any label was lowered, so that another round is needed.
    """
    return bool(take_lowest(labels.copy(), grid.values[0], *grid.full, labels))


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def take_lowest(before, values, shape, steps, offsets, labels):
    """Give every element the lowest label among it and its neighbors (Algorithm 5).

    Parameters
    ----------
    before : (N,) array of int64
        Labels to read.
    values : (N,) array of unsigned integers
    shape : (ndim,) array of int64
    steps : (K, ndim) array of int64
    offsets : (K,) array of int64
        Steps to all neighbors, and these as distances between flat indices. Not checked.
    labels : (N,) array of int64
        Labels to write: those of `before`, overwritten where there is a lower one.

    Returns
    -------
    changed : bool
        Whether any label was lowered.
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
