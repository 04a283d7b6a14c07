"""Labels to start from, the lowest label among neighbors, and lines along a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


# ---- Labels to start from on the CPU: the flat index of each element, -1 for background


def label_by_index(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own flat index, background with -1."""
    return np.asarray(label_elements(*grid.bounded_values))


@njit(nogil=True, cache=True)
def label_elements(values, background, bounded):
    """Label every foreground element with its own flat index.

    Parameters
    ----------
    values : (N,) array of unsigned integers
    background : scalar of the same type
        Value that gets label -1, if `bounded`.
    bounded : bool
        Whether there is one.

    Returns
    -------
    labels : (N,) array of int64
    """
    labels = np.empty(values.size, np.int64)
    for i in range(values.size):
        labels[i] = -1 if bounded and values[i] == background else i
    return labels


# ---- Labels of the neighbors of an element on the CPU


@inlined
def lowest_near(labels, values, i, column, width, steps, offsets, inside):
    """Return the lowest label among a foreground element and its neighbors of equal value.

    Parameters
    ----------
    labels : (N,) array of int64
        -1 for background.
    values : (N,) array of unsigned integers
    i, column, width : int
        The element, its place in its row, and the length of rows.
    steps : (K, ndim) array of int64
        To all neighbors.
    offsets : (K,) array of int64
        The same steps as distances between flat indices. Not checked.
    inside : (K,) array of bool
        Which steps stay inside the grid along all axes but the last, see `komura.mark_inside`.
    """
    lowest = labels[i]
    for k in range(offsets.size):
        if inside[k] and 0 <= column + steps[k, -1] < width:
            near = labels[i + offsets[k]]
            if 0 <= near < lowest and values[i + offsets[k]] == values[i]:
                lowest = near
    return lowest


# ---- Lines through a grid on the CPU: along an axis, or a diagonal


@njit(nogil=True, cache=True)
def find_line(number, shape, step):
    """Find where a line enters the grid, and how long it is.

    Parameters
    ----------
    number : int
        Less than `geometry.count_lines`.
    shape, step : (ndim,) arrays of int64
        Step from an element of the line to the next; of -1, 0 and 1, not all of them 0.

    Returns
    -------
    first : int
        Flat index of the first element.
    length : int
        Number of elements; 0 for an element whose line has another number.
    """
    size = 1
    for axis in range(shape.size):
        size *= shape[axis]
    face = 0  # axis along which this line enters
    while step[face] == 0 or number >= size // shape[face]:
        if step[face] != 0:
            number -= size // shape[face]
        face += 1
    first = 0
    length = np.int64(2**62)
    stride = 1
    for axis in range(shape.size - 1, -1, -1):
        entry = 0 if step[axis] > 0 else shape[axis] - 1
        if axis == face:
            coordinate = entry
        else:
            coordinate = number % shape[axis]
            number //= shape[axis]
            if axis < face and step[axis] != 0 and coordinate == entry:
                return 0, 0  # it is on the face of that axis, too
        if step[axis] > 0:
            length = min(length, shape[axis] - coordinate)
        elif step[axis] < 0:
            length = min(length, coordinate + 1)
        first += coordinate * stride
        stride *= shape[axis]
    return first, length
