"""Labels that lie across periodic boundaries: their coordinates, and their pieces, from runs.

Along a periodic axis, coordinates of a label may begin elsewhere than at the first pixel of the
image. Pixels before that form pieces, one for each set of axes along which they lie before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import njit

from . import run_counts
from .accumulate import Accumulator
from .sources import list_passes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array

    from .sources import Strip


def find_coordinates(found: Accumulator, wanted: NDArray[np.int64], axis: int) -> Array:
    """Return which coordinates along an axis the pixels of some labels have, (K, side).

    `found` must keep its runs; `wanted`, (K,), are rows of its table.
    """
    side, stride = found.sides[axis], _strides(found.sides)[axis]
    held = np.zeros((len(wanted), side), np.bool_)
    places = _places(found, wanted)
    for strip, slots in zip(found.strips, found.slots, strict=True):
        mark(strip.runs, stride, places[slots], held)
    return held


class Pieces(Accumulator):
    """Counts of labels, some of which are divided into pieces.

    The labels in rows `torn`, (K,), of the table of `found` are divided at `begins`, (K, axes), the
    coordinates at which their boxes begin; no run crosses these. `found` must keep its runs, and
    its strips are used up. `owners`, (M,), has the row of `found` to which each row of this table
    belongs: first come all labels, in order, then pieces. `moved`, (M, axes), tells along which
    axes a piece lies before the beginning.
    """

    def __init__(
        self, found: Accumulator, torn: NDArray[np.int64], begins: NDArray[np.int64]
    ) -> None:
        self.layout, self.sides = found.layout, found.sides
        self._shape, self._columns = found._shape, found._columns
        axes, whole = len(self.sides), len(found.labels)
        strides = np.array(_strides(self.sides), np.int64)
        sides = np.array(self.sides, np.int64)
        places = _places(found, torn)

        def part(strip: Strip, slots: Array) -> tuple[Strip, NDArray[np.int64]]:
            runs: Array = strip.runs
            lookup = np.zeros(len(torn) << axes, np.int32)
            keys = np.empty(min(len(runs), len(lookup)), np.int64)
            count = divide(
                runs, strides, sides, places[slots], begins, len(strip.ids), lookup, keys
            )
            table = np.zeros((len(strip.ids) + count, self.layout.width), np.int64)
            plan = list_passes(self.layout).plan
            run_counts.add_runs(runs, self._shape, sides, plan, table)
            ids = np.concatenate([np.arange(whole)[slots], whole + keys[:count]])
            return replace(strip, ids=ids, table=table), ids

        parts = threads.each(part, list(zip(found.strips, found.slots, strict=True)))
        self.strips = [strip for strip, _ in parts]
        ids = np.unique(np.concatenate([*(ids for _, ids in parts), np.arange(whole)]))
        self.slots = [np.searchsorted(ids, each) for _, each in parts]
        self.table = np.zeros((len(ids), self.layout.width), np.int64)
        lows, sums = self.layout.greatest.start, self.layout.greatest.stop
        for strip, slots in zip(self.strips, self.slots, strict=True):
            run_counts.add_table(self.table, slots, strip.table, lows, sums)
        self.labels = ids
        keys = ids[whole:] - whole
        self.owners = np.concatenate([np.arange(whole), torn[keys >> axes]])
        self.moved = np.zeros((len(ids), axes), np.bool_)
        self.moved[whole:] = keys[:, None] >> np.arange(axes) & 1


def _places(found: Accumulator, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row of a table its index among those wanted, or -1."""
    places = np.full(len(found.labels), -1)
    places[wanted] = np.arange(len(wanted))
    return places


def _strides(sides: tuple[int, ...]) -> list[int]:
    """Return how many rows a step along each axis takes; 0 along the last one."""
    rows = np.cumprod((1, *sides[-2:0:-1]))[::-1].tolist() if len(sides) > 1 else []
    return [*rows, 0]


@njit(nogil=True, cache=True)
def mark(runs, stride, places, held):
    """Mark the coordinates of the runs of some labels in `held`, (K, side).

    `runs` is (N, 4); `stride` is the number of rows from one coordinate to the next, 0 for columns.
    `places`, (slots,), has the row of `held` for each slot, or -1.
    """
    side = held.shape[1]
    for run in range(runs.shape[0]):
        place = places[runs[run, 3]]
        if place < 0:
            continue
        if stride > 0:
            held[place, runs[run, 0] // stride % side] = True
        else:
            held[place, runs[run, 1] : runs[run, 2]] = True


@njit(nogil=True, cache=True)
def divide(runs, strides, sides, places, begins, slots, lookup, keys):
    """Give the runs of pieces slots of their own, from `slots` on; return the number of pieces.

    `strides` and `sides` are (axes,), as of `_strides` and the image. `places`, (slots,), has the
    row of `begins`, (K, axes), for each slot, or -1. `lookup`, (K * 2 ** axes,), must hold zeros.
    `keys` gets, for each piece, its row of `begins` times 2 ** axes, plus a bit for each axis along
    which it lies before.
    """
    count = 0
    axes = strides.size
    for run in range(runs.shape[0]):
        place = places[runs[run, 3]]
        if place < 0:
            continue
        piece = np.int64(0)
        for axis in range(axes):
            coordinate = runs[run, 1]
            if strides[axis] > 0:
                coordinate = runs[run, 0] // strides[axis] % sides[axis]
            if coordinate < begins[place, axis]:
                piece |= np.int64(1) << axis
        if piece == 0:
            continue
        key = (place << axes) + piece
        slot = lookup[key]
        if slot == 0:
            keys[count] = key
            count += 1
            slot = count
            lookup[key] = slot
        runs[run, 3] = slots + slot - 1
    return count
