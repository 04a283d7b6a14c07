"""Which components are kept: small, large and border objects are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel import threads
from equilabel.devices import is_on_cuda, library

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.measuring import Counts


def select_components(
    counts: Counts, *, min_size: int = 0, max_size: int | None = None, exclude_border: bool = False
) -> NDArray[np.bool_]:
    """Select components by their size, and by whether they touch the border of their image.

    Parameters
    ----------
    counts : Counts
        Of all components. To exclude those at the border, bounding boxes must have been counted,
        which is not checked.
    min_size, max_size : int
        Fewest and most pixels.
    exclude_border : bool
        Whether components that touch the border are left out. Axes of length 1 have no border.

    Returns
    -------
    (N,) array of bool
        True for each component that is kept.
    """
    kept = counts.pixels >= min_size
    if max_size is not None:
        kept &= counts.pixels <= max_size
    if exclude_border:
        first, last = counts.begins, counts.ends
        for axis in range(int(counts.layout.stacked), len(counts.shape)):
            side = counts.shape[axis]
            if side > 1:
                kept &= (first[:, axis] > 0) & (last[:, axis] < side)
    return np.asarray(kept)


def drop_components(labels: HostArray, kept: NDArray[np.bool_]) -> int:
    """Set the labels of dropped components to 0, in place, and number the others from 1.

    Parameters
    ----------
    labels : array of int
        Labels 1 to N. Overwritten.
    kept : (N,) array of bool
        Whether each component is kept.

    Returns
    -------
    int
        Number of components that are left.

    Examples
    --------
    >>> labels = np.array([1, 0, 2, 3])
    >>> drop_components(labels, np.array([True, False, True])), labels
    (2, array([1, 0, 0, 2]))
    """
    count = int(np.count_nonzero(kept))
    numbers = np.zeros(len(kept) + 1, labels.dtype)
    numbers[1:][kept] = np.arange(1, count + 1)
    if is_on_cuda(labels):
        labels[...] = library(labels).asarray(numbers)[labels]
    else:

        def put(part: HostArray) -> None:
            np.take(numbers, part, out=part, mode="clip")

        cuts = threads.ranges(len(labels), labels.size, fine=True)
        threads.each(put, [(labels[a:b],) for a, b in cuts])
    return count
