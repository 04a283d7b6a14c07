"""Outlines and bounding boxes of labeled objects on a plane, for an interactive viewer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices.threads import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

INSIDE, EDGE = 1, 2  # values of objects and of their outlines; 0 is outside
WHOLE = 3  # value of objects in 3D, which have no outline
LARGEST = 2**25  # pixels of a volume that can be drawn interactively


def outline(labels: HostArray, width: int = 1) -> NDArray[np.uint8]:
    """Return 0 outside of objects, 1 inside and `EDGE` at their edges: (M, N) uint8.

    `width` of the edge is in pixels: more than 1 if the image is displayed smaller than it is. The
    border of the image is not an edge.

    >>> outline(np.pad(np.ones((3, 3), bool), 1))
    array([[0, 0, 0, 0, 0],
           [0, 2, 2, 2, 0],
           [0, 2, 1, 2, 0],
           [0, 2, 2, 2, 0],
           [0, 0, 0, 0, 0]], dtype=uint8)
    """
    from equilabel.segmentation.cpu.outlines import draw_outlines

    kind = np.int32 if labels.dtype.itemsize <= 4 else np.int64  # differ where labels do
    code = np.empty(labels.shape, np.uint8)
    draw_outlines(np.ascontiguousarray(labels, kind), code)
    for _ in range(width - 1):
        inside, inner = code == INSIDE, np.empty_like(code)
        draw_outlines(inside.view(np.uint8), inner)
        np.copyto(code, inner, where=inside)
    return code


class Outlines:
    """Image of the outlines of chosen labels, computed for the part that a viewer reads.

    `labels` may be a Dask array; `width` is a function that returns the width of outlines in
    pixels. Nothing is drawn of large volumes.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, labels: Array, chosen: Array, width: Callable[[], int]) -> None:
        self._labels, self._chosen, self._width = labels, np.asarray(chosen), width
        self.shape, self.ndim, self.size = tuple(labels.shape), labels.ndim, int(labels.size)

    def __getitem__(self, index: Any) -> HostArray:
        """Draw a part."""
        part = np.asarray(self._labels[index])
        if part.size > LARGEST and part.ndim > 2:
            return np.zeros(part.shape, np.uint8)
        hit = np.isin(part, self._chosen)
        sides = [side for side in part.shape if side > 1]
        if len(sides) > 2:
            return hit.astype(np.uint8) * np.uint8(WHOLE)
        # napari reads a plane of a stack as a slab, because it projects what lies in its thickness.
        plane = np.where(hit, part, 0).reshape([1] * (2 - len(sides)) + sides)
        padded = np.pad(plane, 1)  # so that the border of the image is an edge
        return outline(padded, self._width())[1:-1, 1:-1].reshape(part.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> HostArray:
        """Draw all of it."""
        return np.asarray(self[(slice(None),) * self.ndim], dtype)


def find_box(
    labels: Array, number: int, point: Sequence[int], displayed: Sequence[int]
) -> tuple[HostArray, HostArray] | None:
    """Return the first and last pixel of an object along each axis, in one plane, or None.

    The plane has the axes `displayed` and contains `point`, which may lie outside of the image; if
    the object is not in it, the plane with most of its pixels. `labels` may be a Dask array, of
    which planes are read one by one.

    >>> labels = np.array([[[0, 0, 0]], [[0, 7, 7]]])
    >>> find_box(labels, 7, (0, 0, 0), (1, 2))
    (array([1, 0, 1]), array([1, 0, 2]))
    """
    hidden = [axis for axis in range(labels.ndim) if axis not in displayed]
    lengths = [labels.shape[axis] for axis in hidden]
    start = tuple(int(np.clip(point[axis], 0, labels.shape[axis] - 1)) for axis in hidden)

    def find(place: Sequence[int]) -> HostArray:
        check()
        index: list[Any] = [slice(None)] * labels.ndim
        for axis, at in zip(hidden, place, strict=True):
            index[axis] = at
        return np.argwhere(np.asarray(labels[tuple(index)]) == number)

    best, found = start, find(start)
    if not len(found):
        best = max(np.ndindex(*lengths), key=lambda place: len(find(place)), default=start)
        found = find(best)
    if not len(found):
        return None
    low, high = np.zeros((2, labels.ndim), np.int64)
    low[hidden] = high[hidden] = best
    low[sorted(displayed)], high[sorted(displayed)] = found.min(axis=0), found.max(axis=0)
    return low, high
