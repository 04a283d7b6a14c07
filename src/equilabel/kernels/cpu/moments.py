"""Passes that sum powers of the coordinates of the pixels of runs, plain or weighted by values.

A run is a row ``(row, begin, end, slot)`` of int64, as `run_lists` makes it; the slot is the index
of its label among those of the list.
"""

import numpy as np

from .caching import njit
from .run_table import AXES, locate


@njit(nogil=True, cache=True)
def add_powers(runs, shape, rank, centers, powers):
    """Sum the products of powers of coordinates up to 3 along each axis.

    Parameters
    ----------
    rank : int
        Number of spatial axes, 1 to 3.
    centers : (labels, rank) array of float64
        What coordinates are counted from.
    powers : (labels, 4 ** rank) array of float64
        Updated; exponents of the last axis change first.
    """
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    along = np.empty(4)
    for run in range(runs.shape[0]):
        locate(runs[run, 0], shape, position)
        slot = runs[run, 3]
        length = float(runs[run, 2] - runs[run, 1])
        middle = 0.5 * (runs[run, 1] + runs[run, 2] - 1) - centers[slot, rank - 1]
        spread = length * (length * length - 1.0) / 12.0
        along[0] = length
        along[1] = length * middle
        along[2] = length * middle * middle + spread
        along[3] = middle * (length * middle * middle + 3.0 * spread)
        add_product(along, position, leading, rank, centers, slot, powers)


@njit(nogil=True, cache=True)
def add_weighted(runs, values, columns, channels, channel, shape, rank, centers, powers):
    """Sum as `add_powers` does, each pixel weighted by its value."""
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    along = np.empty(4)
    for run in range(runs.shape[0]):
        locate(runs[run, 0], shape, position)
        slot = runs[run, 3]
        start = runs[run, 0] * columns
        zeroth = 0.0
        first = 0.0
        second = 0.0
        third = 0.0
        for x in range(runs[run, 1], runs[run, 2]):
            value = float(values[(start + x) * channels + channel])
            distance = x - centers[slot, rank - 1]
            zeroth += value
            value *= distance
            first += value
            value *= distance
            second += value
            third += value * distance
        along[0] = zeroth
        along[1] = first
        along[2] = second
        along[3] = third
        add_product(along, position, leading, rank, centers, slot, powers)


@njit(nogil=True, cache=True)
def add_product(along, position, leading, rank, centers, slot, powers):
    """Multiply sums along the last axis by powers along the others, and add them up for a slot."""
    y = 0.0
    z = 0.0
    if rank > 1:
        y = position[leading + rank - 2] - centers[slot, rank - 2]
    if rank > 2:
        z = position[leading] - centers[slot, 0]
    to = 0
    deep = 1.0
    for _ in range(4 if rank > 2 else 1):
        tall = deep
        for _ in range(4 if rank > 1 else 1):
            for k in range(4):
                powers[slot, to + k] += tall * along[k]
            to += 4
            tall *= y
        deep *= z
