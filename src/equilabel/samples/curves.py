"""Curves one pixel wide: one component that winds through the whole image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_flag, check_whole
from equilabel.storage.memory import check_room

if TYPE_CHECKING:
    from numpy.typing import NDArray


def spiral(size: int = 255) -> NDArray[np.bool_]:
    """Draw a square spiral, one pixel wide with gaps of one pixel.

    It is a single path of 4-neighbors from the top left corner to the middle: the longest way
    that a label can have to travel.

    Parameters
    ----------
    size : int
        Rows and columns.

    Returns
    -------
    (size, size) array of bool

    Examples
    --------
    >>> spiral(7).astype(int)
    array([[1, 1, 1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0, 0, 1],
           [1, 1, 1, 1, 1, 0, 1],
           [1, 0, 0, 0, 1, 0, 1],
           [1, 0, 1, 1, 1, 0, 1],
           [1, 0, 0, 0, 0, 0, 1],
           [1, 1, 1, 1, 1, 1, 1]])
    """
    size = check_whole("size", size, 0)
    check_room("size", size, size**2)
    image = np.zeros((size, size), dtype=np.bool_)
    image[:1, :1] = True
    row = column = 0
    turn, length = 0, size - 1
    while length >= 2:
        down, right = ((0, 1), (1, 0), (0, -1), (-1, 0))[turn % 4]
        ends = (row + down * length, column + right * length)
        rows, columns = sorted((row, ends[0])), sorted((column, ends[1]))
        image[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = True
        row, column = ends
        turn += 1
        if turn >= 3 and turn % 2:  # every second line stops two pixels earlier
            length -= 2
    return image


def hilbert(order: int = 7, *, padded: bool = False) -> NDArray[np.bool_]:
    """Draw the Hilbert curve, one pixel wide with gaps of one pixel.

    It is a single path of 4-neighbors that visits every second pixel of every second row.

    Parameters
    ----------
    order : int
        The curve visits ``2**order`` by ``2**order`` points.
    padded : bool
        Whether to add an empty row and column, which makes the size a power of two.

    Returns
    -------
    (S, S) array of bool
        ``S = 2**(order + 1) - 1``, or one more where padded.

    Examples
    --------
    >>> hilbert(2).astype(int)
    array([[1, 1, 1, 0, 1, 1, 1],
           [0, 0, 1, 0, 1, 0, 0],
           [1, 1, 1, 0, 1, 1, 1],
           [1, 0, 0, 0, 0, 0, 1],
           [1, 0, 1, 1, 1, 0, 1],
           [1, 0, 1, 0, 1, 0, 1],
           [1, 1, 1, 0, 1, 1, 1]])
    """
    order, padded = check_whole("order", order, 0, 30), check_flag("padded", padded)
    check_room("order", order, 8 * 4**order)
    image = np.ones((1, 1), dtype=np.bool_)  # from the top left to the top right corner
    for _ in range(order):
        size = len(image)
        larger = np.zeros((2 * size + 1, 2 * size + 1), dtype=np.bool_)
        larger[:size, :size] = image.T
        larger[size + 1 :, :size] = image
        larger[size + 1 :, size + 1 :] = image
        larger[:size, size + 1 :] = image[::-1, ::-1].T
        larger[size, [0, -1]] = True
        larger[size + 1, size] = True
        image = larger
    return np.pad(image, (0, 1)) if padded else image
