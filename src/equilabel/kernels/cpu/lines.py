"""Lines through a grid on the CPU: along an axis, or a diagonal."""

import numpy as np

from .caching import njit


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
