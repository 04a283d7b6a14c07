"""Which neighbors an element has to be united with.

The paper lists, for meshes of two and three axes, the cases in which an element has to be united
with a neighbor. Here one rule decides for any number of axes. The *window* of an element i are the
elements of its value that come before it, one step away along each axis at most. Elements that are
connected within the window are in one tree in the end, because a link between two of them is the
business of the later one, which comes before i. So i needs one link to each connected part of its
window that has a neighbor of i. The pass `initialize` makes the first one, `reduce_labels` the
others, which are few in most images.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


class Window(NamedTuple):
    """The elements before an element, at most one step away along each axis; K of them.

    Sets of them are bits of an int64: bit k is the element along ``steps[k]``.
    """

    steps: NDArray[np.int64]  # (K, ndim), in raster order
    neighbors: int  # which of them are neighbors of the element
    links: NDArray[np.int64]  # (K,): of which of them each one is a neighbor


@cache
def window(ndim: int, connectivity: int, stacked: bool) -> Window:
    """Make the window of a neighborhood; if `stacked`, no step leads along the first axis."""
    before = [
        step
        for step in product((-1, 0, 1), repeat=ndim)
        if step < (0,) * ndim and not (stacked and step[0])
    ]
    steps = np.array(before, np.int64).reshape(-1, ndim)
    bits = np.int64(1) << np.arange(len(steps))

    def near(distances: NDArray[np.int64]) -> NDArray[np.bool_]:
        ways = np.abs(distances)
        return (ways.max(-1, initial=0) == 1) & (ways.sum(-1) <= connectivity)

    return Window(steps, int(near(steps) @ bits), near(steps[:, None] - steps) @ bits)


def geometry(grid: Grid) -> tuple[Any, ...]:
    """Return shape, steps, steps as distances of flat indices, neighbors and links (`Window`)."""
    found = window(len(grid.shape), grid.connectivity, grid.stacked)
    shape = np.array(grid.shape, np.int64)
    strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
    return shape, found.steps, found.steps @ strides, found.neighbors, found.links
