"""Sums over values, and over powers of coordinates."""

import numpy as np

from equilabel.devices.jit import njit
from equilabel.runs.cpu.run_table import AXES, locate

# ---- Sums of the values under runs
# A run is a row ``(row, begin, end, slot)`` of int64, as in `run_counts`; values, (pixels,), are
# those of one channel. A kernel is compiled anew for those that are not contiguous.


@njit(nogil=True, cache=True)
def add_values(runs, values, columns, sums, lows, highs):
    """Add the values of each label to sums, lows and highs, (labels,); NaN is kept."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        total = sums.dtype.type(0)
        least = lows[slot]
        most = highs[slot]
        odd = least
        for pixel in range(start + runs[run, 1], start + runs[run, 2]):
            value = values[pixel]
            total += value
            least = min(least, value)
            most = max(most, value)
            odd = value if value != value else odd
        sums[slot] += total
        lows[slot] = least if odd == odd else odd
        highs[slot] = most if odd == odd else odd


@njit(nogil=True, cache=True)
def add_small_values(runs, values, columns, sums, lows, highs, squares):
    """Do as `add_values` for integers of up to 16 bits, and sum their squares exactly, too."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        total = np.int64(0)
        square = np.int64(0)
        least = lows[slot]
        most = highs[slot]
        for pixel in range(start + runs[run, 1], start + runs[run, 2]):
            value = values[pixel]
            total += value
            square += np.int64(value) * np.int64(value)
            least = min(least, value)
            most = max(most, value)
        sums[slot] += total
        squares[slot] += square
        lows[slot] = least
        highs[slot] = most


@njit(nogil=True, cache=True)
def add_squares(runs, values, columns, centers, squares):
    """Add the squared distances of values from the center of their label."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        center = centers[slot]
        total = 0.0
        for x in range(runs[run, 1], runs[run, 2]):
            distance = values[start + x] - center
            total += distance * distance
        squares[slot] += total


# ---- Sums of powers of coordinates, plain or weighted by values


@njit(nogil=True, cache=True)
def add_powers(runs, shape, rank, centers, powers):
    """Add products of powers of coordinates, up to 3 along each of 1 to 3 spatial axes.

    Coordinates are relative to `centers`, (labels, rank). In `powers`, (labels, 4 ** rank),
    exponents of the last axis change first.
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
def add_weighted(runs, values, columns, shape, rank, centers, powers):
    """Add as `add_powers` does, each pixel weighted by its value."""
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
            value = float(values[start + x])
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
    """Multiply sums along the last axis by powers along the others, and add them to a slot."""
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
