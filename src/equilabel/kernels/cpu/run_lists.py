"""Passes from planes of bits to lists of runs, each with its label.

A run is a line ``(row, begin, end, label)`` of int64; runs stand in raster order.
"""

import numpy as np

from .bits import NONE, ONE, lowest, popcount
from .caching import njit
from .neighbor_bits import find_ends, find_starts


@njit(nogil=True, cache=True)
def list_runs(labels, columns, planes, left, first_row, skip, begin, end, runs):
    """List the runs of some rows of labels, and return their least and greatest label.

    Parameters
    ----------
    labels : (R * columns,) array of int
    planes : array of uint64
        From `compare`; its row `skip` stands for `first_row`.
    left : int
        The plane of the pixel to the left.
    begin, end : int
        Columns to look at.
    runs : (N, 4) array of int64
        Overwritten; N as of `count_starts`.
    """
    least = np.int64(0)
    most = np.int64(0)
    run = 0
    last = 0
    row = 0
    while run < runs.shape[0]:
        for word in range(begin >> 6, ((end - 1) >> 6) + 1):
            if planes[skip + row, word, 0] == NONE:
                continue
            here = find_starts(planes, skip + row, word, left, begin, end)
            while here != NONE:
                x = 64 * word + lowest(here)
                here &= here - ONE
                label = np.int64(labels[(first_row + row) * columns + x])
                least = label if run == 0 else min(least, label)
                most = label if run == 0 else max(most, label)
                runs[run, 0] = first_row + row
                runs[run, 1] = x
                runs[run, 3] = label
                run += 1
            here = find_ends(planes, skip + row, word, left, begin, end)
            while here != NONE:
                runs[last, 2] = 64 * word + lowest(here) + 1
                here &= here - ONE
                last += 1
        row += 1
    return least, most


@njit(nogil=True, cache=True)
def block_of(row, shape, grid, deep, tall):
    """Find the block of a row of a run table."""
    y = row % shape[4] // tall
    z = row // shape[4] % shape[3] // deep
    return (row // (shape[4] * shape[3]) * grid[3] + z) * grid[4] + y


@njit(nogil=True, cache=True)
def label_at(starts, first, labels, block, x):
    """Look up the label of a foreground pixel of a block, as `list_joined` is told them."""
    bit = ONE << np.uint64(x & 63)
    before = popcount(starts[block, x >> 6] & (bit | (bit - ONE)))
    return labels[first[block, x >> 6] + before - 1]


@njit(nogil=True, cache=True)
def list_joined(
    starts, first, labels, shape, grid, deep, tall, planes, left, first_row, skip, runs
):
    """List the runs of some rows of a run table whose runs have their labels by now.

    Parameters
    ----------
    starts, first : (B, words) arrays
        Where runs begin in each block, and their numbers.
    labels : (runs + 1,) array of int
        Label of each run.
    shape, grid, deep, tall
        Geometry of the run table.
    """
    words = starts.shape[1]
    columns = 64 * words
    least = np.int64(0)
    most = np.int64(0)
    run = 0
    last = 0
    row = 0
    while run < runs.shape[0]:
        at = first_row + row
        block = block_of(at, shape, grid, deep, tall)
        for word in range(words):
            if planes[skip + row, word, 0] == NONE:
                continue
            here = find_starts(planes, skip + row, word, left, 0, columns)
            while here != NONE:
                x = 64 * word + lowest(here)
                label = np.int64(label_at(starts, first, labels, block, x))
                least = label if run == 0 else min(least, label)
                most = label if run == 0 else max(most, label)
                runs[run, 0] = at
                runs[run, 1] = x
                runs[run, 3] = label
                here &= here - ONE
                run += 1
            here = find_ends(planes, skip + row, word, left, 0, columns)
            while here != NONE:
                runs[last, 2] = 64 * word + lowest(here) + 1
                here &= here - ONE
                last += 1
        row += 1
    return least, most


@njit(nogil=True, cache=True)
def place(runs, least, lookup, ids):
    """Replace the label of each run by its place among the labels of the list, and count these.

    Parameters
    ----------
    runs : (N, 4) array of int64
        The last column is overwritten.
    lookup : (most - least + 1,) array of int32
        Zeros; overwritten.
    ids : (>= labels,) array of int64
        Overwritten with the label of each place, in order of the first run.
    """
    count = 0
    for run in range(runs.shape[0]):
        label = runs[run, 3]
        slot = lookup[label - least]
        if slot == 0:
            ids[count] = label
            count += 1
            slot = count
            lookup[label - least] = slot
        runs[run, 3] = slot - 1
    return count
