"""Initial labels, the lowest label among neighbors, and lines along a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


# ---- Initial labels: the flat index of each element, -1 for background


def label_by_index(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own flat index, background with -1."""
    return np.asarray(label_elements(*grid.bounded_values))


@njit(nogil=True, cache=True)
def label_elements(values, background, bounded):
    """Label every foreground element with its own flat index, and background with -1."""
    labels = np.empty(values.size, np.int64)
    for i in range(values.size):
        labels[i] = -1 if bounded and values[i] == background else i
    return labels


# ---- Labels of the neighbors of an element


@inlined
def lowest_near(labels, values, i, column, width, steps, offsets, inside):
    """Return the lowest label among a foreground element and its neighbors of equal value.

    Element `i` is at `column` of a row of `width`. `steps` is (K, ndim), to all neighbors, and
    `offsets` the same as distances of flat indices; `inside`, (K,) of bool, says which steps stay
    inside along all axes but the last, see `komura2016.cpu.mark_inside`.
    """
    lowest = labels[i]
    for k in range(offsets.size):
        if inside[k] and 0 <= column + steps[k, -1] < width:
            near = labels[i + offsets[k]]
            if 0 <= near < lowest and values[i + offsets[k]] == values[i]:
                lowest = near
    return lowest


# ---- Lines through a grid: along an axis, or a diagonal


@njit(nogil=True, cache=True)
def find_line(number, shape, step):
    """Return the flat index of the first element of line `number`, and its number of elements.

    `number` is less than `meshes.count_lines`; `step` is of -1, 0 and 1, not all of them 0. The
    number of elements is 0 if the line of that element has another number.
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
                return 0, 0  # also on the face of that axis, which counts it
        if step[axis] > 0:
            length = min(length, shape[axis] - coordinate)
        elif step[axis] < 0:
            length = min(length, coordinate + 1)
        first += coordinate * stride
        stride *= shape[axis]
    return first, length
