"""Where an object is: the plane or frame that shows most of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.threads import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import Array


def find_plane(
    labels: Array, number: int, point: Sequence[int], displayed: Sequence[int]
) -> tuple[int, ...] | None:
    """Return a position at which the displayed plane shows an object.

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
    tuple of int or None
        `point` where that plane shows the object; else the plane that shows most of it. None if
        there is no such object.

    Examples
    --------
    >>> labels = np.zeros((9, 4, 5), int)
    >>> labels[5, :2, :2] = labels[6, 0, 0] = 3
    >>> find_plane(labels, 3, (0, 0, 0), (1, 2)), find_plane(labels, 3, (6, 1, 1), (1, 2))
    ((5, 0, 0), (6, 1, 1))
    """
    hidden = [axis for axis in range(labels.ndim) if axis not in displayed]
    lengths = [labels.shape[axis] for axis in hidden]
    start = tuple(int(np.clip(point[axis], 0, labels.shape[axis] - 1)) for axis in hidden)
    if _count(labels, number, hidden, start):
        return tuple(point)
    counts = np.zeros(lengths, np.int64)
    for place in np.ndindex(*lengths):
        check()
        counts[place] = _count(labels, number, hidden, place)
    if not counts.any():
        return None
    best = np.unravel_index(int(counts.argmax()), counts.shape)
    found = list(point)
    for axis, index in zip(hidden, best, strict=True):
        found[axis] = int(index)
    return tuple(found)


def _count(labels: Array, number: int, hidden: Sequence[int], place: Sequence[int]) -> int:
    """Count the pixels of an object in a plane."""
    index: list[int | slice] = [slice(None)] * labels.ndim
    for axis, at in zip(hidden, place, strict=True):
        index[axis] = at
    return int(np.count_nonzero(np.asarray(labels[tuple(index)]) == number))
