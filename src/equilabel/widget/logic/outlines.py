"""Chosen objects of a labels layer: outlines that are made when they are drawn, and boxes."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.outlines import EDGE, outline
from equilabel.threads import check

LARGEST = 2**25  # pixels of a volume that is drawn while a person looks on


class Outlines:
    """An image with the outlines of chosen objects: napari reads the part of it that it draws.

    `width` returns that of an outline in pixels.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, labels: Array, chosen: Array, width: Callable[[], int]) -> None:
        self._labels, self._chosen, self._width = labels, np.asarray(chosen), width
        self.shape, self.ndim, self.size = tuple(labels.shape), labels.ndim, int(labels.size)

    def __getitem__(self, index: Any) -> HostArray:
        part = np.asarray(self._labels[index])
        if part.size > LARGEST and part.ndim > 2:
            return np.zeros(part.shape, np.uint8)
        hit = np.isin(part, self._chosen)
        if part.ndim != 2:
            return hit.astype(np.uint8) * np.uint8(EDGE)
        padded = np.pad(np.where(hit, part, 0), 1)  # the border of the image is an edge, too
        return outline(padded, self._width())[1:-1, 1:-1]

    def __array__(self, dtype: Any = None, copy: Any = None) -> HostArray:
        return np.asarray(self[(slice(None),) * self.ndim], dtype)


def find_box(
    labels: Array, number: int, point: Sequence[int], displayed: Sequence[int]
) -> tuple[HostArray, HostArray] | None:
    """Return the first and last pixel of a labeled object along each axis, in a plane of it.

    That is the plane displayed at `point` where it shows the object, else the plane that shows
    most of it. None if there is no such object.
    """
    hidden = [axis for axis in range(labels.ndim) if axis not in displayed]
    start = tuple(int(np.clip(point[axis], 0, labels.shape[axis] - 1)) for axis in hidden)

    def plane(place: Sequence[int]) -> HostArray:
        index: list[Any] = [slice(None)] * labels.ndim
        for axis, at in zip(hidden, place, strict=True):
            index[axis] = at
        return np.asarray(np.asarray(labels[tuple(index)]) == number)

    best, most = start, 0
    for place in chain([start], np.ndindex(*(labels.shape[axis] for axis in hidden))):
        check()
        count = int(np.count_nonzero(plane(place)))
        if count > most:
            best, most = place, count
        if place is start and count:
            break
    if not most:
        return None
    low, high = np.zeros((2, labels.ndim), np.int64)
    low[hidden] = high[hidden] = best
    for axis, along in zip(sorted(displayed), np.nonzero(plane(best)), strict=True):
        low[axis], high[axis] = along.min(), along.max()
    return low, high
