"""Passes from planes of bits to lists of runs, each with its label.

A run is a row ``(row, begin, end, label)`` of int64; runs stand in raster order.
"""

import numpy as np

from .bits import NONE, ONE, lowest
from .caching import njit
from .neighbor_bits import find_ends, find_starts
from .run_table import block_of, label_at


@njit(nogil=True, cache=True)
def list_runs(labels, columns, span, planes, left, first_row, skip, runs):
    """List the runs of some rows of labels, and return their least and greatest label.

    Parameters
    ----------
    labels : (R * columns,) array of int
    span : (int, int)
        Columns to look at.
    planes : array of uint64
        From `compare`; its row `skip` stands for `first_row`.
    left : int
        The plane of the pixel to the left.
    runs : (N, 4) array of int64
        Overwritten; N as of `count_starts`.
    """
    begin, end = span
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
def list_joined(table, planes, left, first_row, skip, runs):
    """List the runs of some rows of a run table, as `list_runs` does of labels.

    Parameters
    ----------
    table : equilabel.kernels.cpu.run_table.Runs
        Whose `parents` are labels by now.
    """
    words = table.starts.shape[1]
    columns = 64 * words
    least = np.int64(0)
    most = np.int64(0)
    run = 0
    last = 0
    row = 0
    while run < runs.shape[0]:
        at = first_row + row
        block = block_of(table, at)
        for word in range(words):
            if planes[skip + row, word, 0] == NONE:
                continue
            here = find_starts(planes, skip + row, word, left, 0, columns)
            while here != NONE:
                x = 64 * word + lowest(here)
                label = np.int64(label_at(table, block, x))
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
def assign_slots(runs, least, lookup, ids):
    """Replace the label of each run by its slot, the index of its label; count the labels.

    Parameters
    ----------
    runs : (N, 4) array of int64
        The last column is overwritten.
    lookup : (most - least + 1,) array of int32
        Zeros; overwritten.
    ids : (>= labels,) array of int64
        Overwritten with the label of each slot, in order of the first run.
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
