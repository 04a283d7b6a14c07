"""Connectivity as geometry: which elements, and which rows, are neighbors."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@cache
def offsets(ndim: int, connectivity: int, *, stacked: bool = False) -> NDArray[np.int64]:
    """List the steps from an element to its neighbors.

    Parameters
    ----------
    ndim : int
        Number of axes.
    connectivity : int
        Most orthogonal hops between neighbors, 1 to `ndim`. Not checked.
    stacked : bool
        Whether the first axis counts independent images: no step goes along it.

    Returns
    -------
    (K, ndim) array of int64, read-only
        In raster order, so that the first half leads to earlier elements and row
        ``K - 1 - k`` is minus row ``k``.

    Examples
    --------
    >>> offsets(2, 1).tolist()
    [[-1, 0], [0, -1], [0, 1], [1, 0]]
    >>> [len(offsets(3, connectivity)) for connectivity in (1, 2, 3)]
    [6, 18, 26]
    """
    steps = [
        step
        for step in product((-1, 0, 1), repeat=ndim)
        if 0 < sum(map(abs, step)) <= connectivity and not (stacked and step[0])
    ]
    return _frozen(np.array(steps, dtype=np.int64).reshape(len(steps), ndim))


def half(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep the steps that lead to earlier elements in raster order: half of the neighborhood.

    Parameters
    ----------
    steps : (K, ndim) array of int64
        As `offsets` returns them.

    Returns
    -------
    (K / 2, ndim) array of int64
        Enough to meet every pair of neighbors once.

    Examples
    --------
    >>> half(offsets(2, 2)).tolist()
    [[-1, -1], [-1, 0], [-1, 1], [0, -1]]
    """
    return steps[: len(steps) // 2]


@cache
def steps_around(ndim: int, connectivity: int, axis: int, stacked: bool) -> NDArray[np.int64]:
    """List the steps forward along an axis, the straight one first: they lead around its end.

    >>> steps_around(2, 2, 1, False).tolist()
    [[0, 1], [-1, 1], [1, 1]]
    """
    steps = offsets(ndim, connectivity, stacked=stacked)
    steps = steps[steps[:, axis] == 1]
    return _frozen(steps[np.argsort(np.abs(steps).sum(axis=1), kind="stable")])


@cache
def earlier_steps(ndim: int, connectivity: int, stacked: bool) -> NDArray[np.int64]:
    """List the steps to neighbors in earlier rows along six axes, those before the image's being 0.

    The nearest come first, of these the one along the first axis.

    Examples
    --------
    >>> earlier_steps(2, 2, False)[:, 4:].tolist()
    [[-1, 0], [-1, -1], [-1, 1]]
    """
    steps = half(offsets(ndim, connectivity, stacked=stacked))[:-1]
    steps = steps[np.argsort(np.abs(steps).sum(axis=1), kind="stable")]
    return _frozen(np.pad(steps, ((0, 0), (6 - ndim, 0))))


@cache
def row_unions(
    ndim: int, connectivity: int, stacked: bool
) -> tuple[tuple[int, int], NDArray[np.int64], NDArray[np.int64]]:
    """Return the block of rows, the edges between such blocks, and those between single rows."""
    block = blocks(ndim, connectivity, stacked=stacked)
    return (
        block,
        block_edges(ndim, connectivity, block, stacked=stacked),
        block_edges(ndim, connectivity, stacked=stacked),
    )


def strides(shape: tuple[int, ...] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distances of flat indices along each axis, in C order.

    Examples
    --------
    >>> strides((2, 3, 4)).tolist()
    [12, 4, 1]
    """
    sides = np.asarray(shape, np.int64)
    return np.cumprod(np.append(1, sides[:0:-1]), dtype=np.int64)[::-1][: len(sides)]


def pad(
    shape: tuple[int, ...], steps: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], NDArray[np.int64]]:
    """Lay an image into a frame of background, so that no step leaves it.

    Only the axes that steps go along get a frame. Position 0 always belongs to it: label 0 means
    background.

    Parameters
    ----------
    shape : tuple of int
        Shape of the image.
    steps : (K, ndim) array of int64
        Steps to neighbors. Those along an axis of length 1 lead nowhere and are dropped.

    Returns
    -------
    rows : (R,) array of int64
        Where each row of the image (all axes but the last) begins in the padded image.
    size : int
        Number of elements of the padded image.
    jumps, shifts : (L,) arrays of int64
        The steps as distances in the padded image and in the image, both in C order.

    Examples
    --------
    >>> pad((2, 3), np.array([[-1, 0], [0, -1], [0, 1], [1, 0]]))
    (array([ 6, 11]), 20, array([-5, -1,  1,  5]), array([-3, -1,  1,  3]))
    """
    inner = np.array(shape, dtype=np.int64)
    steps = steps[~(steps[:, inner == 1] != 0).any(axis=1)]
    margin = np.abs(steps).max(axis=0, initial=0)
    if not margin.any():
        margin[0] = 1
    outer = inner + 2 * margin

    outer_strides = strides(outer)
    corners = np.indices(shape[:-1], dtype=np.int64).reshape(len(shape) - 1, prod(shape[:-1]))
    rows = outer_strides[:-1] @ corners + outer_strides @ margin
    return rows, int(outer.prod()), steps @ outer_strides, steps @ strides(inner)


def face_neighbors(shape: tuple[int, ...], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the two steps along each axis among those that `pad` keeps.

    Returns
    -------
    (ndim, 2) array of int64
        Places in `jumps` and `shifts`; -1 where no step goes along the axis.

    Examples
    --------
    >>> face_neighbors((2, 3), np.array([[-1, 0], [0, -1], [0, 1], [1, 0]])).tolist()
    [[0, 3], [1, 2]]
    """
    inner = np.array(shape, dtype=np.int64)
    kept = steps[~(steps[:, inner == 1] != 0).any(axis=1)].tolist()
    found = np.full((len(shape), 2), -1, dtype=np.int64)
    for axis in range(len(shape)):
        for side, step in enumerate((-1, 1)):
            unit = [0] * len(shape)
            unit[axis] = step
            if unit in kept:
                found[axis, side] = kept.index(unit)
    return found


def blocks(ndim: int, connectivity: int, *, stacked: bool = False) -> tuple[int, int]:
    """Size the largest blocks of rows whose pixels touch wherever their columns do.

    A row is a line along the last axis. In a block, any two rows are neighbors and overlap
    diagonally, so that runs of the union of its rows are connected pixels.

    Parameters
    ----------
    ndim, connectivity, stacked
        As for `offsets`.

    Returns
    -------
    deep, tall : int
        Rows of a block along the third and second axis from the end.

    Examples
    --------
    >>> blocks(2, 1), blocks(2, 2), blocks(3, 2), blocks(3, 3)
    ((1, 1), (1, 2), (1, 2), (2, 2))
    """
    leading = ndim - 1 - stacked
    tall = 2 if leading >= 1 and connectivity >= 2 else 1
    deep = 2 if leading >= 2 and connectivity >= 3 else 1
    return deep, tall


@cache
def block_edges(
    ndim: int, connectivity: int, block: tuple[int, int] = (1, 1), *, stacked: bool = False
) -> NDArray[np.int64]:
    """List what has to be compared to unite a block of rows with earlier blocks.

    A neighbor row with ``k`` non-zero steps exists if ``k <= connectivity``, and overlaps
    diagonally if ``k + 1 <= connectivity``.

    Parameters
    ----------
    ndim : int
        Number of axes, 1 to 6.
    connectivity, stacked
        As for `offsets`.
    block : (int, int)
        Rows of a block, as `blocks` returns them or (1, 1).

    Returns
    -------
    (E, 10) array of int64, read-only
        Columns: the step to the other block along five leading axes (5); whether the overlap is
        diagonal (1); one or two rows of this block and of the other, which are compared together
        (2 + 2), counted in raster order; a single row stands twice. The nearest block comes
        first.

    Examples
    --------
    >>> block_edges(2, 2, (1, 2))[:, 4:].tolist()
    [[-1, 1, 0, 0, 1, 1]]
    """
    axes = 5
    leading = min(ndim - 1 - stacked, axes)
    size = np.array([1] * (axes - 2) + list(block))
    members = list(product(range(block[0]), range(block[1])))
    edges = []
    for step in product((-1, 0, 1), repeat=leading):
        if step >= (0,) * leading:
            continue
        outer = np.array((0,) * (axes - leading) + step)
        for diagonal in (True, False):
            touching: dict[int, tuple[int, ...]] = {}
            for here, inner in enumerate(members):
                touching[here] = tuple(
                    there
                    for there, other in enumerate(members)
                    if _touch(outer * size, inner, other, connectivity) == (1 + diagonal)
                )
            for there in sorted(set(touching.values()) - {()}):
                mine = [here for here, others in touching.items() if others == there]
                edges += [
                    [*outer, diagonal, *pair, *other]
                    for pair in _pairs(mine)
                    for other in _pairs(list(there))
                ]
    edges.sort(key=lambda edge: (sum(map(abs, edge[:axes])), [-step for step in edge[:axes]]))
    return _frozen(np.array(edges, dtype=np.int64).reshape(len(edges), 10))


def _frozen(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Forbid writing to a table that callers share."""
    table.flags.writeable = False
    return table


def _pairs(rows: list[int]) -> list[tuple[int, int]]:
    """Take rows two by two; a last one that is alone stands twice."""
    return [(rows[k], rows[min(k + 1, len(rows) - 1)]) for k in range(0, len(rows), 2)]


def _touch(
    outer: NDArray[np.int64], inner: tuple[int, ...], other: tuple[int, ...], connectivity: int
) -> int:
    """Return whether two rows do not touch (0), overlap straight (1) or diagonally too (2)."""
    step = outer.copy()
    step[-2:] += np.array(other) - np.array(inner)
    if np.abs(step).max() > 1:
        return 0
    hops = int(np.abs(step).sum())
    return 2 if hops < connectivity else int(hops <= connectivity)
