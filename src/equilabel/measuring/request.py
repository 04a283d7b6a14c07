"""What a caller wants to know of each label, as checked arguments."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from equilabel.arguments import check_flag, check_names, check_text
from equilabel.devices import fetch, place, resolve, using

from .checks import (
    MOST_AXES,
    check_counted,
    check_functions,
    check_intensity,
    check_spacing,
    check_values,
)
from .counting import as_counted, count_labels
from .device_table import DeviceTable, table_of_labels
from .plan import RequestFields, compute_columns, compute_objects, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import Array

    from .counts import Counts
    from .plan import Columns


class Request(RequestFields):
    """Checked arguments of `regionprops_table`, except the labels."""

    def count(self, labels: Array) -> Counts | DeviceTable:
        """Count labels, or start to compute their columns, on the device that holds them."""
        device = resolve("auto", labels)
        if self.columns_on is not None and device != "cpu":
            with using(device):
                found = table_of_labels(self, as_counted(labels), device)
            if found is not None:
                return found
        return count_labels(labels, self.values, self.plan, periodic=self.periodic)

    def table(self, counts: Counts | DeviceTable, labels: Array) -> dict[str, Array]:
        """Compute all columns, in the order in which they were requested.

        `labels` are needed only if `plan.needs_labels`, or if a `DeviceTable` is not finished.
        """
        groups = counts.finish() if isinstance(counts, DeviceTable) else None
        if groups is None:
            if isinstance(counts, DeviceTable):
                counts = count_labels(labels, self.values, self.plan)
            groups = self._moved(self.columns(counts, labels))
        elif isinstance(counts, DeviceTable) and counts.rest is not None:
            rest = replace(self, plan=counts.rest)
            groups |= self._moved(rest.columns(counts.counts, labels))
        found: dict[str, Array] = {}
        for name in self.plan.order:
            found |= groups[name]
        return found

    def _moved(self, groups: Columns) -> Columns:
        """Copy columns to where they are stored; columns of objects stay on the host."""
        device = self.columns_on
        if device in (None, "host"):
            return groups
        with using(device):
            return {
                name: {
                    part: column if column.dtype.hasobject else place(column, device)
                    for part, column in columns.items()
                }
                for name, columns in groups.items()
            }

    def columns(self, counts: Counts | None, labels: Array) -> Columns:
        """Compute the columns of each property by its name; `counts` is None if none is counted."""
        plan = self.plan
        groups: Columns = {}
        if counts is not None:
            groups = compute_columns(counts, plan.columns, self.spacing, self.separator)
        if plan.needs_labels:
            values = None if self.values is None else fetch(self.values)
            groups |= compute_objects(fetch(labels), values, self)
        return groups


def make_request(
    properties: Iterable[str],
    intensity_image: ArrayLike | None,
    shape: tuple[int, ...],
    spacing: float | Sequence[float] | None = None,
    *,
    stacked: bool = False,
    separator: str = "-",
    cache: bool = True,
    extra_properties: Iterable[Callable[..., Any]] | None = None,
    periodic: tuple[bool, ...] = (),
    columns_on: str | None = None,
) -> Request:
    """Check the arguments of `regionprops_table` for an image of a given shape.

    `periodic` and `columns_on` are the results of `check_periodic` and `check_columns`;
    `columns_on` is None if counts are requested. Errors are those of `regionprops_table`.
    """
    wanted = check_names("properties", properties)
    if not stacked < len(shape) <= MOST_AXES:
        message = (
            f"label_image must have 1 to {MOST_AXES} axes to be measured, and a spatial one; got "
            f"shape {shape}."
        )
        raise ValueError(message)
    separator, cache = check_text("separator", separator), check_flag("cache", cache)
    if intensity_image is None and spacing is None and extra_properties is None and not periodic:
        return _plain_request(wanted, shape, stacked, separator, cache, columns_on)
    rank = len(shape) - stacked
    steps = check_spacing(spacing, rank)
    values = check_values(intensity_image, shape)
    functions = check_functions(extra_properties, rank)
    plan = make_plan(wanted, functions, len(shape), stacked, len(set(steps)) < 2)
    check_intensity(plan.intensity, values)
    if periodic:
        check_counted(plan.order, plan.columns)
    return Request(plan, values, steps, spacing, separator, cache, periodic, columns_on)


@lru_cache(256)
def _plain_request(
    wanted: tuple[str, ...],
    shape: tuple[int, ...],
    stacked: bool,
    separator: str,
    cache: bool,
    columns_on: str | None,
) -> Request:
    """Return a request without values and spacing; cached, as many small images repeat it."""
    steps = check_spacing(None, len(shape) - stacked)
    plan = make_plan(wanted, (), len(shape), stacked, True)
    check_intensity(plan.intensity, None)
    return Request(plan, None, steps, None, separator, cache, columns_on=columns_on)
