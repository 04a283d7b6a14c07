"""Runs sorted by label; holes of labels, and percentiles of their values."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.devices.cpu.union_find import find, unite
from equilabel.devices.jit import called, inlined, njit

from .accumulate import supported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .accumulate import Accumulator


# ---- Lists of runs sorted by label, and ranges of labels for threads


def sort_runs(found: Accumulator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the runs of each label begin, (N + 1,), and the sorted runs, (R, 3).

    A run is row, first column, last + 1, in raster order of each label. `found` keeps its runs.
    """
    every = np.arange(len(found.labels))
    strips: list[tuple[Any, NDArray[np.int64]]] = [
        (strip.runs, every[slots]) for strip, slots in zip(found.strips, found.slots, strict=True)
    ]
    counts = np.zeros(len(every), np.int64)
    for runs, slots in strips:
        counts += np.bincount(slots[runs[:, 3]], minlength=len(every))
    starts = starts_of(counts)
    ordered, ends = np.empty((starts[-1], 3), np.int64), starts[:-1].copy()
    for runs, slots in strips:
        gather_runs(runs, slots, ends, ordered)
    return starts, ordered


def starts_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the entries of each label begin, and where the last ones end."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def spans_of(starts: NDArray[np.int64], weight: int) -> list[tuple[int, int]]:
    """Cut labels, whose entries begin at `starts`, (N + 1,), into ranges of equal work for threads.

    Fewer than `weight` entries are not worth a thread.
    """
    labels, size = len(starts) - 1, int(starts[-1])
    pieces = min(size // weight, labels)
    pieces = min(4 * threads.available(), pieces) if pieces > 1 else 1
    if pieces == 1:
        return [(0, labels)]
    cuts = np.searchsorted(starts, np.arange(pieces + 1) * size // pieces)
    ends = sorted({0, labels, *np.minimum(cuts, labels).tolist()})
    return list(pairwise(ends))


@njit(nogil=True, cache=True)
def gather_runs(runs, slots, ends, ordered):
    """Sort runs, (N, 4), into `ordered`, (R, 3), by label; `slots` maps their slots to labels.

    `ends`, (L,), the end of the known runs of each label, is updated.
    """
    for run in range(runs.shape[0]):
        label = slots[runs[run, 3]]
        place = ends[label]
        ordered[place, 0] = runs[run, 0]
        ordered[place, 1] = runs[run, 1]
        ordered[place, 2] = runs[run, 2]
        ends[label] = place + 1


# ---- Pixels of labels and of their holes, from runs, in threads
# A hole is not connected to the outside of the label, not even at a corner; all other labels are
# background here. A gap lies between two runs of a row. Gaps of neighboring rows that touch are
# united, and those united with the outside are not holes.

RUNS = 2**14  # runs of labels that are worth a thread
FAR = 2**62  # beyond any column
# Steps to neighboring rows, along the two axes before the last one.
FLAT = np.array([[0, -1], [0, 1]])
DEEP = np.array([[-1, -1], [-1, 0], [-1, 1], [0, -1], [0, 1], [1, -1], [1, 0], [1, 1]])


def count_filled(
    found: Accumulator, starts: NDArray[np.int64], runs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the pixels of each label and of its holes; `starts` and `runs` are from `sort_runs`.

    There must be two or three spatial axes, and no label lies in several images of a stack.
    """
    filled = np.empty(len(found.labels), np.int64)
    tall = np.int64(found.sides[-2])
    steps = DEEP if found.layout.rank == 3 else FLAT
    threads.each(
        lambda *span: add_holes(runs, starts, tall, steps, span, filled), spans_of(starts, RUNS)
    )
    return filled


@njit(nogil=True, cache=True)
def add_holes(runs, starts, tall, steps, span, filled):
    """Count the pixels of some labels and of their holes.

    `runs` and `starts` as of `sort_runs`; a plane has `tall` rows. `steps`, (K, 2), are planes and
    rows to the neighbors of a row, in raster order, as many earlier as later ones. `filled`, (N,),
    is overwritten for the labels of `span`.
    """
    near = np.empty(steps.shape[0], np.int64)  # first run of each neighbor, or later
    for label in range(span[0], span[1]):
        begin, end = starts[label], starts[label + 1]
        pixels = np.int64(0)
        gaps = 0
        for run in range(begin, end):
            pixels += runs[run, 2] - runs[run, 1]
            gaps += run > begin and runs[run, 0] == runs[run - 1, 0]
        filled[label] = pixels
        if gaps == 0:
            continue
        # The gap before a run has the index of that run; 0 is the outside.
        parents = np.arange(end - begin)
        near[:] = begin
        first = begin
        while first < end:
            last = end_of_row(runs, first, end)
            row = runs[first, 0]
            for k in range(steps.shape[0]):
                other = row + steps[k, 0] * tall + steps[k, 1]
                beside = row % tall + steps[k, 1]
                while near[k] < end and runs[near[k], 0] < other:
                    near[k] += 1
                here = near[k]
                if beside < 0 or beside >= tall or here == end or runs[here, 0] != other:
                    for run in range(first + 1, last):  # the label has no pixels there
                        unite(parents, 0, run - begin)
                elif 2 * k < steps.shape[0]:
                    there = end_of_row(runs, here, end)
                    unite_gaps(runs, parents, begin, (first, last), (here, there))
            first = last
        for run in range(begin + 1, end):
            if runs[run, 0] == runs[run - 1, 0] and find(parents, run - begin) != 0:
                filled[label] += runs[run, 1] - runs[run - 1, 2]


@inlined
def end_of_row(runs, run, end):
    """Return the first run after one that is in another row."""
    row = runs[run, 0]
    while run < end and runs[run, 0] == row:
        run += 1
    return run


@inlined
def unite_gaps(runs, parents, begin, mine, theirs):
    """Unite the gaps of two neighboring rows that touch; those at both ends are the outside.

    `begin` is the first run of the label; `mine` and `theirs` the first and last + 1 of each row.
    """
    one, other = mine[0], theirs[0]
    while one <= mine[1] and other <= theirs[1]:
        low = -FAR if one == mine[0] else runs[one - 1, 2]
        high = FAR if one == mine[1] else runs[one, 1]
        least = -FAR if other == theirs[0] else runs[other - 1, 2]
        most = FAR if other == theirs[1] else runs[other, 1]
        if low <= most and least <= high:
            unite(
                parents,
                0 if low == -FAR or high == FAR else one - begin,
                0 if least == -FAR or most == FAR else other - begin,
            )
        if high < most:
            one += 1
        else:
            other += 1


# ---- Percentiles of the values under each label, from runs, in threads

PIXELS = 2**15  # pixels of labels that are worth a thread
FEW = 512  # pixels up to which selecting small integers is faster than counting


def find_percentiles(
    found: Accumulator,
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    values: HostArray,
    percents: tuple[int, ...],
) -> dict[int, NDArray[np.float64]]:
    """Return percentiles of the values of each label, (N, C), as NumPy does; 50 is its median.

    `starts` and `runs` are from `sort_runs`; `values` is (P, C).
    """
    kind, values = values.dtype, supported(values)
    whole = kind.kind != "f"
    small = whole and values.itemsize <= 2
    least = np.int64(np.iinfo(values.dtype).min if small else 0)
    few = np.int64(FEW if small else values.size)
    out = np.empty((len(percents), len(found.labels), values.shape[1]))
    asked = np.int64(found.sides[-1]), values.reshape(-1), (whole, few, least)
    shares = np.array(percents) / 100
    spans = spans_of(starts_of(runs[:, 2] - runs[:, 1])[starts], PIXELS)
    threads.each(lambda *span: add_percentiles(runs, starts, *asked, shares, span, out), spans)
    each = dict(zip(percents, out, strict=True))
    if kind == np.float16 and 50 in each:  # as in NumPy, the mean of two has the type of the values
        each[50] = each[50].astype(np.float16).astype(np.float64)
    return each


@called
def most_pixels(runs, starts, span):
    """Return the pixels of the largest of some labels."""
    most = 0
    for label in range(span[0], span[1]):
        pixels = 0
        for run in range(starts[label], starts[label + 1]):
            pixels += runs[run, 2] - runs[run, 1]
        most = max(most, pixels)
    return most


@njit(nogil=True, cache=True)
def add_percentiles(runs, starts, columns, values, kind, shares, span, out):
    """Find percentiles, (Q, N, C), of labels in `span`; `runs` and `starts` as of `sort_runs`.

    `values` are (P * C,). `kind`: whether they are whole (the mean of two floats is of their type),
    up to how many pixels they are not counted, and the least value of the type. `shares` are (Q,);
    0.5 is the median.
    """
    whole, few, least = kind
    channels, counts = out.shape[2], np.empty(256, np.int64)
    room = np.empty(most_pixels(runs, starts, span), values.dtype)
    mean = np.empty(1, values.dtype)
    for label in range(span[0], span[1]):
        for channel in range(channels):
            size = gather(runs, starts, label, columns, channels, channel, values, room)
            for k in range(shares.size):
                if size == 0:
                    out[k, label, channel] = np.nan
                    continue
                place = shares[k] * (size - 1)
                first = int(place)
                after = first + 1 if place > first else first
                if size > few:
                    low = room.dtype.type(nth_small(room, size, first, least, counts))
                    high = low
                    if after > first:
                        high = room.dtype.type(nth_small(room, size, after, least, counts))
                else:
                    select(room, size, first)
                    low, high = room[first], room[after]
                    for i in range(after + 1, size if after > first else 0):
                        high = min(high, room[i])
                if shares[k] != 0.5 or after == first:
                    out[k, label, channel] = low
                    if high != low:  # infinite values have no difference
                        out[k, label, channel] += (high - np.float64(low)) * (place - first)
                elif whole:
                    out[k, label, channel] = (np.float64(low) + np.float64(high)) / 2
                else:
                    mean[0] = low + high
                    out[k, label, channel] = np.float64(mean[0]) / 2


@called
def select(room, size, wanted):
    """Swap values until none before the index `wanted` is greater, and none after it is less.

    C. A. R. Hoare, Commun. ACM 4 (1961) 321; numba's sorting takes seconds to compile. Values are
    divided at the median of three, at places that change: no regular image makes it slow.
    """
    low, high, seed = 0, size - 1, 1
    while low < high:
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        shift = seed % ((high - low) // 2 + 1)
        one, two, three = room[low + shift], room[(low + high) >> 1], room[high - shift]
        pivot = max(min(one, two), min(max(one, two), three))
        left, right = low, high
        while left <= right:
            while room[left] < pivot:
                left += 1
            while room[right] > pivot:
                right -= 1
            if left <= right:
                room[left], room[right] = room[right], room[left]
                left += 1
                right -= 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            return


@called
def gather(runs, starts, label, columns, channels, channel, values, room):
    """Copy the values of a label in a channel to `room`; return how many, 0 if one is missing."""
    size, missing = 0, False
    for run in range(starts[label], starts[label + 1]):
        place = (runs[run, 0] * columns + runs[run, 1]) * channels + channel
        for _ in range(runs[run, 2] - runs[run, 1]):
            value = values[place]
            missing = missing or value != value
            room[size] = value
            size += 1
            place += channels
    return 0 if missing else size


@called
def nth_small(room, size, wanted, least, counts):
    """Return the integer of up to 16 bits at an index in ascending order, by counting its bytes."""
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
