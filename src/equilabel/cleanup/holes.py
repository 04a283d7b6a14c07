"""Holes of a mask, which are filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel import threads
from equilabel.devices import library, resolve
from equilabel.labeling import label

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fill_holes(mask: NDArray[np.bool_], *, stacked: bool = False) -> NDArray[np.bool_]:
    """Fill the holes of a mask: background that does not reach the border across faces.

    Parameters
    ----------
    mask : (M, N[, ...]) array of bool
    stacked : bool
        Whether the first axis counts independent images.

    Returns
    -------
    array of bool
        As `scipy.ndimage.binary_fill_holes` returns it for each image.

    Examples
    --------
    >>> ring = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)
    >>> bool(fill_holes(ring).all())
    True
    """
    where = resolve("auto", mask)  # the mask stays where it is
    gaps, count = label(~mask, return_num=True, connectivity=1, stacked=stacked, device=where)
    is_hole = library(gaps).ones(count + 1, dtype=bool)
    is_hole[0] = False
    for axis in range(int(stacked), mask.ndim):
        for end in (0, -1):
            is_hole[np.take(gaps, end, axis=axis) if mask.shape[axis] else 0] = False
    threads.check()
    filled: NDArray[np.bool_] = mask | is_hole[gaps]
    return filled
