"""One strip of rows, from pixels to a table of its labels; and what joins the tables of strips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.kernels.layout import Layout, steps_to

from . import comparing, configuring, joining, listing, outlining, separating, tallying, threads
from .packing import AXES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .runs import RunTable

DENSE = 4  # entries of tables for each label and thread that each pixel may cost
ROOM = 16  # entries of a look-up table that each run may cost before labels are sorted instead
FLOOR = 2**16  # entries that it may have in any case


class LabelSource:
    """The rows of an image of labels.

    Parameters
    ----------
    labels : C-contiguous array of int, 1 to 6 axes
    """

    def __init__(self, labels: NDArray[Any]) -> None:
        self.sides = labels.shape
        self.shape = np.array((1,) * (AXES + 1 - labels.ndim) + labels.shape[:-1], np.int64)
        self.flat = labels.reshape(-1)

    def fill(self, steps: NDArray[np.int64], first: int, last: int, planes: Any) -> None:
        """Compare pixels of some rows with earlier neighbors."""
        kernel: Any = comparing.compare
        kernel(self.flat, self.sides[-1], self.shape, steps, first, last, planes)

    def list(self, planes: Any, left: int, first: int, skip: int, span: Any, runs: Any) -> Any:
        """List the runs of some rows, and return their least and greatest label."""
        columns = self.sides[-1]
        kernel: Any = listing.list_runs
        return kernel(self.flat, columns, planes, left, first, skip, *span, runs)


class RunSource:
    """The rows of a run table whose runs have their labels: nothing is read of the image.

    Neighbors are compared as pixels; labels are looked up where these leave it open, which is
    where pixels touch that do not connect.

    Parameters
    ----------
    table : RunTable
        After `equilabel.kernels.cpu.runs.number`.
    sides : tuple of int
        Shape of the image.
    full : bool
        Whether pixels that share a corner have one label.
    """

    def __init__(self, table: RunTable, sides: tuple[int, ...], *, full: bool) -> None:
        self.sides = sides
        self.shape = table.shape
        self.table = table
        self.full = full

    def suffices(self, layout: Layout, values: Any, *, moments: bool) -> bool:
        """Tell whether runs tell all that is counted, so that no image of labels is needed.

        Neighbors can be compared unless their values matter; all sums over pixels follow.
        """
        return layout.compared == "none" or not self.table.many

    def fill(self, steps: NDArray[np.int64], first: int, last: int, planes: Any) -> None:
        """Compare pixels of some rows with earlier neighbors."""
        if not self.table.many:
            comparing.overlay(self.table.bits, self.shape, steps, first, last, planes)
            if not self.full:
                separating.separate(
                    self.table.starts, self.table.first, self.table.parents, *self.table.geometry,
                    steps, first, last, planes,
                )  # fmt: skip
        else:
            comparing.divide(self.table.bits, self.table.starts, first, last, planes)

    def list(self, planes: Any, left: int, first: int, skip: int, span: Any, runs: Any) -> Any:
        """List the runs of some rows, and return their least and greatest label."""
        table = self.table
        kernel: Any = listing.list_joined
        return kernel(
            table.starts, table.first, table.parents, *table.geometry,
            planes, left, first, skip, runs,
        )  # fmt: skip


@dataclass
class Strip:
    """What one strip of rows adds.

    Attributes
    ----------
    ids : (n,) array of int64
        Its labels, in any order.
    table : (n, width) array of int64
    runs : (R, 4) array of int64
        Row, first column, last column + 1 and line of `table`; kept if they are needed again.
    """

    ids: NDArray[np.int64]
    table: NDArray[np.int64]
    runs: NDArray[np.int64] | None


def add_joined(rows: RunSource, layout: Layout) -> tuple[Any, Any]:
    """Count places alone, in a table for each thread: nothing else is held."""
    table = rows.table
    count = int(table.parents[: table.counts[-1]].max(initial=0))
    size = prod(rows.sides)
    worth = max(1, DENSE * size // ((count + 1) * layout.width))
    spans = table.pieces()
    pieces = max(1, min(threads.available(), len(spans), worth))
    ends = [spans[len(spans) * piece // pieces][0] for piece in range(pieces)]
    ends.append(len(table.starts))
    sides = np.array(rows.sides, np.int64)
    parts = [np.zeros((count + 1, layout.width), np.int64) for _ in range(pieces)]
    kernel: Any = joining.add_joined
    met = threads.each(
        lambda piece: kernel(
            table.bits, table.starts, table.first, table.parents, *table.geometry,
            ends[piece], ends[piece + 1], sides, layout.axes, layout.widths["pairs"], parts[piece],
        ),
        [(piece,) for piece in range(pieces)],
    )  # fmt: skip
    whole = parts[0]
    lows, sums = layout.greatest.start, layout.greatest.stop
    for (least, most), part in zip(met[1:], parts[1:], strict=True):
        lines = np.arange(least, most + 1)
        tallying.add_table(whole, lines, part[least : most + 1], lows, sums)
    return np.arange(1, count + 1, dtype=np.int64), whole[1:]


@dataclass
class Plan:
    """What a strip has to do for a layout."""

    layout: Layout
    steps: NDArray[np.int64]
    planes: int
    entries: NDArray[np.int64]
    fills: list[tuple[Callable[..., Any], int]]
    outline: int  # plane from which border pixels are sorted, or 0

    @cached_property
    def left(self) -> int:
        """Plane of the neighbor to the left."""
        return len(self.steps)


@lru_cache(64)
def make_plan(layout: Layout) -> Plan:
    """Lay out planes: foreground, steps, configurations; and what their bits count."""
    steps = steps_to(layout.rank, layout.compared)
    entries: list[tuple[int, int, int]] = []
    if layout.pairs != "none":
        place = {tuple(step): 1 + k for k, step in enumerate(steps.tolist())}
        first = layout["pairs"].start
        entries += [(place[tuple(s)], first + k, 1) for k, s in enumerate(layout.steps.tolist())]
    free = 1 + len(steps)
    fills: list[tuple[Callable[..., Any], int]] = []
    deep = layout.rank == 3
    for group, kernel, count, plus in (
        ("euler_full", _euler("full", deep), (configuring.FULL_2D, configuring.FULL_3D)[deep],
         1 + deep),
        ("euler_face", _euler("face", deep), (configuring.FACE_2D, configuring.FACE_3D)[deep],
         1 + deep),
    ):  # fmt: skip
        if layout.widths[group]:
            fills.append((kernel, free))
            column = layout[group].start
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
    return Plan(layout, steps, free, np.array(entries, np.int64).reshape(-1, 3), fills, outline)


def _euler(kind: str, deep: bool) -> Callable[..., Any]:
    kernel: Callable[..., Any] = getattr(configuring, f"euler_{kind}_{3 if deep else 2}d")
    return kernel


def measure_strip(
    rows: LabelSource | RunSource,
    plan: Plan,
    first: int,
    last: int,
    kept: NDArray[np.bool_] | None,
    columns: tuple[int, int],
    keep: bool,
) -> Strip:
    """Measure one strip."""
    layout = plan.layout
    top, bottom = first, last
    if plan.outline:
        top, bottom = max(first - 1, 0), min(last + 2, prod(rows.sides[:-1]))
    skip = first - top
    planes = np.empty((bottom - top, -(-rows.sides[-1] // 64), plan.planes), np.uint64)
    rows.fill(plan.steps, top, bottom, planes)
    count = comparing.count_starts(planes, skip, skip + last - first, plan.left, *columns)
    runs = np.empty((count, 4), np.int64)
    if count == 0:
        return Strip(np.empty(0, np.int64), np.empty((0, layout.width), np.int64), runs)
    least, most = rows.list(planes, plan.left, first, skip, columns, runs)
    if kept is not None:
        runs = runs[kept[runs[:, 0]]]
    if least < 0:  # let it come to the caller's eyes
        return Strip(np.array([least]), np.zeros((1, layout.width), np.int64), None)
    if most - least < ROOM * count + FLOOR:
        ids = np.empty(len(runs), np.int64)
        lookup = np.zeros(most - least + 1, np.int32)
        ids = ids[: listing.place(runs, least, lookup, ids)].copy()
    else:
        ids, runs[:, 3] = np.unique(runs[:, 3], return_inverse=True)
    table = np.zeros((len(ids), layout.width), np.int64)
    sides = np.array(rows.sides, np.int64)
    tallying.add_places(runs, rows.shape, sides, layout.axes, table)
    if layout.first:
        column = layout["first"].start
        tallying.add_first(runs, sides[-1], prod(rows.sides), column, table)
    if layout.seconds:
        column = layout["seconds"].start
        tallying.add_products(runs, rows.shape, layout.rank, column, table)
    for fill, plane in plan.fills:
        fill(planes, skip, skip + last - first, plane)
    if plan.outline:
        border = np.empty(planes.shape[:2], np.uint64)
        outlining.find_border(planes, border)
        outlining.classify(
            planes, border, skip, skip + last - first, layout.outline == "uneven", plan.outline
        )
    if len(plan.entries):
        tallying.add_planes(runs, planes, top, plan.entries, table)
    return Strip(ids, table, runs if keep else None)


def rows_within(sides: tuple[int, ...], box: Any) -> NDArray[np.bool_] | None:
    """Tell for each row whether it lies inside a box."""
    if box is None:
        return None
    inside = np.zeros(sides[:-1], bool)
    inside[tuple(slice(*span) for span in box[:-1])] = True
    return inside.reshape(-1)


def join(
    strips: list[Strip], layout: Layout
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Any]]:
    """Add up the tables of strips; return labels, table, and the lines of each strip in it."""
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
        lines = [index[strip.ids] for strip in strips]
    else:
        labels = np.unique(ids)
        lines = [np.searchsorted(labels, strip.ids) for strip in strips]
    table = np.zeros((len(labels), layout.width), np.int64)
    lows, sums = layout.greatest.start, layout.greatest.stop
    for strip, line in zip(strips, lines, strict=True):
        tallying.add_table(table, line, strip.table, lows, sums)
    return labels, table, lines


def _in_order(strip: Strip) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Any]]:
    """Sort the labels of an image that is a single strip."""
    ids = strip.ids
    if len(ids) < 2 or bool((ids[1:] > ids[:-1]).all()):
        return ids, strip.table, [slice(None)]
    order = np.argsort(ids)
    lines = np.empty(len(ids), np.int64)
    lines[order] = np.arange(len(ids))
    return ids[order], strip.table[order], [lines]
