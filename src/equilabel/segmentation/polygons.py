"""`outlines`: polygons around labeled objects, along the edges of their pixels."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_number
from equilabel.devices import fetch
from equilabel.labeling import label
from equilabel.measuring.checks import check_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray

    Points = NDArray[np.float64]


class Polygon(NamedTuple):
    """Corners of a polygon, (K, 2) rows and columns, and those of its holes; none stands twice."""

    outer: Points
    holes: tuple[Points, ...] = ()


def outlines(labels: ArrayLike, *, tolerance: float = 0.0) -> dict[int, list[Polygon]]:
    """Return the outlines of labeled objects as polygons.

    Parameters
    ----------
    labels : (M, N) array of int
        The number of the object of each pixel, 0 for background.
    tolerance : float
        Largest distance, in pixels, by which a simplified outline may leave the exact one. With 0
        it follows the edges of pixels, and its area is the number of pixels.

    Returns
    -------
    dict of int to list of Polygon
        The polygons of each label, in the order of labels: several if its pixels are not connected
        through their sides. Corners are in the coordinates of pixels, whose centers are whole
        numbers, as in napari and ``skimage.measure.find_contours``: the first pixel reaches from
        -0.5 to 0.5. Seen with the first row on top, outer rings run clockwise, holes the other way.

    Raises
    ------
    TypeError, ValueError
        If labels are not integers, negative, or not of two axes; or `tolerance` is negative.

    Examples
    --------
    >>> square = np.array([[0, 5, 5], [0, 5, 5]])
    >>> outlines(square)[5][0].outer.tolist()
    [[-0.5, 2.5], [1.5, 2.5], [1.5, 0.5], [-0.5, 0.5]]
    """
    tolerance = check_number("tolerance", tolerance, 0, finite=True)

    def polygon(rings: list[HostArray]) -> Polygon:
        outer, *holes = (_simplified(ring - 0.5, tolerance) for ring in rings)
        return Polygon(outer, tuple(holes))

    return {number: list(map(polygon, found)) for number, found in each_outline(labels)}


def each_outline(labels: ArrayLike) -> Iterator[tuple[int, list[list[HostArray]]]]:
    """Yield labels, in order, with their polygons: the outer ring and the holes of each.

    Rings are (K, 2) int32, rows and columns of corners: those of the first pixel are 0 and 1.
    """
    numbers = _checked(labels)
    points, rings = _trace(numbers)
    if not len(rings):
        return
    parts = label(numbers, connectivity=1, device="cpu").reshape(-1)
    owners, components = numbers.reshape(-1)[rings[:, 1]], parts[rings[:, 1]]
    holes = _areas(points, rings[:, 0]) < 0
    corners = np.split(points, rings[1:, 0])
    again = np.flatnonzero(rings[:, 2])
    simple = [_simple_rings(corners[k]) for k in again]
    for k, found in zip(again, simple, strict=True):
        corners[k] = found[-1] if holes[k] else max(found, key=_area)
    more = [
        (k, ring)
        for k, found in zip(again, simple, strict=True)
        for ring in found
        if ring is not corners[k]
    ]
    corners += [ring for _, ring in more]
    places = np.append(np.arange(len(rings)), np.array([k for k, _ in more], np.int64))
    owners, components, holes = owners[places], components[places], holes[places]
    holes[len(rings) :] = True
    order = np.lexsort((holes, components, owners))
    for number, group in groupby(order.tolist(), lambda k: owners[k]):
        pieces = groupby(group, lambda k: components[k])
        yield int(number), [[corners[k] for k in piece] for _, piece in pieces]


def _checked(labels: Any) -> HostArray:
    """Return labels as kernels read them."""
    numbers = fetch(check_labels(labels))
    if numbers.ndim != 2:
        message = (
            f"labels must be of two axes; got shape {numbers.shape}. Pass the planes of a volume "
            "or the frames of a movie one by one."
        )
        raise ValueError(message)
    if numbers.size and numbers.dtype.kind == "i" and (least := int(numbers.min())) < 0:
        message = f"labels must not be negative; got {least}. Number objects from 1."
        raise ValueError(message)
    kind = np.int64 if numbers.dtype.itemsize > 4 or numbers.dtype == np.uint32 else np.int32
    return np.ascontiguousarray(numbers, kind)


def _trace(labels: HostArray) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the corners of all rings, and the first corner and a pixel of each."""
    from .cpu.polygons import trace_rings

    corners, count = labels.size // 8 + 64, labels.size // 64 + 16
    while True:
        points, rings = np.empty((corners, 2), np.int32), np.empty((count, 3), np.int64)
        wanted = trace_rings(labels, np.zeros(labels.shape, np.uint8), points, rings)
        if wanted[0] <= corners and wanted[1] <= count:
            return points[: wanted[0]], rings[: wanted[1]]
        corners, count = wanted


def _areas(points: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the areas of rings, which begin at `starts`; those of holes are negative."""
    y, x = points.T.astype(np.int64)
    following = np.arange(1, len(points) + 1)
    following[np.append(starts[1:], len(points)) - 1] = starts
    return np.add.reduceat(x * y[following] - x[following] * y, starts) // 2


def _area(ring: NDArray[np.int32]) -> int:
    return int(_areas(ring, np.zeros(1, np.int64))[0])


def _simple_rings(ring: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Cut a ring where it passes through a corner again, so that no ring touches itself."""
    path: list[tuple[int, int]] = []
    places: dict[tuple[int, int], int] = {}
    found = []
    for y, x in ring.tolist():
        start = places.get((y, x))
        if start is not None:
            found.append(path[start:])
            for corner in path[start:]:
                del places[corner]
            del path[start:]
        places[y, x] = len(path)
        path.append((y, x))
    return [np.array(each, np.int32) for each in (*found, path)]


def _simplified(ring: Points, tolerance: float) -> Points:
    """Leave out corners of a ring; at least three stay."""
    if not tolerance:
        return ring
    from skimage.measure import approximate_polygon

    found: Points = approximate_polygon(np.append(ring, ring[:1], axis=0), tolerance)[:-1]
    return found if len(found) > 2 else ring
