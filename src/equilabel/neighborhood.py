"""Connectivity as geometry: which elements, and which rows, are neighbors."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def offsets(ndim: int, connectivity: int, *, stacked: bool = False) -> NDArray[np.int64]:
    """List the steps from an element to its neighbors.

    Parameters
    ----------
    ndim : int
        Number of axes.
    connectivity : int
        Most orthogonal hops between neighbors, 1 to `ndim`. Not checked.
    stacked : bool
        Whether the first axis counts independent images: no step goes along it.

    Returns
    -------
    (K, ndim) array of int64
        In raster order, so that the first half leads to earlier elements and row
        ``K - 1 - k`` is minus row ``k``.

    Examples
    --------
    >>> offsets(2, 1)
    array([[-1,  0], [ 0, -1], [ 0,  1], [ 1,  0]])
    >>> [len(offsets(3, connectivity)) for connectivity in (1, 2, 3)]
    [6, 18, 26]
    """
    steps = [
        step
        for step in product((-1, 0, 1), repeat=ndim)
        if 0 < sum(map(abs, step)) <= connectivity and not (stacked and step[0])
    ]
    return np.array(steps, dtype=np.int64).reshape(len(steps), ndim)


def earlier(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep the steps that lead to earlier elements in raster order.

    Parameters
    ----------
    steps : (K, ndim) array of int64
        As `offsets` returns them.

    Returns
    -------
    (K / 2, ndim) array of int64
        Enough to meet every pair of neighbors once.

    Examples
    --------
    >>> earlier(offsets(2, 2))
    array([[-1, -1], [-1, 0], [-1, 1], [0, -1]])
    """
    return steps[: len(steps) // 2]
