"""Label equivalence: scan for lower labels, then shorten the chains, until stable.

O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid using
CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012,
Listings 1 to 3, for any number of axes and any neighborhood; Listing 4 for sizes and perimeters.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray


def recipe(
    passes: ModuleType,
    image: NDArray[Any],
    background: Any,
    steps: NDArray[np.int64],
    visit: Callable[[NDArray[np.int64]], object] | None = None,
) -> NDArray[np.int64]:
    """Find the root of every element.

    A label is an index into the padded image, and so a reference as well: no second array is
    needed. A scan lowers the label that each label refers to; the analysis then points every
    element at the end of its chain. The first scan that lowers nothing is the last.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.kalentev`.
    image : C-contiguous array of bool or integers
        Not empty. Elements are joined if they are neighbors and of equal value.
    background : scalar or None
        Value of the elements that belong to nothing; None if there are none.
    steps : (K, ndim) array of int64
        To the neighbors of an element, in raster order, each with its opposite.
    visit : callable, optional
        Is shown what the analysis then accumulates, (size, 1 + ndim): the number of elements and
        of exposed faces along each axis, at the first element of each component in the padded
        image, and zeros at all others.

    Returns
    -------
    array of int64, shape of `image`
        Smallest flat index of the element's component; -1 for background.
    """
    values = image.reshape(-1).view(f"u{image.itemsize}")  # equality needs the bits alone
    if background is not None:
        background = np.asarray(background, image.dtype).view(values.dtype)[()]
    rows, size, jumps, shifts = padding(image.shape, steps)
    across = beside(image.shape, steps)
    sides = np.append(jumps, 0)[across], np.append(shifts, 0)[across]
    rows, jumps, shifts = (np.asarray(part, like=image) for part in (rows, jumps, shifts))

    labels = passes.init_labels(values, background, rows, size)
    if visit is None:
        while passes.scan(labels, values, rows, jumps, shifts):
            passes.analyze(labels)
    else:
        kind = np.int32 if size < 2**30 else np.int64
        counts = np.zeros((size, 1 + image.ndim), kind, like=image)
        sides = np.asarray(sides[0], like=image), np.asarray(sides[1], like=image)
        passes.init_counts(labels, values, rows, *sides, counts)
        while passes.scan(labels, values, rows, jumps, shifts):
            passes.analyze_counts(labels, counts)
        visit(counts)
    roots: NDArray[np.int64] = passes.crop(labels, rows, values.size)
    return roots.reshape(image.shape)


def padding(
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
    >>> padding((2, 3), np.array([[-1, 0], [0, -1], [0, 1], [1, 0]]))
    (array([ 6, 11]), 20, array([-5, -1,  1,  5]), array([-3, -1,  1,  3]))
    """
    inner = np.array(shape, dtype=np.int64)
    steps = steps[~(steps[:, inner == 1] != 0).any(axis=1)]
    margin = np.abs(steps).max(axis=0, initial=0)
    if not margin.any():
        margin[0] = 1
    outer = inner + 2 * margin

    strides = _strides(outer)
    corners = np.indices(shape[:-1], dtype=np.int64).reshape(len(shape) - 1, prod(shape[:-1]))
    rows = strides[:-1] @ corners + strides @ margin
    return rows, int(outer.prod()), steps @ strides, steps @ _strides(inner)


def beside(shape: tuple[int, ...], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the two steps along each axis among those that `padding` keeps.

    Returns
    -------
    (ndim, 2) array of int64
        Places in `jumps` and `shifts`; -1 where no step goes along the axis.

    Examples
    --------
    >>> beside((2, 3), np.array([[-1, 0], [0, -1], [0, 1], [1, 0]])).tolist()
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


def _strides(shape: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumprod(np.append(1, shape[:0:-1]), dtype=np.int64)[::-1]
