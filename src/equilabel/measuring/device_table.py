"""Tables whose columns a device computes: only these come to the host, if they are asked for."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equilabel.devices import library, passes, place, using

from .columns import part_names
from .steps import Steps
from .wide import may_be_wide

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array
    from equilabel.kernels.formulas import Step

    from .columns import Columns
    from .plan import Plan


class ColumnsRequest(Protocol):
    """The part of an `equilabel.measuring.request.Request` from which columns follow."""

    @property
    def plan(self) -> Plan:
        """What is to be counted."""

    @property
    def values(self) -> Array:
        """Intensities, or None."""

    @property
    def spacing(self) -> tuple[float, ...]:
        """Distance of pixels along each spatial axis."""

    @property
    def separator(self) -> str:
        """Stands between a name and the numbers of its parts."""

    @property
    def periodic(self) -> tuple[bool, ...]:
        """For each axis of the image, or empty."""

    @property
    def columns_on(self) -> str | None:
        """Where columns are to be; None if counts are asked for."""


class DeviceTable:
    """Columns that are being computed.

    Parameters
    ----------
    columns : Columns
        Of `equilabel.kernels.cuda.columns`.
    names : tuple of (str, tuple of str)
        Of each property, and of its columns.
    device : str
    """

    def __init__(self, columns: Any, names: tuple[tuple[str, tuple[str, ...]], ...], device: str):
        self._columns, self._names, self._device = columns, names, device

    def finish(self) -> Columns | None:
        """Wait for the columns of each property; None if they have to be found in another way."""
        with using(self._device):
            columns = self._columns.finish()
        if columns is None:
            return None
        each = iter(columns)
        return {name: {column: next(each) for column in parts} for name, parts in self._names}


def table_of_labels(request: ColumnsRequest, labels: Array, device: str) -> DeviceTable | None:
    """Start to count and compute what is asked of an image of labels.

    Parameters
    ----------
    request : ColumnsRequest
    labels : array of int
        On `device`, which is the current one.
    device : str

    Returns
    -------
    DeviceTable, or None
        None if counts have to come to the host.
    """
    if not is_fused(request, labels.shape, device):
        return None
    source = passes("sources", device).LabelSource.guessed
    kind, room = room_for(labels, device)
    return _start(request, lambda rows: source(labels, rows), labels.shape, kind, room, device)


def room_for(labels: Array, device: str) -> tuple[Any, int]:
    """Return of what kind labels are, and for how many of them a table may have room.

    Kernels see labels without a sign: it has none for what would be negative.
    """
    room = min(int(np.iinfo(labels.dtype).max), passes("sources", device).ROOM * labels.size)
    return (labels.shape, labels.dtype.char, device), room


def table_of_runs(
    request: ColumnsRequest,
    table: Any,
    shape: tuple[int, ...],
    device: str,
    *,
    full: bool,
    lasts: bool,
) -> DeviceTable | None:
    """Start to count and compute what is asked of runs that have their labels, as `count_runs`.

    Parameters
    ----------
    lasts : bool
        Whether the table is there until the columns are waited for: painting uses it up.
    """
    plan = request.plan
    if not is_fused(request, shape, device):
        return None
    source = passes("sources", device).RunSource
    values = request.values if plan.needs_pixels else None
    if not source(table, shape, 0, full=full).suffices(plan.layout, values, moments=False):
        return None
    size = prod(shape)
    most = size if table.many else (size + 1) // 2
    kind = shape, "runs", full, device
    return _start(
        request,
        lambda rows: source(table, shape, rows - 1, full=full),
        shape,
        kind,
        most,
        device,
        lasts=lasts,
    )


def _start(
    request: ColumnsRequest,
    source: Callable[[int], Any],
    shape: tuple[int, ...],
    kind: Any,
    most: int,
    device: str,
    *,
    lasts: bool = True,
) -> DeviceTable | None:
    """Start kernels for the steps of a request, if there are steps for all that is asked."""
    found = steps_of(request, device)
    if found is None:
        return None
    names, formulas = found
    values = None
    if request.plan.needs_pixels:
        values = place(request.values, device)
        values = library(values).ascontiguousarray(values)
        values = values.view("u1") if values.dtype == bool else values
    kernels = passes("columns", device)
    on_host = request.columns_on == "host"
    columns = kernels.Columns(
        source, request.plan.layout, formulas, values, kind, most, on_host, lasts
    )
    return DeviceTable(columns, names, device)


def is_fused(request: ColumnsRequest, shape: tuple[int, ...], device: str) -> bool:
    """Return whether columns can be computed on the device that counts."""
    plan, values = request.plan, request.values
    if request.columns_on is None or device == "cpu" or request.periodic or 0 in shape:
        return False
    if plan.needs_labels or plan.needs_moments or plan.needs_host or len(shape) > 6:
        return False
    if may_be_wide(shape, plan.layout):
        return False
    if not plan.needs_pixels:
        return True
    few = values.dtype.kind in "bu" and values.itemsize <= 2 and values.ndim == len(shape)
    return few and prod(shape) < 2 ** (63 - 16 * values.dtype.itemsize)


def steps_of(
    request: ColumnsRequest, device: str
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Any] | None:
    """Name the columns of each property, and pack the steps that fill them, if there are any."""
    return _steps_of(request.plan, request.spacing, request.separator, device)


@lru_cache(256)
def _steps_of(
    plan: Plan, spacing: tuple[float, ...], separator: str, device: str
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Any] | None:
    each = Steps(plan.layout, spacing)
    names: list[tuple[str, tuple[str, ...]]] = []
    steps: list[Step] = []
    for name, key in plan.columns:
        found = each.of(key)
        if found is None:
            return None
        shape, own = found
        names.append((name, part_names(name, shape, separator) if shape else (name,)))
        steps.extend(own)
    size = prod(spacing)
    formulas = passes("columns", device).pack(tuple(steps), spacing, size, plan.layout.stacked)
    return None if formulas is None else (tuple(names), formulas)
