"""Pixels of labels and of their holes on the CPU, from runs, in threads.

A hole is what cannot be left without crossing the label, not even at a corner: all other pixels are
background here, whatever their label. Between two runs of a row lies a gap; gaps of neighboring
rows that touch are united, and those that touch what is outside of the label are no holes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel import threads

from .caching import inlined, njit
from .sorted_runs import spans_of
from .union_find import find, unite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .accumulate import Accumulator
    from .caching import Kernel

RUNS = 2**14  # of labels, below which a thread is not worth waking
FAR = 2**62  # beyond any column
# Along the two axes before the last one.
FLAT = np.array([[0, -1], [0, 1]])
DEEP = np.array([[-1, -1], [-1, 0], [-1, 1], [0, -1], [0, 1], [1, -1], [1, 0], [1, 1]])


def fill_holes(
    found: Accumulator, starts: NDArray[np.int64], runs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the pixels of each label and of its holes.

    Parameters
    ----------
    found : Accumulator
        Of two or three spatial axes; no label lies in several images of a stack.
    starts, runs
        Its runs, from `sort_runs`.
    """
    filled = np.empty(len(found.labels), np.int64)
    tall = np.int64(found.sides[-2])
    steps = DEEP if found.layout.rank == 3 else FLAT
    kernel: Kernel = add_holes
    threads.each(
        lambda *span: kernel(runs, starts, tall, steps, span, filled), spans_of(starts, RUNS)
    )
    return filled


@njit(nogil=True, cache=True)
def add_holes(runs, starts, tall, steps, span, filled):
    """Count the pixels of some labels and of their holes.

    Parameters
    ----------
    runs : (R, 3) array of int64
        Row, first column and last column + 1, label by label, in raster order for each.
    starts : (N + 1,) array of int64
        Where the runs of each label begin.
    tall : int
        Rows of a plane.
    steps : (K, 2) array of int64
        Planes and rows to the neighbors of a row, in raster order: as many earlier as later ones.
    span : (int, int)
        Labels to look at.
    filled : (N,) array of int64
        Overwritten for these.
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
        # The gap before a run has the place of that run, and 0 stands for what is outside.
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
                    for run in range(first + 1, last):  # nothing of the label lies there
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
    """Unite the gaps of two neighboring rows that touch, those at both ends with what is outside.

    Parameters
    ----------
    begin : int
        First run of the label.
    mine, theirs : (int, int)
        Runs of the rows: the first one, and the one after the last.
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
