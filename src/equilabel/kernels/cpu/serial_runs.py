"""The method `runs` in a single call, for images that one thread labels."""

import numpy as np

from .caching import njit
from .numbering import index, number, relabel, reorder
from .packing import SEVERAL, begin, pack, pack_values
from .painting import paint_rows
from .run_table import AXES, SLACK, Runs
from .run_unions import link
from .value_unions import link_values
from .vector_compare import is_whole


@njit(nogil=True, cache=True)
def label_runs(
    pixels, leading, columns, level, bounded, values, block, edges, row_edges, blank, labels
):
    """Label an image: what `runs` does pass by pass in threads, without returning in between.

    Parameters
    ----------
    pixels : (R * columns,) array
        Not of bool.
    leading : tuple of 5 int
        Leading axes, padded with ones in front.
    level : scalar of the type of `pixels`
        The background, if `bounded`; otherwise all pixels are foreground.
    values : bool
        Whether values tell components apart.
    block : (int, int)
        Rows of a block; `edges` are those of such blocks, `row_edges` those of single rows.
    blank : bool
        Whether `labels` holds zeros.
    labels : (R * columns,) array of int32
        Overwritten.

    Returns
    -------
    int
        Number of components; -1 if values tell them apart and are not all whole numbers.
    """
    shape = np.array(leading)
    rows = labels.size // columns
    bits = np.empty((rows + 1, -(-columns // 64)), np.uint64)
    bits[rows] = 0
    found, value = pack(pixels, columns, level, bounded, not values, bits[:rows])
    deep, tall = block
    many = found == SEVERAL
    if many:
        deep, tall = 1, 1
    elif values and found and not is_whole(value):
        return -1
    grid = shape.copy()
    grid[3] = -(-shape[3] // deep)
    grid[4] = -(-shape[4] // tall)
    blocks = 1
    for axis in range(AXES):
        blocks *= grid[axis]
    starts = np.empty((blocks, bits.shape[1]), np.uint64)
    counts = np.empty(blocks + 1, np.int64)
    first = np.empty(starts.shape, np.int32)
    unknown = first.reshape(-1)  # stands for parents, while runs are still to be counted
    table = Runs(bits, starts, first, unknown, shape, grid, deep, tall)
    if many:
        if not pack_values(pixels, columns, level, bounded, table, 0, rows, counts):
            return -1
    else:
        begin(table, 0, blocks, counts)
    counts[0] = 1
    for k in range(blocks):
        counts[k + 1] += counts[k]
    if counts[blocks] == 1:
        labels[:] = 0
        return 0
    parents = np.empty(counts[blocks] + SLACK, np.int32)
    parents[0] = 0
    runs = Runs(bits, starts, first, parents, shape, grid, deep, tall)
    index(runs, counts, 0, blocks)
    if many:
        link_values(pixels, columns, runs, row_edges, (0, rows, 0, rows))
    else:
        link(runs, edges, (0, blocks, 0, blocks))
    slab = grid[4] if deep > 1 else 1
    ends = np.empty(blocks // slab + 1, np.int64)
    components = number(counts[::slab].copy(), parents, ends)
    if deep * tall > 1 and components > 1:
        order = np.zeros(components + 1, np.int32)
        reorder(runs, 0, blocks // slab, ends, order)
        relabel(parents, 1, counts[blocks], order)
    paint_rows(runs, columns, 0, rows, blank, labels)
    return components
