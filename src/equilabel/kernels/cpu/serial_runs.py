"""The method `runs` in a single call, for images that one thread labels."""

import numpy as np

from .bits import is_whole
from .caching import njit
from .numbering import index, number, relabel, reorder
from .packing import AXES, SEVERAL, begin, pack, pack_values
from .painting import paint_rows
from .run_unions import link
from .value_unions import link_values

SLACK = 8  # runs are read eight at a time


@njit(nogil=True, cache=True)
def label_runs(
    pixels, lines, columns, level, bounded, values, block, edges, row_edges, blank, labels
):
    """Label an image: what `runs` does pass by pass in threads, without returning in between.

    Parameters
    ----------
    pixels : (R * columns,) array
        Not of bool.
    lines : tuple of 5 int
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
    shape = np.array(lines)
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
    if many:
        if not pack_values(pixels, 0, rows, columns, level, bounded, bits, starts, counts):
            return -1
    else:
        begin(bits, shape, grid, deep, tall, 0, blocks, starts, counts)
    counts[0] = 1
    for k in range(blocks):
        counts[k + 1] += counts[k]
    if counts[blocks] == 1:
        labels[:] = 0
        return 0
    first = np.empty(starts.shape, np.int32)
    parents = np.empty(counts[blocks] + SLACK, np.int32)
    parents[0] = 0
    index(starts, counts, 0, blocks, first, parents)
    if many:
        link_values(
            pixels, columns, bits, starts, first, shape, row_edges, 0, rows, 0, rows, parents
        )
    else:
        flat = bits.reshape(-1)
        link(flat, starts, first, shape, grid, deep, tall, edges, 0, blocks, 0, blocks, parents)
    slab = grid[4] if deep > 1 else 1
    ends = np.empty(blocks // slab + 1, np.int64)
    components = number(counts[::slab].copy(), parents, ends)
    if deep * tall > 1 and components > 1:
        order = np.zeros(components + 1, np.int32)
        reorder(
            bits, starts, first, parents, shape, grid, deep, tall, 0, blocks // slab, ends, order
        )
        relabel(parents, 1, counts[blocks], order)
    paint_rows(
        bits, starts, first, parents, shape, grid, deep, tall, columns, 0, rows, blank, labels
    )
    return components
