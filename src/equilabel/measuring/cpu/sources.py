"""What is measured, and the counts of one strip of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.measuring.counts import Layout, steps_to
from equilabel.runs.cpu.run_table import AXES
from equilabel.runs.cpu.serial import is_worth_compiling

from . import neighbor_bits, run_counts
from .run_counts import FLOOR, ROOM, measure_image

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

    def fill(self, steps: NDArray[np.int64], first: int, last: int, planes: Array) -> None:
        """Compare pixels of some rows with earlier neighbors."""
        columns = self.sides[-1]
        neighbor_bits.compare(self.flat, columns, self.shape, steps, first, last, planes)

    def list(
        self, planes: Array, left: int, first: int, skip: int, span: Array, runs: Array
    ) -> Any:
        """List the runs of some rows, and return their smallest and largest label."""
        columns = self.sides[-1]
        return run_counts.list_runs(self.flat, columns, span, planes, left, first, skip, runs)


@lru_cache(256)
def _sides_of(sides: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leading axes of an image, padded with ones in front to five, and its sides."""
    leading = (1,) * (AXES + 1 - len(sides)) + sides[:-1]
    return np.array(leading, np.int64), np.array(sides, np.int64)


class RunSource:
    """The rows of a run table after `number`; the image is not read.

    `full` tells whether pixels that share a corner have one label. If not, labels of such pixels
    are looked up where other neighbors do not decide.
    """

    def __init__(self, table: RunTable, sides: tuple[int, ...], *, full: bool) -> None:
        self.sides = sides
        self.shape = table.runs.shape
        self.table = table
        self.full = full

    def suffices(self, layout: Layout, values: Array, *, moments: bool) -> bool:
        """Return whether runs tell all that is counted, so that no image of labels is needed.

        Neighbors can be compared unless the foreground has many values.
        """
        return layout.compared == "none" or not self.table.many

    def fill(self, steps: NDArray[np.int64], first: int, last: int, planes: Array) -> None:
        """Compare pixels of some rows with earlier neighbors."""
        if not self.table.many:
            neighbor_bits.overlay(self.table.runs.bits, self.shape, steps, first, last, planes)
            if not self.full:
                neighbor_bits.separate(self.table.runs, steps, first, last, planes)
        else:
            neighbor_bits.divide(self.table.runs.bits, self.table.runs.starts, first, last, planes)

    def list(
        self, planes: Array, left: int, first: int, skip: int, span: Array, runs: Array
    ) -> Any:
        """List the runs of some rows, and return their smallest and largest label."""
        return run_counts.list_joined(self.table.runs, planes, left, first, skip, runs)


# ---- One strip of rows, from pixels to a table of its labels, and joining the tables of strips

SMALL = 2**16  # pixels up to which an image is measured in a single call


@dataclass
class Strip:
    """What a strip of rows holds: its labels, in any order, their table, and its runs if kept.

    A run, (R, 4), is its row, first column, last column + 1 and slot, the row of the table.
    """

    ids: NDArray[np.int64]
    table: NDArray[np.int64]
    runs: NDArray[np.int64] | None


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
        """Width of the table, planes, columns of first pixels and of products (or 0), and rank."""
        layout = self.layout
        first = layout["first"].start * layout.first
        seconds = layout["seconds"].start * layout.seconds
        return np.array([layout.width, self.planes, first, seconds, layout.rank], np.int64)

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
            kernel, count = neighbor_bits.EULER[group, layout.rank]
            fills.append((kernel, free))
            column, plus = layout[group].start, layout.rank - 1
            entries += [(free + k, column, 1 if k < plus else -1) for k in range(count)]
            free += count
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
    source.fill(passes.steps, top, bottom, planes)
    count = neighbor_bits.count_starts(planes, skip, skip + last - first, passes.left, *columns)
    runs = np.empty((count, 4), np.int64)
    if count == 0:
        return Strip(np.empty(0, np.int64), np.empty((0, layout.width), np.int64), runs)
    least, most = source.list(planes, passes.left, first, skip, columns, runs)
    if kept is not None:
        runs = runs[kept[runs[:, 0]]]
    if least < 0:  # the caller reports it
        return Strip(np.array([least]), np.zeros((1, layout.width), np.int64), None)
    if most - least < ROOM * count + FLOOR:
        ids = np.empty(len(runs), np.int64)
        lookup = np.zeros(most - least + 1, np.int32)
        ids = ids[: run_counts.assign_slots(runs, least, lookup, ids)].copy()
    else:
        ids, runs[:, 3] = np.unique(runs[:, 3], return_inverse=True)
    table = np.zeros((len(ids), layout.width), np.int64)
    sides = np.array(source.sides, np.int64)
    run_counts.add_extents(runs, source.shape, sides, layout.axes, table)
    if layout.first:
        column = layout["first"].start
        run_counts.add_first(runs, sides[-1], prod(source.sides), column, table)
    if layout.seconds:
        column = layout["seconds"].start
        run_counts.add_products(runs, source.shape, layout.rank, column, table)
    _add_planes(passes, planes, (top, skip, skip + last - first), runs, table)
    return Strip(ids, table, runs if keep else None)


def measure_at_once(source: LabelSource, passes: Passes, keep: bool) -> Strip | None:
    """Measure a small image of labels in a single call; None if it must be done in strips."""
    asked = source.flat, source.shape, source.lengths, passes.steps, passes.plan
    if not is_worth_compiling(measure_image, asked):
        return None
    least, sparse, planes, runs, ids, table = measure_image(*asked)
    if least < 0 or sparse:
        return None
    if len(runs):
        _add_planes(passes, planes, (0, 0, len(planes)), runs, table)
    return Strip(ids, table, runs if keep else None)


def _add_planes(
    passes: Passes, planes: Array, rows: tuple[int, int, int], runs: Array, table: Array
) -> None:
    """Fill the planes of patterns, and add what the bits of planes count to the runs above them.

    `rows` are the row of the first plane, and the first and last + 1 plane of the strip.
    """
    top, begin, end = rows
    for fill, plane in passes.fills:
        fill(planes, begin, end, plane)
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
