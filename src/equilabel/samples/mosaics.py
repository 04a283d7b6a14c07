"""Images tiled by independent cells: percolation noise and Voronoi cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_number, check_whole
from equilabel.storage.memory import check_room

from .fields import check_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def percolation(
    shape: Sequence[int] = (512, 512), p: float = 0.592746, granularity: int = 1, seed: int = 0
) -> NDArray[np.bool_]:
    """Make noise whose blocks are foreground independently of each other.

    Parameters
    ----------
    shape : sequence of int
        Any number of axes.
    p : float
        Probability that a block is foreground. The default is the threshold of 4-neighbors on
        the square lattice, where components of every size exist.
    granularity : int
        Side of a block in pixels.
    seed : int

    Returns
    -------
    array of bool

    Examples
    --------
    >>> percolation((4, 8), 0.5, granularity=2, seed=1).astype(int)
    array([[1, 1, 0, 0, 0, 0, 0, 0],
           [1, 1, 0, 0, 0, 0, 0, 0],
           [1, 1, 1, 1, 0, 0, 0, 0],
           [1, 1, 1, 1, 0, 0, 0, 0]])
    """
    sides, seed = check_sample(shape, seed)
    granularity = check_whole("granularity", granularity, 1)
    p = check_number("p", p, 0, 1)
    rng = np.random.default_rng(seed)
    blocks = tuple(-(-size // granularity) for size in sides)
    image = rng.random(blocks, dtype=np.float32) < p
    for axis, side in enumerate(sides if granularity > 1 else ()):
        image = np.repeat(image, min(granularity, side), axis=axis)
    return np.ascontiguousarray(image[tuple(slice(size) for size in sides)])


def voronoi(
    shape: Sequence[int] = (512, 512), cells: int = 300, seed: int = 0
) -> NDArray[np.int32]:
    """Divide an image among random points: each pixel holds the number of the nearest.

    Parameters
    ----------
    shape : sequence of int
        Any number of axes.
    cells : int
        Number of points.
    seed : int

    Returns
    -------
    array of int32
        1 to `cells`; there is no background. A cell between pixels may be missing.

    Examples
    --------
    >>> int(voronoi((4, 12), cells=4, seed=3).max())
    4
    """
    shape, seed = check_sample(shape, seed)
    cells = check_whole("cells", cells, 1, 2**31 - 1)
    check_room("cells", cells, 64 * cells)
    sides = np.array(shape, dtype=float)
    image = np.zeros(shape, dtype=np.int32)
    if image.size == 0:
        return image
    points = np.random.default_rng(seed).random((cells, len(sides))) * sides - 0.5
    # A box keeps the points that can be nearest to one of its pixels: those whose least distance
    # does not exceed the least greatest distance. One point left: the box is painted.
    boxes = [(np.zeros(image.ndim, np.intp), np.array(image.shape), np.arange(cells))]
    while boxes:
        start, stop, near = boxes.pop()
        below, above = start - points[near], points[near] - (stop - 1)
        least = (np.maximum(np.maximum(below, above), 0) ** 2).sum(axis=1)
        greatest = (np.minimum(below, above) ** 2).sum(axis=1)
        near = near[least <= greatest.min()]
        size = stop - start
        if len(near) == 1 or size.prod() <= 2048:
            box = tuple(map(slice, start, stop))
            image[box] = near[_nearest(points[near], start, stop)] + 1
        else:
            longest = size.argmax()
            lower, upper = stop.copy(), start.copy()
            lower[longest] = upper[longest] = (start + stop)[longest] // 2
            boxes += [(start, lower, near), (upper, stop, near)]
    return image


def _nearest(
    points: NDArray[np.float64], start: NDArray[np.intp], stop: NDArray[np.intp]
) -> NDArray[np.int32]:
    """Find the number of the point nearest to each pixel of a box."""
    shape = tuple(stop - start)
    best = np.zeros(shape, dtype=np.int32)
    closest = np.full(shape, np.inf)
    for number, point in enumerate(points[: len(points) if len(points) > 1 else 0]):
        squares = np.zeros(())
        for low, high, place in zip(start, stop, point, strict=True):
            squares = np.add.outer(squares, (np.arange(low, high) - place) ** 2)
        np.copyto(best, number, where=squares < closest)
        np.minimum(closest, squares, out=closest)
    return best
