"""Columns that a GPU computes where it counts, and the counts from which the others follow."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import library, passes, place, using

from .counting import count_labels
from .counts import Counts, Values, may_be_wide
from .measurement import ON_HOST
from .plan import MOMENTS, VALUES, make_plan
from .properties import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array

    from .counts import Step
    from .plan import Columns, Plan, RequestFields


# ---- Which columns of a table have a step that the device can apply


class Share(NamedTuple):
    """What a device computes of a table, and what is left for the host."""

    names: tuple[tuple[str, tuple[str, ...]], ...]  # of properties, with those of their columns
    formulas: Any  # the steps of these columns, packed
    counted: Plan  # what the device counts: for all columns, or for its own if `apart`
    rest: Plan | None  # the other columns
    apart: bool  # whether the rest needs more than the device counts


def share_of(request: RequestFields, shape: tuple[int, ...], device: str) -> Share | None:
    """Return what the device that counts computes of a table, too; None if nothing."""
    plan, values = request.plan, request.values
    if request.columns_on is None or device == "cpu" or request.periodic or 0 in shape:
        return None
    if may_be_wide(shape, plan.layout):
        return None
    summed = (
        values is not None
        and values.dtype.kind in "bu"
        and values.itemsize <= 2
        and values.ndim == len(shape)
        and prod(shape) < 2 ** (63 - 16 * values.dtype.itemsize)
    )
    return _share_of(plan, request.spacing, request.separator, device, summed)


@lru_cache(256)
def _share_of(
    plan: Plan, spacing: tuple[float, ...], separator: str, device: str, summed: bool
) -> Share | None:
    """Return the share of a device, which sums values while it counts if `summed`."""
    kind = plan.layout.axes, plan.layout.stacked, len(set(spacing)) < 2
    beyond = MOMENTS | ON_HOST | (frozenset() if summed else VALUES)
    here = {
        name: PROPERTIES[key]
        for name, key in plan.columns
        if not beyond & {*PROPERTIES[key].needs} and PROPERTIES[key].steps(plan.layout, spacing)
    }
    others = tuple(name for name in plan.order if name not in here)
    rest = make_plan(others, plan.functions, *kind) if others else None
    apart = rest is not None and bool(beyond & rest.needs)
    counted = make_plan(tuple(here), (), *kind) if apart else plan
    names: list[tuple[str, tuple[str, ...]]] = []
    steps: list[Step] = []
    for name, row in here.items():
        parts = row.steps(counted.layout, spacing) or {}
        names.append((name, tuple(separator.join(map(str, (name, *part))) for part in parts)))
        steps.extend(parts.values())
    pack = passes("measuring.columns", device).pack
    formulas = pack(tuple(steps), spacing, prod(spacing), plan.layout.stacked) if here else None
    return None if formulas is None else Share(tuple(names), formulas, counted, rest, apart)


# ---- Tables whose columns a device computes: their counts stay there, unless the rest needs them


class DeviceTable:
    """Columns that a device is computing.

    `columns` are those of `equilabel.measuring.cuda.columns`. `rest` is the plan of the columns of
    the table that `finish` does not return, and `counts` are what they follow from, afterwards.
    """

    def __init__(self, columns: Any, share: Share, shape: tuple[int, ...], device: str) -> None:
        self._columns, self._share, self._shape, self._device = columns, share, shape, device
        self.rest = share.rest
        self.counts: Counts | None = None

    def finish(self) -> Columns | None:
        """Wait for the columns of each property; None if the caller must take another path."""
        with using(self._device):
            columns = self._columns.finish()
            if columns is None:
                return None
            if self.counts is None and self.rest is not None and self.rest.columns:
                labels, table, sums = self._columns.counts()
                layout, values = self._share.counted.layout, None if sums is None else Values(*sums)
                self.counts = Counts(labels, table, layout, self._shape, values=values)
        each = iter(columns)
        return {name: {column: next(each) for column in parts} for name, parts in self._share.names}


def table_of_labels(request: RequestFields, labels: Array, device: str) -> DeviceTable | None:
    """Start to count labels and compute columns on `device`, the current one.

    Return None if counts have to come to the host.
    """
    share = share_of(request, labels.shape, device)
    if share is None:
        return None
    source = passes("measuring.sources", device).LabelSource.guessed
    kind, room = room_for(labels, device)
    shape = labels.shape
    found = _start(request, share, lambda rows: source(labels, rows), shape, kind, room, device)
    if share.apart and share.rest is not None:
        found.counts = count_labels(labels, request.values, share.rest)
    return found


def room_for(labels: Array, device: str) -> tuple[Any, int]:
    """Return the kind of labels, as a key, and for how many of them a table may have room.

    Kernels see labels as unsigned: there is no room for those that would be negative.
    """
    room = min(
        int(np.iinfo(labels.dtype).max), passes("measuring.sources", device).ROOM * labels.size
    )
    return (labels.shape, labels.dtype.char, device), room


def spec_of(request: RequestFields, share: Share, kind: Any, most: int, device: str) -> Any:
    """Return the `TableSpec` of a share for labels of one kind, with room for `most` of them."""
    gray = request.values.dtype if share.counted.needs_pixels else None
    return passes("measuring.columns", device).TableSpec(
        share.counted.layout, share.formulas, gray, kind, most, request.columns_on == "host"
    )


def table_of_runs(
    request: RequestFields,
    table: Any,
    shape: tuple[int, ...],
    device: str,
    *,
    full: bool,
    lasts: bool,
) -> DeviceTable | None:
    """Start to count labeled runs, as `count_runs` does, and compute columns; None if unsupported.

    `lasts` tells whether the table still exists when the columns are waited for, unless the request
    needs labels: painting them overwrites it.
    """
    share = share_of(request, shape, device)
    if share is None or share.apart:
        return None
    source = passes("measuring.sources", device).RunSource
    values = request.values if share.counted.needs_pixels else None
    if not source(table, shape, 0, full=full).suffices(share.counted.layout, values, moments=False):
        return None
    size = prod(shape)
    return _start(
        request,
        share,
        lambda rows: source(table, shape, rows - 1, full=full),
        shape,
        (shape, "runs", full, device),
        size if table.many else (size + 1) // 2,
        device,
        lasts=lasts and not request.plan.needs_labels,
    )


def _start(
    request: RequestFields,
    share: Share,
    source: Callable[[int], Any],
    shape: tuple[int, ...],
    kind: Any,
    most: int,
    device: str,
    *,
    lasts: bool = True,
) -> DeviceTable:
    """Start the kernels of a share."""
    values = None
    if share.counted.needs_pixels:
        values = place(request.values, device)
        values = library(values).ascontiguousarray(values)
        values = values.view("u1") if values.dtype == bool else values
    columns = passes("measuring.columns", device).Columns(
        source,
        shape,
        spec_of(request, share, kind, most, device),
        values,
        lasts=lasts,
        keeps=not share.apart and share.rest is not None and bool(share.rest.columns),
    )
    return DeviceTable(columns, share, shape, device)
