"""Labels that begin at a multiple of 32 bytes, where their vectors lie: NumPy's begin at one of 16.

Eight labels are written at once. Where that crosses from one line of the cache to the next, it
takes about twice as long: half of all vectors, in half of all arrays.
"""

import numpy as np

from .caching import njit

VECTOR = 32  # bytes of eight labels
ROOM = 8  # labels more than pixels, so that one of the first lies at a multiple of these bytes
SKIP = 2**22  # more than components of what one thread labels: times the labels left out, added


@njit(inline="always")
def left_out(labels, size):
    """Return how many labels to leave out, so that `size` others begin at a multiple of 32 bytes.

    It is 0 if there is no room for that.
    """
    skip = (-np.int64(labels.ctypes.data) % VECTOR) // labels.itemsize
    return skip if skip <= labels.size - size else 0
