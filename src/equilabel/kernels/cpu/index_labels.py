"""Labels to start from on the CPU: the flat index of each element, -1 for background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .caching import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.grid import Grid


def label_by_index(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own flat index, background with -1."""
    return np.asarray(label_elements(*grid.bounded_values))


@njit(nogil=True, cache=True)
def label_elements(values, background, bounded):
    """Label every foreground element with its own flat index.

    Parameters
    ----------
    values : (N,) array of unsigned integers
    background : scalar of the same type
        Value that gets label -1, if `bounded`.
    bounded : bool
        Whether there is one.

    Returns
    -------
    labels : (N,) array of int64
    """
    labels = np.empty(values.size, np.int64)
    for i in range(values.size):
        labels[i] = -1 if bounded and values[i] == background else i
    return labels
