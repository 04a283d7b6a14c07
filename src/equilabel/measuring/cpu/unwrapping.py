"""Objects across periodic boundaries: their shortest boxes, and counts in one piece.

Along a periodic axis the bounding box of an object is the shortest interval that contains it. It
begins inside the image and may end beyond; coordinates before its beginning are increased by one
side of the image. Neighbors are compared in an image that is continued across its boundaries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.measuring.counts import Layout

from . import run_counts
from .accumulate import Accumulator
from .sources import LabelSource, join, list_passes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

ROOM = 2**24  # coordinates of labels that are looked at at once
COMPARED = ("pairs", "euler_face", "euler_full", "outline")  # groups that follow from neighbors


class Unwrapped(Accumulator):
    """Counts of every label in coordinates that continue across boundaries.

    A negative label is reported in `labels` and must not be used; boxes in `table` may end beyond
    the image.
    """

    def __init__(self, image: HostArray, layout: Layout, periodic: tuple[bool, ...]) -> None:
        plain = Layout(layout.axes, layout.stacked, seconds=layout.seconds)
        super().__init__(LabelSource(image), plain, keep=True)
        table = np.zeros((len(self.labels), layout.width), np.int64)
        if len(self.labels) and self.labels[0] >= 0:
            begins = self.sides - self.table[:, plain["lows"]]
            ends = self.table[:, plain["highs"]].copy()
            self._shorten(begins, ends, np.flatnonzero(periodic))
            torn = (ends > self.sides).any(axis=1)
            if torn.any():
                self._continue(np.where(torn[:, None], begins, 0))
            table[:, : plain.width] = self.table  # `first` is not asked of periodic images
            table[:, layout["lows"]] = self.sides - begins
            table[:, layout["highs"]] = ends
            if layout.compared != "none":
                _compare(image, layout, periodic, table)
        self.table = table

    def _shorten(
        self, begins: NDArray[np.int64], ends: NDArray[np.int64], axes: NDArray[np.int64]
    ) -> None:
        """Replace boxes, (N, axes), by the shortest ones: only long boxes can become shorter."""
        for axis in axes.tolist():
            side = self.sides[axis]
            long = np.flatnonzero(2 * (ends[:, axis] - begins[:, axis]) > side + 2)
            each = max(1, ROOM // side)
            for start in range(0, len(long), each):
                some = long[start : start + each]
                begin, length = shortest_intervals(self._coordinates(some, axis))
                begins[some, axis], ends[some, axis] = begin, begin + length

    def _coordinates(self, wanted: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
        """Return which coordinates along an axis the pixels of some labels have, (K, side)."""
        changes = np.zeros((len(wanted), self.sides[axis] + 1), np.int32)
        for places, runs in self._runs_of(wanted):
            if axis == len(self.sides) - 1:
                np.add.at(changes, (places, runs[:, 1]), 1)
                np.add.at(changes, (places, runs[:, 2]), -1)
            else:
                changes[places, self._rows(runs)[axis]] = 1
        held = changes[:, :-1]
        return (held.cumsum(axis=1) if axis == len(self.sides) - 1 else held) > 0

    def _continue(self, first: NDArray[np.int64]) -> None:
        """Count again with coordinates before `first`, (N, axes), increased by a side."""
        sides, every = np.array(self.sides), np.arange(len(self.labels))
        doubled, plan = 2 * sides, list_passes(self.layout).plan
        shape = self._shape.copy()
        shape[len(shape) + 1 - len(sides) :] = doubled[:-1]
        for k, (strip, slots) in enumerate(zip(self.strips, self.slots, strict=True)):
            runs: Array = strip.runs
            continued = runs.copy()
            continued[:, 0] = 0
            for axis, at in enumerate((*self._rows(runs), runs[:, 1])):
                least, step = first[every[slots], axis], self.sides[axis]
                ahead: Any = (at < least[runs[:, 3]]) * step if least.any() else 0
                if axis < len(sides) - 1:
                    continued[:, 0] = continued[:, 0] * doubled[axis] + at + ahead
                elif least.any():
                    continued[:, 1:3] += ahead[:, None]
            table = np.zeros_like(strip.table)
            run_counts.add_runs(continued, shape, doubled, plan, table)
            self.strips[k] = replace(strip, table=table, continued=continued)
        self._shape = shape
        self.labels, self.table, self.slots = join(self.strips, self.layout)


def _compare(
    image: HostArray, layout: Layout, periodic: tuple[bool, ...], table: NDArray[np.int64]
) -> None:
    """Fill the columns that follow from neighbors."""
    margin = 1 + (layout.outline != "none")
    widths = [margin * around for around in periodic]
    box = [(width, width + side) for width, side in zip(widths, image.shape, strict=True)]
    image = np.pad(image, [(width, width) for width in widths], mode="wrap")
    layout_here = replace(layout, first=False, seconds=False)
    found = Accumulator(LabelSource(image), layout_here, box=box)
    for group in COMPARED:
        table[:, layout[group]] = found.table[:, layout_here[group]]


def shortest_intervals(held: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return begins and lengths of the shortest intervals around a circle that contain all places.

    Of several, the first one. Each row of `held`, (K, side), has at least one place.

    >>> rows = np.array([[1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1] * 6])
    >>> begins, lengths = shortest_intervals(rows > 0)
    >>> begins.tolist(), lengths.tolist()
    ([5, 1, 0, 0], [3, 2, 4, 6])
    """
    side = held.shape[1]
    rows, places = np.nonzero(held)
    firsts = np.searchsorted(rows, np.arange(len(held)))
    lasts = np.append(firsts[1:], len(rows)) - 1
    following = np.append(places[1:], 0)
    following[lasts] = places[firsts] + side
    gaps = following - places - 1
    begins = following % side
    widest = np.lexsort((begins, -gaps, rows))[firsts]
    return begins[widest], side - gaps[widest]
