"""Passes from lists of runs to the outermost pixels of each label in each of its rows.

A row of a label is ``(row, first, last)`` of int64: the first and the last column in which it has a
pixel. Rows stand label by label, and ascend in each label.
"""

from .caching import njit


@njit(nogil=True, cache=True)
def count_rows(runs, slots, latest, counts):
    """Count the rows of each label.

    Parameters
    ----------
    runs : (N, 4) array of int64
        Row, first column, last column + 1 and slot, in raster order.
    slots : (labels,) array of int64
        The label of each slot, by its place among all labels.
    latest : (L,) array of int64
        Row in which each label was met last, -1 for none; updated.
    counts : (L,) array of int64
        Updated.
    """
    for run in range(runs.shape[0]):
        label = slots[runs[run, 3]]
        if latest[label] != runs[run, 0]:
            latest[label] = runs[run, 0]
            counts[label] += 1


@njit(nogil=True, cache=True)
def gather_rows(runs, slots, latest, ends, rows):
    """Put the rows of each label together.

    Parameters
    ----------
    runs, slots, latest
        As for `count_rows`.
    ends : (L,) array of int64
        Place behind the rows of each label that are known; updated.
    rows : (R, 3) array of int64
        Updated.
    """
    for run in range(runs.shape[0]):
        label = slots[runs[run, 3]]
        if latest[label] != runs[run, 0]:
            latest[label] = runs[run, 0]
            rows[ends[label], 0] = runs[run, 0]
            rows[ends[label], 1] = runs[run, 1]
            ends[label] += 1
        rows[ends[label] - 1, 2] = runs[run, 2] - 1
