"""Lists of runs sorted by label, and labels shared among threads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import threads

from .caching import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .accumulate import Accumulator


def sort_runs(found: Accumulator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put the runs of each label together.

    Parameters
    ----------
    found : Accumulator
        One that keeps its runs.

    Returns
    -------
    starts : (N + 1,) array of int64
        Where the runs of each label begin.
    runs : (R, 3) array of int64
        Row, first column and last column + 1 of each; in raster order for each label.
    """
    counts = np.zeros(len(found.labels), np.int64)
    strips = [(strip.runs, slots) for strip, slots in listed_strips(found)]
    for runs, slots in strips:
        count_runs(runs, slots, counts)
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


def listed_strips(found: Accumulator) -> list[tuple[Any, NDArray[np.int64]]]:
    """List the strips of an image, each with the place among all labels of those that it has."""
    every = np.arange(len(found.labels))
    return [(strip, every[slots]) for strip, slots in zip(found.strips, found.slots, strict=True)]


def spans_of(starts: NDArray[np.int64], weight: int) -> list[tuple[int, int]]:
    """Cut labels into ranges for threads, of about as many entries each.

    Parameters
    ----------
    starts : (N + 1,) array of int64
        Where the entries of each label begin.
    weight : int
        Entries below which a thread is not worth waking.
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
def count_runs(runs, slots, counts):
    """Count the runs of each label.

    Parameters
    ----------
    runs : (N, 4) array of int64
        Row, first column, last column + 1 and slot, in raster order.
    slots : (labels,) array of int64
        The label of each slot, by its place among all labels.
    counts : (L,) array of int64
        Updated.
    """
    for run in range(runs.shape[0]):
        counts[slots[runs[run, 3]]] += 1


@njit(nogil=True, cache=True)
def gather_runs(runs, slots, ends, ordered):
    """Put the runs of each label together.

    Parameters
    ----------
    runs, slots
        As for `count_runs`.
    ends : (L,) array of int64
        Place behind the runs of each label that are known; updated.
    ordered : (R, 3) array of int64
        Row, first column and last column + 1; updated.
    """
    for run in range(runs.shape[0]):
        label = slots[runs[run, 3]]
        place = ends[label]
        ordered[place, 0] = runs[run, 0]
        ordered[place, 1] = runs[run, 1]
        ordered[place, 2] = runs[run, 2]
        ends[label] = place + 1
