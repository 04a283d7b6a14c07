"""The runs and the table of a small image of labels in a single call."""

import numpy as np

from .caching import njit
from .neighbor_bits import compare, count_starts
from .run_counts import add_extents, add_first, add_products
from .run_lists import assign_slots, list_runs

ROOM = 16  # entries of a look-up table that each run may cost before labels are sorted instead
FLOOR = 2**16  # entries that it may have in any case


@njit(nogil=True, cache=True)
def measure_image(labels, shape, sides, steps, plan):
    """Count what follows from the runs of all rows, as `strips.measure_strip` does of some.

    Parameters
    ----------
    labels : (R * columns,) array of int
    shape : (5,) array of int64
        Leading axes.
    sides : (axes,) array of int64
        Sides of the image.
    steps : (S, 3) array of int64
        To the neighbors that are compared.
    plan : (5,) array of int64
        Columns of the table, planes of bits, the columns of the first pixel and of products (0 if
        there are none), and spatial axes.

    Returns
    -------
    least : int
        The least label; the arrays are of use only if it is not negative.
    sparse : bool
        Whether labels are so far apart that they have to be sorted: the last two arrays are not
        of use then, and runs hold labels in place of slots.
    planes, runs, ids, table : arrays
        As in `measure_strip`.
    """
    columns = sides[-1]
    rows = labels.size // columns
    planes = np.empty((rows, -(-columns // 64), plan[1]), np.uint64)
    compare(labels, columns, shape, steps, 0, rows, planes)
    left = steps.shape[0]
    count = count_starts(planes, 0, rows, left, 0, columns)
    runs = np.empty((count, 4), np.int64)
    least, most = list_runs(labels, columns, (0, columns), planes, left, 0, 0, runs)
    sparse = most - least >= ROOM * count + FLOOR
    if least < 0 or sparse:
        return least, sparse, planes, runs, np.empty(0, np.int64), np.zeros((0, 0), np.int64)
    ids = np.empty(count, np.int64)
    ids = ids[: assign_slots(runs, least, np.zeros(most - least + 1, np.int32), ids)].copy()
    table = np.zeros((ids.size, plan[0]), np.int64)
    add_extents(runs, shape, sides, sides.size, table)
    if plan[2] > 0:
        add_first(runs, columns, labels.size, plan[2], table)
    if plan[3] > 0:
        add_products(runs, shape, plan[4], plan[3], table)
    return least, False, planes, runs, ids, table
