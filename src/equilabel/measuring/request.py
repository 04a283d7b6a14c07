"""What a caller wants to know of each label: what is counted for it, where, and its columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from equilabel.arguments import check_flag, check_names, check_text
from equilabel.devices import fetch, library, passes, place, resolve, threads, using

from .checks import MOST_AXES, check_functions, check_spacing, check_values
from .counting import as_counted, count_labels
from .counts import Counts, Values, may_be_wide
from .measurement import ON_HOST
from .properties import (
    MOMENTS,
    PROPERTIES,
    VALUES,
    check_counted,
    check_intensity,
    compute_columns,
    make_plan,
    named_columns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import Array, HostArray

    from .counts import Step
    from .properties import Columns, Plan


# ---- Checked arguments


@dataclass(frozen=True, eq=False)
class Request:
    """Checked arguments of `regionprops_table`, except the labels."""

    plan: Plan
    values: Array  # intensities, or None
    spacing: tuple[float, ...]
    given_spacing: Any = None  # as the caller gave it: scikit-image treats integers differently
    separator: str = "-"
    cache: bool = True  # for scikit-image
    periodic: tuple[bool, ...] = ()  # for each axis of the image, or empty
    columns_on: str | None = None  # "host" or the device that counts; None to get counts

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

    def columns(self, counts: Counts | Columns | None, labels: Array) -> Columns:
        """Compute the columns of each property by its name; `counts` is None if none is counted.

        Columns that a device has computed are returned as they are.
        """
        if isinstance(counts, dict):
            return counts
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

    `periodic` is from `check_periodic`, `columns_on` from `check_columns` or None for counts.
    """
    wanted = check_names("properties", properties)
    if not stacked < len(shape) <= MOST_AXES:
        message = (
            f"label_image must have 1 to {MOST_AXES} axes to be measured, and a spatial one; got "
            f"shape {shape}."
        )
        raise ValueError(message)
    separator, cache = check_text("separator", separator), check_flag("cache", cache)
    rank = len(shape) - stacked
    steps = check_spacing(spacing, rank)
    values = check_values(intensity_image, shape)
    functions = check_functions(extra_properties, rank)
    plan = make_plan(wanted, functions, len(shape), stacked, len(set(steps)) < 2)
    check_intensity(plan.intensity, values)
    if periodic:
        check_counted(plan.order, plan.columns)
    return Request(plan, values, steps, spacing, separator, cache, periodic, columns_on)


# ---- Which columns of a table have a step that the device can apply


def with_columns(request: Request, shape: tuple[int, ...], device: str) -> Request:
    """Return a request of columns in place of counts, if a GPU computes all columns.

    They may differ from those of the host in the last bits: not for conditions.
    """
    asked = replace(request, columns_on="host")
    share = share_of(asked, shape, device)
    return request if share is None or share.rest is not None else asked


class Share(NamedTuple):
    """What a device computes of a table, and what is left for the host."""

    names: tuple[tuple[str, tuple[str, ...]], ...]  # of properties, with those of their columns
    formulas: Any  # the steps of these columns, packed
    counted: Plan  # what the device counts: for all columns, or for its own if `apart`
    rest: Plan | None  # the other columns
    apart: bool  # whether the rest needs more than the device counts


def share_of(request: Request, shape: tuple[int, ...], device: str) -> Share | None:
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
    """Columns that a device is computing, by `measuring.cuda.columns`.

    `rest` is the plan of those that `finish` does not return; they follow from `counts`.
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


def table_of_labels(request: Request, labels: Array, device: str) -> DeviceTable | None:
    """Start to count labels and compute columns on `device`, the current one.

    Return None if counts have to come to the host.
    """
    share = share_of(request, labels.shape, device)
    if share is None:
        return None
    source = passes("measuring.sources", device).LabelSource(labels)
    found = _start(request, share, source, *room_for(labels, device), device)
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


def spec_of(request: Request, share: Share, kind: Any, most: int, device: str) -> Any:
    """Return the `TableSpec` of a share for labels of one kind, with room for `most` of them."""
    gray = request.values.dtype if share.counted.needs_pixels else None
    return passes("measuring.columns", device).TableSpec(
        share.counted.layout, share.formulas, gray, kind, most, request.columns_on == "host"
    )


def table_of_runs(
    request: Request,
    table: Any,
    shape: tuple[int, ...],
    device: str,
    *,
    full: bool,
    lasts: bool,
) -> DeviceTable | None:
    """Start to count labeled runs, as `count_runs` does, and compute columns; None if unsupported.

    `lasts` tells whether the table still exists when the columns are waited for.
    """
    share = share_of(request, shape, device)
    if share is None or share.apart:
        return None
    source = passes("measuring.sources", device).RunSource(table, shape, full=full)
    values = request.values if share.counted.needs_pixels else None
    if not source.suffices(share.counted.layout, values, moments=False):
        return None
    images = shape[0] if request.plan.layout.stacked else 1  # each may have half, rounded up
    room = prod(shape) if table.many else (prod(shape) + images) // 2
    lasts = lasts and not request.plan.needs_labels
    return _start(request, share, source, (shape, "runs", full, device), room, device, lasts=lasts)


def _start(
    request: Request,
    share: Share,
    source: Any,
    kind: Any,
    most: int,
    device: str,
    *,
    lasts: bool = True,
) -> DeviceTable:
    """Start to count a source, and to compute the columns of a share."""
    values, layout = None, share.counted.layout
    if share.counted.needs_pixels:
        values = place(request.values, device)
        values = library(values).ascontiguousarray(values)
        values = values.view("u1") if values.dtype == bool else values
    columns = passes("measuring.columns", device).Columns(
        source.sides,
        spec_of(request, share, kind, most, device),
        lambda most, table, sums, _: source.count(layout, most, table, values, sums),
        lasts=lasts,
        keeps=not share.apart and share.rest is not None and bool(share.rest.columns),
    )
    columns.begin()
    return DeviceTable(columns, share, source.sides, device)


# ---- Columns from scikit-image

Region: TypeAlias = Any  # a `RegionProperties` of scikit-image
SHOWN = 10  # labels that a warning names


def compute_objects(labels: HostArray, values: HostArray | None, request: Request) -> Columns:
    """Compute properties of neighbors, and others with scikit-image, image by image of a stack.

    Rows are in the order of labels. An object that fails gets NaN (or None), and a RuntimeWarning.
    """
    from .neighbors import COLUMNS, neighbor_columns

    plan = request.plan
    near = [name for name, key in plan.fallback if key in COLUMNS]
    others = [pair for pair in plan.fallback if pair[1] not in COLUMNS]
    groups: Columns = {}
    if near:
        columns = neighbor_columns(labels, request.spacing, stacked=plan.layout.stacked)
        groups = {name: {name: columns[name]} for name in near}
    asked = [*others, *((f.__name__, f.__name__) for f in plan.functions)]
    if not asked:
        return groups
    images = [(labels, values)]
    if plan.layout.stacked:
        images = [
            (image, None if values is None else values[frame]) for frame, image in enumerate(labels)
        ]
    regions = [region for image, value in images for region in _list_regions(image, value, request)]
    regions.sort(key=lambda region: int(region[0]))
    empty = not regions
    if empty:  # names and types of columns are those of a single pixel
        ones = (1,) * plan.layout.rank
        blank = None if values is None else np.zeros(ones + values.shape[labels.ndim :])
        regions = _list_regions(np.ones(ones, np.uint8), blank, request)
    rank, intensity = plan.layout.rank, values is not None
    kept = {f.__name__ for f in plan.functions if _varies(f, rank, intensity=intensity)}
    for name, key in asked:
        how = {"quiet": empty, "whole": name in kept}
        columns = _compute_column(name, key, regions, request.separator, **how)
        rows = 0 if empty else None
        groups[name] = {part: column[:rows] for part, column in columns.items()}
    return groups


def _list_regions(
    labels: HostArray, values: HostArray | None, request: Request
) -> list[tuple[int, Region]]:
    """List the regions of an image with their labels; nothing is computed yet."""
    from skimage import measure

    regionprops: Any = measure.regionprops

    ids = None
    if labels.size and int(labels.max()) > 4 * labels.size:  # scikit-image lists all up to the last
        ids, inverse = np.unique(labels, return_inverse=True)
        labels = inverse.reshape(labels.shape) + int(ids[0] != 0)
        ids = ids if ids[0] == 0 else np.insert(ids, 0, 0)
    if not labels.size:
        return []
    with np.errstate(over="ignore"):  # it multiplies the spacing, which may be huge
        found: Any = regionprops(
            labels.astype(np.int64, copy=False) if labels.dtype == np.uint64 else labels,
            values,
            cache=request.cache,
            extra_properties=list(request.plan.functions) or None,
            spacing=request.given_spacing,
        )
    return [(region.label if ids is None else ids[region.label], region) for region in found]


def _varies(function: Callable[..., Any], rank: int, *, intensity: bool) -> bool:
    """Return whether what a function returns is no number, or depends on the size of an object."""
    from skimage.measure._regionprops import _infer_regionprop_dtype

    try:
        return bool(_infer_regionprop_dtype(function, intensity=intensity, ndim=rank) is np.object_)
    except Exception:  # a user's function may raise anything
        return False


def _compute_column(
    name: str,
    key: str,
    regions: list[tuple[int, Region]],
    separator: str,
    *,
    quiet: bool = False,
    whole: bool = False,
) -> dict[str, HostArray]:
    """Compute one property of all regions, as one column if it is `whole`, or one for each part."""
    from skimage.measure._regionprops import COL_DTYPES

    found: list[Any] = []
    broken: list[tuple[int, Exception]] = []
    for label, region in regions:
        threads.check()
        try:
            found.append(getattr(region, key))
        except (NotImplementedError, AttributeError):
            raise
        except Exception as error:  # a user's function may raise anything
            broken.append((label, error))
            found.append(None)
    if broken and not quiet:
        _warn(name, broken)
    sample = next((value for value in found if value is not None), np.nan)
    if whole or COL_DTYPES.get(key) is object or not _are_alike(found, sample):
        column = np.empty(len(found), object)
        for row, value in enumerate(found):
            column[row] = value
        return {name: column}
    missing = np.full(np.shape(sample), np.nan)
    table = np.array([missing if value is None else value for value in found])
    if not broken and key in COL_DTYPES:
        table = table.astype(COL_DTYPES[key])
    return named_columns(name, table, separator)


def _are_alike(found: list[Any], sample: Any) -> bool:
    """Return whether all values are numbers of one shape, or all are strings."""
    kind = np.asarray(sample).dtype.kind
    if kind not in ("buifcUS" if all(value is not None for value in found) else "buifc"):
        return False
    return all(value is None or np.shape(value) == np.shape(sample) for value in found)


def _warn(name: str, broken: list[tuple[int, Exception]]) -> None:
    numbers = ", ".join(str(label) for label, _ in broken[:SHOWN])
    more = f" and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
    label, error = broken[0]
    message = (
        f"property {name!r} could not be computed for label {numbers}{more}: label {label} gave "
        f"{type(error).__name__}: {error}. Its row holds NaN."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=6)
