"""Where an object is: its box in the plane or frame that shows most of it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from equilabel.threads import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array


def find_box(
    labels: Array, number: int, point: Sequence[int], displayed: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the box of an object in a plane that shows it.

    Parameters
    ----------
    labels : array of int
    number : int
        Label of the object.
    point : sequence of int
        Position along each axis; that along displayed axes does not matter.
    displayed : sequence of int
        Axes on the screen.

    Returns
    -------
    low, high : array of int, or None
        First and last pixel along each axis: in the plane at `point` where that shows the object,
        else in the plane that shows most of it. None if there is no such object.

    Examples
    --------
    >>> labels = np.zeros((9, 4, 5), int)
    >>> labels[5, :2, :3] = labels[6, 0, 0] = 3
    >>> find_box(labels, 3, (0, 0, 0), (1, 2)), find_box(labels, 3, (6, 1, 1), (1, 2))
    ((array([5, 0, 0]), array([5, 1, 2])), (array([6, 0, 0]), array([6, 0, 0])))
    """
    hidden = [axis for axis in range(labels.ndim) if axis not in displayed]
    start = tuple(int(np.clip(point[axis], 0, labels.shape[axis] - 1)) for axis in hidden)
    best, most = start, 0
    for place in chain([start], np.ndindex(*(labels.shape[axis] for axis in hidden))):
        check()
        count = int(np.count_nonzero(_plane(labels, hidden, place) == number))
        if count > most:
            best, most = place, count
        if place is start and count:
            break
    if not most:
        return None
    low, high = np.zeros((2, labels.ndim), np.int64)
    low[hidden] = high[hidden] = best
    pixels = np.nonzero(_plane(labels, hidden, best) == number)
    for axis, along in zip(sorted(displayed), pixels, strict=True):
        low[axis], high[axis] = along.min(), along.max()
    return low, high


def _plane(labels: Array, hidden: Sequence[int], place: Sequence[int]) -> NDArray[np.int64]:
    index: list[int | slice] = [slice(None)] * labels.ndim
    for axis, at in zip(hidden, place, strict=True):
        index[axis] = at
    return np.asarray(labels[tuple(index)])
