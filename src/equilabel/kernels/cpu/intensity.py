"""Passes that sum the values under the pixels of runs.

A run is a row ``(row, begin, end, slot)`` of int64, as `run_lists` makes it; the slot is the index
of its label among those of the list.
"""

import numpy as np

from .caching import njit


@njit(nogil=True, cache=True)
def add_values(runs, values, columns, channels, channel, sums, lows, highs):
    """Sum the values of each label, and find the least and greatest.

    Parameters
    ----------
    values : (pixels * channels,) array of int or float
    channel : int
        Which of the channels, which stand side by side.
    sums, lows, highs : (labels,) arrays
        Updated. NaN is kept.
    """
    for run in range(runs.shape[0]):
        first = (runs[run, 0] * columns + runs[run, 1]) * channels + channel
        last = (runs[run, 0] * columns + runs[run, 2]) * channels
        slot = runs[run, 3]
        total = sums.dtype.type(0)
        least = lows[slot]
        most = highs[slot]
        odd = least
        if channels == 1:  # a loop of steps of 1 takes several values at once
            for element in range(first, last):
                value = values[element]
                total += value
                least = min(least, value)
                most = max(most, value)
                odd = value if value != value else odd
        else:
            for element in range(first, last, channels):
                value = values[element]
                total += value
                least = min(least, value)
                most = max(most, value)
                odd = value if value != value else odd
        sums[slot] += total
        lows[slot] = least if odd == odd else odd
        highs[slot] = most if odd == odd else odd


@njit(nogil=True, cache=True)
def add_small_values(runs, values, columns, channels, channel, sums, lows, highs, squares):
    """Do as `add_values` for integers of up to 16 bits, and sum their squares exactly too."""
    for run in range(runs.shape[0]):
        first = (runs[run, 0] * columns + runs[run, 1]) * channels + channel
        last = (runs[run, 0] * columns + runs[run, 2]) * channels
        slot = runs[run, 3]
        total = np.int64(0)
        square = np.int64(0)
        least = lows[slot]
        most = highs[slot]
        if channels == 1:
            for element in range(first, last):
                value = values[element]
                total += value
                square += np.int64(value) * np.int64(value)
                least = min(least, value)
                most = max(most, value)
        else:
            for element in range(first, last, channels):
                value = values[element]
                total += value
                square += np.int64(value) * np.int64(value)
                least = min(least, value)
                most = max(most, value)
        sums[slot] += total
        squares[slot] += square
        lows[slot] = least
        highs[slot] = most


@njit(nogil=True, cache=True)
def add_squares(runs, values, columns, channels, channel, centers, squares):
    """Sum the squared distances of values from the center of their label."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        center = centers[slot]
        total = 0.0
        for x in range(runs[run, 1], runs[run, 2]):
            distance = values[(start + x) * channels + channel] - center
            total += distance * distance
        squares[slot] += total
