"""What is measured, and the counts of one strip of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.measuring.counts import Layout, steps_to
from equilabel.runs.cpu.run_table import AXES

from . import neighbor_bits, run_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.devices.jit import Kernel
    from equilabel.runs.cpu.run_table import RunTable


# ---- What is measured: an image of labels, or a table of labeled runs


class LabelSource:
    """The rows of a C-contiguous image of labels of 1 to 6 axes."""

    def __init__(self, labels: HostArray) -> None:
        self.sides = labels.shape
        self.shape, self.lengths = _sides_of(labels.shape)
        self.flat = labels.reshape(-1)

    def list_runs(
        self, steps: Array, rows: int, first: int, skip: int, span: Array, planes: Array
    ) -> Any:
        """Fill planes and list the runs of some rows, as `run_counts.runs_of_labels` does."""
        columns = self.sides[-1]
        return run_counts.runs_of_labels(
            self.flat, columns, self.shape, steps, rows, first, skip, span, planes
        )


@lru_cache(256)
def _sides_of(sides: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leading axes of an image, padded with ones in front to five, and its sides."""
    leading = (1,) * (AXES + 1 - len(sides)) + sides[:-1]
    return np.array(leading, np.int64), np.array(sides, np.int64)


class RunSource:
    """The rows of a run table after `number`; the image is not read.

    `full` tells whether pixels that share a corner have one label.
    """

    def __init__(self, table: RunTable, sides: tuple[int, ...], *, full: bool) -> None:
        self.sides = sides
        self.shape, self.lengths = _sides_of(sides)
        self.table = table
        self.full = full

    def suffices(self, layout: Layout, values: Array, *, moments: bool) -> bool:
        """Return whether runs tell all that is counted, so that no image of labels is needed.

        Neighbors can be compared where all that touch have one label.
        """
        compared = layout.compared
        told = not self.table.many and (self.full or compared == "faces")
        return compared == "none" or told

    def list_runs(
        self, steps: Array, rows: int, first: int, skip: int, span: Array, planes: Array
    ) -> Any:
        """Fill planes and list the runs of some rows, as `run_counts.runs_of_table` does."""
        runs, top = self.table.runs, first - skip
        bottom = top + len(planes)
        neighbor_bits.overlay(runs.bits, runs.starts, self.shape, steps, top, bottom, planes)
        return run_counts.runs_of_table(runs, len(steps), rows, first, skip, span, planes)


# ---- One strip of rows, from pixels to a table of its labels, and joining the tables of strips

ROOM = 16  # entries of a look-up table for each run, beyond which labels are sorted
FLOOR = 2**16  # entries that it may have in any case


@dataclass
class Strip:
    """What a strip of rows holds: its labels, in any order, their table, and its runs if kept.

    A run, (R, 4), is its row, first column, last column + 1 and slot, the row of the table.
    `continued` are runs in coordinates that continue across periodic boundaries.
    """

    ids: NDArray[np.int64]
    table: NDArray[np.int64]
    runs: NDArray[np.int64] | None
    continued: NDArray[np.int64] | None


@dataclass
class Passes:
    """Passes over a strip that a layout needs, and the planes of bits that they fill."""

    layout: Layout
    steps: NDArray[np.int64]
    planes: int
    entries: NDArray[np.int64]  # for `run_counts.add_planes`
    fills: list[tuple[Kernel, int]]  # kernels, and the first plane that each fills
    outline: int  # the first plane of classified border pixels, or 0

    @cached_property
    def plan(self) -> NDArray[np.int64]:
        """Rank, and the first columns of `first` and `seconds`, for `run_counts.add_runs`."""
        layout = self.layout
        first = layout["first"].start * layout.first
        return np.array([layout.rank, first, layout["seconds"].start * layout.seconds], np.int64)

    @cached_property
    def left(self) -> int:
        """Plane of the neighbor to the left."""
        return len(self.steps)


@lru_cache(64)
def list_passes(layout: Layout) -> Passes:
    """Return which planes are filled (foreground, steps, patterns) and what their bits count."""
    steps = steps_to(layout.rank, layout.compared)
    entries: list[tuple[int, int, int]] = []
    if layout.pairs != "none":
        plane_of = {tuple(step): 1 + k for k, step in enumerate(steps.tolist())}
        first = layout["pairs"].start
        entries += [(plane_of[tuple(s)], first + k, 1) for k, s in enumerate(layout.steps.tolist())]
    free = 1 + len(steps)
    fills: list[tuple[Kernel, int]] = []
    for group in ("euler_full", "euler_face"):
        if layout.widths[group]:
            kernel, signs = neighbor_bits.EULER[group]
            signs = signs if layout.rank > 2 else signs[:2]
            fills.append((kernel, free))
            column = layout[group].start
            entries += [(free + k, column, sign) for k, sign in enumerate(signs)]
            free += len(signs)
    outline = 0
    if layout.outline != "none":
        outline = free
        first = layout["outline"].start
        kinds = {
            "equal": [((0, 6),), ((1, 2),), ((0, 3), (1, 1))],
            "uneven": [
                ((1, 6),), ((0, 6),), ((0, 3), (1, 3)), ((0, 2), (1, 4)), ((0, 4), (1, 2)),
                ((2, 2),), ((1, 3), (2, 1)), ((0, 3), (2, 1)),
            ],
        }[layout.outline]  # fmt: skip
        for kind in kinds:
            entries += [(free, first + column, weight) for column, weight in kind]
            free += 1
    return Passes(layout, steps, free, np.array(entries, np.int64).reshape(-1, 3), fills, outline)


def measure_strip(
    source: LabelSource | RunSource,
    passes: Passes,
    first: int,
    last: int,
    kept: NDArray[np.bool_] | None,
    columns: tuple[int, int],
    keep: bool,
) -> Strip:
    """Measure one strip."""
    layout = passes.layout
    top, bottom = first, last
    if passes.outline:
        top, bottom = max(first - 1, 0), min(last + 2, prod(source.sides[:-1]))
    skip = first - top
    planes = np.empty((bottom - top, -(-source.sides[-1] // 64), passes.planes), np.uint64)
    runs, least, most = source.list_runs(passes.steps, last - first, first, skip, columns, planes)
    if len(runs) == 0:
        return Strip(np.empty(0, np.int64), np.empty((0, layout.width), np.int64), runs, runs)
    if kept is not None:
        runs = runs[kept[runs[:, 0]]]
    if least < 0:  # the caller reports it
        return Strip(np.array([least]), np.zeros((1, layout.width), np.int64), None, None)
    names = None
    if most - least >= ROOM * len(runs) + FLOOR:
        names, runs[:, 3] = np.unique(runs[:, 3], return_inverse=True)
        least, most = 0, len(names) - 1
    ids, table = run_counts.count_runs(
        runs, least, most, source.shape, source.lengths, passes.plan, layout.width
    )
    ids = ids if names is None else names[ids]
    _add_planes(passes, planes, (top, skip, skip + last - first), runs, table)
    runs = runs if keep else None
    return Strip(ids, table, runs, runs)


def _add_planes(
    passes: Passes, planes: Array, rows: tuple[int, int, int], runs: Array, table: Array
) -> None:
    """Fill the planes of patterns, and add what the bits of planes count to the runs above them.

    `rows` are the row of the first plane, and the first and last + 1 plane of the strip.
    """
    top, begin, end = rows
    for fill, plane in passes.fills:
        fill(planes, begin, end, passes.left, plane)
    if passes.outline:
        border = np.empty(planes.shape[:2], np.uint64)
        neighbor_bits.find_border(planes, border)
        uneven = passes.layout.outline == "uneven"
        neighbor_bits.classify(planes, border, begin, end, uneven, passes.outline)
    if len(passes.entries):
        run_counts.add_planes(runs, planes, top, passes.entries, table)


def rows_within(sides: tuple[int, ...], box: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return for each row whether it lies inside a box."""
    inside = np.zeros(sides[:-1], bool)
    inside[tuple(slice(*span) for span in box[:-1])] = True
    return inside.reshape(-1)


def join(
    strips: list[Strip], layout: Layout
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Array]]:
    """Add up the tables of strips; return labels, table, and the slots of each strip in it."""
    if not strips:
        return np.empty(0, np.int64), np.zeros((0, layout.width), np.int64), []
    if len(strips) == 1:
        return _in_order(strips[0])
    ids = np.concatenate([strip.ids for strip in strips])
    least, most = int(ids.min(initial=0)), int(ids.max(initial=-1))
    if least >= 0 and most < ROOM * len(ids) + FLOOR:
        occurs = np.zeros(most + 1, bool)
        occurs[ids] = True
        labels = np.flatnonzero(occurs).astype(np.int64, copy=False)
        index = np.cumsum(occurs) - 1
        slots = [index[strip.ids] for strip in strips]
    else:
        labels = np.unique(ids)
        slots = [np.searchsorted(labels, strip.ids) for strip in strips]
    table = np.zeros((len(labels), layout.width), np.int64)
    lows, sums = layout.greatest.start, layout.greatest.stop
    for strip, slot in zip(strips, slots, strict=True):
        run_counts.add_table(table, slot, strip.table, lows, sums)
    return labels, table, slots


def _in_order(strip: Strip) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Array]]:
    """Sort the labels of an image that is a single strip."""
    ids = strip.ids
    if len(ids) < 2 or bool((ids[1:] > ids[:-1]).all()):
        return ids, strip.table, [slice(None)]
    order = np.argsort(ids)
    slots = np.empty(len(ids), np.int64)
    slots[order] = np.arange(len(ids))
    return ids[order], strip.table[order], [slots]
