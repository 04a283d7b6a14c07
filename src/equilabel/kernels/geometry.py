"""How passes cut a grid into lines and tiles, on every device alike."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def count_lines(shape: tuple[int, ...], step: Iterable[int]) -> int:
    """Count the elements on the faces where lines along a step enter a grid.

    Every line begins at one of them. Where faces meet, an element lies on several: all but one of
    them stand for no line.

    Parameters
    ----------
    shape : tuple of int
    step : (ndim,) array_like of int
        From an element to the next on its line; of -1, 0 and 1, not all of them 0.

    Examples
    --------
    >>> count_lines((3, 5), (0, 1)), count_lines((3, 5), (1, -1))
    (3, 8)
    """
    return sum(prod(shape) // side for side, move in zip(shape, step, strict=True) if move)


def longest_line(shape: tuple[int, ...], step: Iterable[int]) -> int:
    """Return the number of elements of the longest line along a step.

    Examples
    --------
    >>> longest_line((3, 5), (0, 1)), longest_line((3, 5), (1, -1))
    (5, 3)
    """
    return min(side for side, move in zip(shape, step, strict=True) if move)


def both_ways(steps: int) -> list[int]:
    """List the indices of a number of steps, as `neighborhood.offsets` sorts them, pair by pair.

    Each step is followed by the one that leads back; the one to later elements comes first.

    Examples
    --------
    >>> both_ways(4)
    [3, 0, 2, 1]
    """
    return [k for pair in range(steps // 2) for k in (steps - 1 - pair, pair)]


def tile_edges(shape: tuple[int, ...], size: int, *, stacked: bool) -> tuple[int, ...]:
    """Choose the edges of tiles: powers of two, as equal as they can be.

    Parameters
    ----------
    shape : tuple of int
    size : int
        Most elements of a tile.
    stacked : bool
        Whether the first axis counts independent images: a tile lies in one of them.

    Returns
    -------
    tuple of int
        No edge is more than twice as long as it need be to hold the whole axis.

    Examples
    --------
    >>> tile_edges((500, 500), 256, stacked=False), tile_edges((9, 64, 64, 64), 256, stacked=True)
    ((16, 16), (1, 4, 8, 8))
    >>> tile_edges((3, 5000), 256, stacked=False)
    (4, 64)
    """
    edges = [1] * len(shape)
    while 2 * prod(edges) <= size:
        axes = [k for k in range(int(stacked), len(shape)) if edges[k] < shape[k]]
        if not axes:
            break
        shortest = min(reversed(axes), key=lambda axis: edges[axis])
        edges[shortest] *= 2
    return tuple(edges)
