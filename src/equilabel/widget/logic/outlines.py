"""Outlines of some objects of a labels layer, made when they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .planes import EDGE, outline

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import Array

LARGEST = 2**25  # pixels of a volume that is drawn while a person looks on


class Outlines:
    """An image with the outlines of some objects: napari reads the part of it that it draws.

    Parameters
    ----------
    labels : array of int
    chosen : array of int
        Labels of the objects.
    width : callable
        Returns the width of an outline in pixels.

    Examples
    --------
    >>> labels = np.pad(np.full((1, 3, 3), 4), 1)
    >>> Outlines(labels, np.array([4]), lambda: 1)[1, 1:4, 1:4]
    array([[2, 2, 2],
           [2, 1, 2],
           [2, 2, 2]], dtype=uint8)
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, labels: Array, chosen: Array, width: Callable[[], int]) -> None:
        self._labels, self._chosen, self._width = labels, np.asarray(chosen), width
        self.shape, self.ndim, self.size = tuple(labels.shape), labels.ndim, int(labels.size)

    def __getitem__(self, index: Any) -> NDArray[np.uint8]:
        part = np.asarray(self._labels[index])
        if part.size > LARGEST and part.ndim > 2:
            return np.zeros(part.shape, np.uint8)
        hit = np.isin(part, self._chosen)
        if part.ndim != 2:
            return hit.astype(np.uint8) * np.uint8(EDGE)
        padded = np.pad(np.where(hit, part, 0), 1)  # the border of the image is an edge, too
        return outline(padded, self._width())[1:-1, 1:-1]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.asarray(self[(slice(None),) * self.ndim], dtype)
