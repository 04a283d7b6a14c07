"""Medians of the values under each label on the CPU, from runs, in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel import threads

from .caching import called, njit
from .sorted_runs import spans_of, starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .accumulate import Accumulator
    from .caching import Kernel

PIXELS = 2**15  # below which a thread is not worth waking
FEW = 512  # pixels up to which comparing small integers is quicker than counting them


def find_medians(
    found: Accumulator,
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    values: HostArray,
) -> NDArray[np.float64]:
    """Find the median of the values of each label, as `numpy.median` defines it.

    Parameters
    ----------
    found : Accumulator
    starts, runs
        Its runs, from `sort_runs`.
    values : (P, C) array of number
        Values of every pixel in each channel.

    Returns
    -------
    (N, C) array of float64
    """
    kind = values.dtype
    if kind.kind == "b":
        values = values.view(np.uint8)
    elif kind.itemsize > 8 or kind == np.float16:
        values = values.astype(np.float32 if kind == np.float16 else np.float64)
    values = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False))
    pixels = starts_of(runs[:, 2] - runs[:, 1])[starts]
    medians = np.empty((len(found.labels), values.shape[1]))
    columns, flat, whole = np.int64(found.sides[-1]), values.reshape(-1), kind.kind != "f"
    small = whole and values.itemsize <= 2
    least = np.int64(np.iinfo(values.dtype).min if small else 0)
    few = np.int64(FEW if small else values.size)
    kernel: Kernel = add_medians
    threads.each(
        lambda *span: kernel(runs, starts, columns, flat, (whole, few, least), span, medians),
        spans_of(pixels, PIXELS),
    )
    if kind == np.float16:  # the mean of two has the type of the values
        return medians.astype(np.float16).astype(np.float64)
    return medians


@njit(nogil=True, cache=True)
def add_medians(runs, starts, columns, values, kind, span, medians):
    """Find the medians of some labels.

    Parameters
    ----------
    runs : (R, 3) array of int64
        Row, first column and last column + 1, label by label.
    starts : (N + 1,) array of int64
        Where the runs of each label begin.
    columns : int
        Of the image.
    values : (P * C,) array of number
    kind : (bool, int, int)
        Whether these are integers (the mean of two floats is a float of their type); up to how many
        pixels they are compared, and not counted; the least that the type has.
    span : (int, int)
        Labels to look at.
    medians : (N, C) array of float64
        Overwritten for these.
    """
    whole, few, least = kind
    channels = medians.shape[1]
    most = 0
    for label in range(span[0], span[1]):
        pixels = 0
        for run in range(starts[label], starts[label + 1]):
            pixels += runs[run, 2] - runs[run, 1]
        most = max(most, pixels)
    room, counts = np.empty(most, values.dtype), np.empty(256, np.int64)
    for label in range(span[0], span[1]):
        for channel in range(channels):
            size = 0
            missing = False
            for run in range(starts[label], starts[label + 1]):
                place = (runs[run, 0] * columns + runs[run, 1]) * channels + channel
                for _ in range(runs[run, 2] - runs[run, 1]):
                    value = values[place]
                    missing = missing or value != value
                    room[size] = value
                    size += 1
                    place += channels
            if missing:
                medians[label, channel] = np.nan
                continue
            middle = size >> 1
            if size > few:
                upper = nth_small(room, size, middle, least, counts)
                lower = upper if size & 1 else nth_small(room, size, middle - 1, least, counts)
                medians[label, channel] = (upper + lower) / 2
                continue
            select(room, size, middle)
            upper = room[middle]
            if size & 1:
                medians[label, channel] = upper
                continue
            lower = room[0]
            for k in range(1, middle):
                lower = max(lower, room[k])
            if whole:
                medians[label, channel] = (np.float64(lower) + np.float64(upper)) / 2
            else:
                room[0] = lower + upper
                medians[label, channel] = np.float64(room[0]) / 2


@called
def nth_small(room, size, wanted, least, counts):
    """Return the integer of up to 16 bits that comes at a place in ascending order: by counting."""
    high = 0
    for shift in (8, 0):
        counts[:] = 0
        for k in range(size):
            key = np.int64(room[k]) - least
            if shift == 8 or key >> 8 == high:
                counts[(key >> shift) & 255] += 1
        digit = 0
        while counts[digit] <= wanted:
            wanted -= counts[digit]
            digit += 1
        if shift == 0:
            return (high << 8) + digit + least
        high = digit
    return least


@called
def select(room, size, wanted):
    """Bring the value that comes at a place in ascending order there, and none after it before.

    Hoare's selection: what is around a pivot, the median of three, is swapped from both ends.
    """
    low, high = 0, size - 1
    while low < high:
        one, two, three = room[low], room[(low + high) >> 1], room[high]
        pivot = max(min(one, two), min(max(one, two), three))
        i, j = low, high
        while i <= j:
            while room[i] < pivot:
                i += 1
            while room[j] > pivot:
                j -= 1
            if i <= j:
                room[i], room[j] = room[j], room[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            return
