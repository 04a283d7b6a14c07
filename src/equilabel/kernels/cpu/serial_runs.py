"""The method `runs` in a single call, for images that one thread labels."""

from typing import Any

import numpy as np

from .alignment import SKIP, left_out
from .caching import Kernel, is_kept, njit
from .numbering import index, is_one, number, relabel, reorder
from .packing import NOTHING, SEVERAL, begin, pack, pack_values
from .painting import paint_one, paint_rows
from .run_table import AXES, SLACK, Runs
from .run_unions import link, link_first_edge, link_rows_above
from .value_unions import link_values
from .vector_compare import is_whole

FRACTIONS, VALUES = -1, -2  # returned in place of a number of components
PATIENCE = 100  # calls after which it is worth compiling
_left: dict[Any, int] = {}


def is_worth_compiling(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Return whether to call a kernel of this module: it is compiled, or would have been often.

    What is labeled first waits for numba, and the passes one by one are what larger images need
    anyway. A single call saves about 0.1 ms, and takes more than a second to compile.

    Parameters
    ----------
    kernel : Kernel
    arguments : tuple
        Those of the call, pixels first: types of the others follow from theirs.
    """
    key = kernel, arguments[0].dtype
    left = _left.get(key)
    if left == 0:
        return True
    if left is None:
        left = 0 if is_kept(kernel, arguments) else PATIENCE
    _left[key] = max(0, left - 1)
    return left == 0


@njit(nogil=True, cache=True)
def label_runs(pixels, level, plan, edges, row_edges, labels):
    """Label an image: what `runs` does pass by pass in threads, without returning in between.

    Every argument of a call from Python costs time, so that numbers come in one array.

    Parameters
    ----------
    pixels : (R * columns,) array
        Not of bool.
    level : (1,) array of the type of `pixels`
        The background, if `bounded`; otherwise all pixels are foreground.
    plan : (10,) array of int64
        Leading axes, padded with ones in front; columns; whether there is background (`bounded`);
        whether values tell components apart; rows of a block along two axes (`edges` are those of
        such blocks, `row_edges` those of single rows).
    labels : (>= R * columns,) array of int32
        Overwritten, from a multiple of 32 bytes on if there is room for that.

    Returns
    -------
    int
        Number of components, and `SKIP` times the labels before them; `FRACTIONS` if values tell
        them apart and are not all whole numbers; `VALUES` if there are several of them:
        `label_values` has to be called then.
    """
    columns, bounded, values = plan[5], plan[6] != 0, plan[7] != 0
    skip = left_out(labels, pixels.size)
    labels = labels[skip : skip + pixels.size]
    bits = new_bits(labels, columns)
    found, value = pack(pixels, columns, level[0], bounded, not values, bits[:-1])
    if found == SEVERAL:
        return VALUES
    if found == NOTHING:
        labels[:] = 0
        return skip * SKIP
    if values and not is_whole(value):
        return FRACTIONS
    unknown, counts = new_table(bits, plan[:AXES], plan[8], plan[9])
    blocks = counts.size - 1
    begin(unknown, 0, blocks, counts)
    runs = index_runs(unknown, counts)
    if counts[blocks] > 1:
        if edges.shape[0] > 0:
            if runs.tall == 1:
                link_rows_above(runs, (0, blocks, 0, blocks))
            else:
                link_first_edge(runs, edges, (0, blocks, 0, blocks))
        link(runs, edges, 1, (0, blocks, 0, blocks))
    return skip * SKIP + number_runs(runs, counts, columns, labels)


@njit(nogil=True, cache=True)
def label_values(pixels, level, plan, edges, row_edges, labels):
    """Label an image of several values. See `label_runs`."""
    columns, bounded = plan[5], plan[6] != 0
    skip = left_out(labels, pixels.size)
    labels = labels[skip : skip + pixels.size]
    bits = new_bits(labels, columns)
    unknown, counts = new_table(bits, plan[:AXES], 1, 1)
    rows = counts.size - 1
    if not pack_values(pixels, columns, level[0], bounded, unknown, 0, rows, counts):
        return FRACTIONS
    runs = index_runs(unknown, counts)
    if counts[rows] > 1:
        link_values(pixels, columns, runs, row_edges, (0, rows, 0, rows))
    return skip * SKIP + number_runs(runs, counts, columns, labels)


@njit(inline="always")
def new_bits(labels, columns):
    """Make room for a bit of each pixel, and a last row without foreground."""
    rows = labels.size // columns
    bits = np.empty((rows + 1, -(-columns // 64)), np.uint64)
    bits[rows] = 0
    return bits


@njit(inline="always")
def new_table(bits, shape, deep, tall):
    """Make a table of runs that are still to be found, and room for their number in each block."""
    grid = shape.copy()
    grid[3] = -(-shape[3] // deep)
    grid[4] = -(-shape[4] // tall)
    blocks = grid.prod()
    starts = np.empty((blocks, bits.shape[1]), np.uint64)
    first = np.empty(starts.shape, np.int32)
    unknown = first.reshape(-1)  # stands for parents, while runs are still to be counted
    table = Runs(bits, starts, first, unknown, shape, grid, deep, tall)
    return table, np.empty(blocks + 1, np.int64)


@njit(inline="always")
def index_runs(unknown, counts):
    """Return the table with an entry for each run, once the runs of each block are counted."""
    blocks = counts.size - 1
    counts[0] = 1
    for k in range(blocks):
        counts[k + 1] += counts[k]
    parents = np.empty(counts[blocks] + SLACK, np.int32)
    parents[0] = 0
    bits, starts, first, _, shape, grid, deep, tall = unknown
    runs = Runs(bits, starts, first, parents, shape, grid, deep, tall)
    index(runs, counts, 0, blocks)
    return runs


@njit(inline="always")
def number_runs(runs, counts, columns, labels):
    """Give numbers to the components of all runs, and paint them."""
    blocks = counts.size - 1
    if counts[blocks] == 1:
        labels[:] = 0
        return 0
    if is_one(runs.parents, 2, counts[blocks]):
        paint_one(runs.bits, columns, 0, labels.size // columns, False, False, labels)
        return 1
    slab = runs.grid[4] if runs.deep > 1 else 1
    ends = np.empty(blocks // slab + 1, np.int64)
    components = number(counts[::slab].copy(), runs.parents, ends)
    if runs.deep * runs.tall > 1 and components > 1:
        order = np.zeros(components + 1, np.int32)
        reorder(runs, 0, blocks // slab, ends, order)
        relabel(runs.parents, 1, counts[blocks], order)
    paint_rows(runs, columns, 0, labels.size // columns, False, labels)
    return components
