"""Counts from an image of labels, from runs, or from what a method accumulated."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equilabel.devices import fetch, passes, place, resolve, using

from .checks import check_frames, check_not_negative
from .counts import Counts, Hulls, Layout, Values, find_wide
from .measurement import PERCENTS, Measurement
from .moments import weighted_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    from .cpu.accumulate import Accumulator  # that of CUDA has the same methods
    from .properties import Plan


Box: TypeAlias = "Sequence[tuple[int, int]]"
"""First and last + 1 pixel along each axis."""


# ---- Sums of values under each label: exact for integers of any type

LIMIT = 2**63  # a sum that may reach it is computed digit by digit


def sum_values(
    found: Accumulator, values: Array, pixels: NDArray[np.int64]
) -> tuple[HostArray, ...]:
    """Return sums, minima and maxima of the values of each label, (N, C), and exact squares if any.

    `values` is (P, C): every pixel in each channel. Sums of integers are exact int64; only if one
    does not fit, all are float64, rounded once. Sums of squares are int64, of small integers only.
    """
    sums, lows, highs, *squares = found.values(values)
    if values.dtype.kind not in "ui":
        return (sums, lows, highs, *squares)
    if not sums.size:
        return (sums.astype(np.int64), lows, highs, *squares)
    size = values.dtype.itemsize
    if size <= 2 and len(values) << 16 * size < LIMIT:  # whatever the values are
        return (sums, lows, highs, *squares)
    most = int(pixels.max())
    reach = max(abs(int(lows.min())), abs(int(highs.max())))
    if squares and most * reach**2 >= LIMIT:
        squares = []
    if size == 8 or (size > 1 and most * reach >= LIMIT):
        sums = _fitted(_exact_sums(found, values, most))
    return (sums, lows, highs, *squares)


def _exact_sums(found: Accumulator, values: Array, most: int) -> HostArray:
    """Sum digits of the values and combine them into Python integers.

    The digits are short enough that 64 bits hold their sums over `most` pixels.
    """
    width = 4 if most < 2**31 and values.dtype.itemsize > 4 else 2
    count = values.dtype.itemsize // width
    digits = values.copy(order="C").view(f"u{width}")
    total = np.zeros((1, values.shape[1]), object)
    for digit in range(count):
        part = digits[:, (digit if sys.byteorder == "little" else count - 1 - digit) :: count]
        if digit == count - 1:
            part = part.view(f"{values.dtype.kind}{width}")  # it has the sign
        total = total + (found.values(part)[0].astype(object) << 8 * width * digit)
    return total


def _fitted(sums: HostArray) -> HostArray:
    """Return Python integers as int64 if all fit, otherwise as float64."""
    if all(-(2**63) <= value < 2**63 for value in sums.flat):
        return sums.astype(np.int64)
    return sums.astype(np.float64)


# ---- Counts from labels, from runs and from what a method accumulated: the same on all devices


def count_labels(
    labels: Array,
    values: Array,
    plan: Plan,
    box: Box | None = None,
    periodic: tuple[bool, ...] = (),
) -> Counts:
    """Count an image of labels on the device that holds it; raise ValueError as `check_labels`.

    `values` may have a last axis of channels. Pixels outside `box` are neighbors but do not count.
    `periodic` is for each axis of the image, or empty; not together with `box`.
    """
    device = resolve("auto", labels)
    if (box is not None or periodic) and device != "cpu":  # counts come to the host in any case
        values = None if values is None else fetch(values)
        return count_labels(fetch(labels), values, plan, box, periodic)
    labels = as_counted(labels)
    if device == "cpu":
        return _count_here(labels, values, plan, box, periodic, device)
    with using(device):
        return _count_here(labels, values, plan, box, periodic, device)


def as_counted(labels: Array) -> Array:
    """Return labels as kernels read them: in native byte order, C-contiguous."""
    if labels.dtype.isnative and labels.flags.c_contiguous:
        return labels
    return labels.astype(labels.dtype.newbyteorder("="), order="C")


def _count_here(
    labels: Array,
    values: Array,
    plan: Plan,
    box: Box | None,
    periodic: tuple[bool, ...],
    device: str,
) -> Counts:
    """Count C-contiguous labels on the device that holds them, which is the current one."""
    values = None if values is None else place(values, device)
    kernels, layout = passes("measuring.accumulate", device), plan.layout
    if periodic:
        from .cpu.unwrapping import Unwrapped

        found: Any = Unwrapped(labels, layout, periodic)
    else:
        source = kernels.LabelSource(labels)
        found = kernels.Accumulator(source, layout, keep=plan.needs_pixels, box=box)
    check_not_negative(found.labels, labels)
    high = None
    rows = find_wide(found.table, layout, labels.shape)
    if len(rows):
        kept = found if periodic else _with_runs(labels, layout, seconds=layout.seconds, box=box)
        high = found.table[:, layout.wide_columns].astype(np.float64)
        high[rows] = kept.near(rows)
    counts = _finish(found, values, plan, labels.shape, high, periodic)
    if not plan.needs_host:
        return counts
    if device != "cpu":
        found = _with_runs(labels, layout)
        values = None if values is None else fetch(values)
    return _add_of_runs(counts, found, values, plan)


def _with_runs(
    labels: Array, layout: Layout, *, seconds: bool = False, box: Box | None = None
) -> Any:
    """Count labels on the host, and keep their runs."""
    from .cpu.accumulate import Accumulator, LabelSource

    plain = Layout(layout.axes, layout.stacked, seconds=seconds)
    return Accumulator(LabelSource(fetch(labels)), plain, keep=True, box=box)


def count_runs(
    table: Any, shape: tuple[int, ...], values: Array, plan: Plan, device: str, *, full: bool
) -> Counts | None:
    """Count runs of an image after `number`; None if an image of labels must be counted instead.

    `full` tells whether pixels that share a corner are neighbors.
    """
    kernels = passes("measuring.accumulate", device)
    source = kernels.RunSource(table, shape, full=full)
    summed = values if plan.needs_pixels else None
    whole = plan.needs_moments or (plan.needs_host and device != "cpu")
    if not source.suffices(plan.layout, summed, moments=whole):
        return None
    found = kernels.Accumulator(source, plan.layout, keep=plan.needs_pixels)
    if len(find_wide(found.table, plan.layout, shape)):
        return None
    values = None if values is None else place(values, device)
    counts = _finish(found, values, plan, shape, None)
    return _add_of_runs(counts, found, values, plan) if plan.needs_host else counts


def count_sizes(accumulated: Array, shape: tuple[int, ...], plan: Plan) -> Counts:
    """Return counts from what a method accumulated; `Plan.only_sizes` must hold.

    `accumulated` is (size, 1 + axes): elements and exposed faces of each component, or zeros.
    """
    layout = plan.layout
    accumulated = fetch(accumulated[np.flatnonzero(accumulated[:, 0])])
    table = np.zeros((len(accumulated), layout.width), np.int64)
    table[:, 0] = accumulated[:, 0]
    if layout.pairs != "none":
        faces = accumulated[:, 1 + int(layout.stacked) :]
        table[:, layout["pairs"]] = accumulated[:, :1] - faces // 2
    labels = np.arange(1, len(accumulated) + 1, dtype=np.int64)
    return Counts(labels, np.asfortranarray(table), layout, shape)


def _finish(
    found: Accumulator,
    values: Array,
    plan: Plan,
    shape: tuple[int, ...],
    high: NDArray[np.float64] | None,
    periodic: tuple[bool, ...] = (),
) -> Counts:
    """Sum over pixels what the table does not hold, and return counts on the host."""
    layout, table = plan.layout, np.asfortranarray(found.table)  # formulas read whole columns
    single = values is None or values.ndim == layout.axes
    flat = summed = None
    if values is not None and plan.needs_pixels:
        flat = values.reshape(prod(shape), 1 if single else values.shape[-1])
    if flat is not None and "values" in plan.needs:
        sums, lows, highs, *squares = sum_values(found, flat, table[:, 0])
        summed = Values(sums, lows, highs)
        if "deviations" in plan.needs and squares:
            summed = summed._replace(squares=squares[0])
        elif "deviations" in plan.needs:
            summed = summed._replace(deviations=found.squares(flat, summed))
    counts = Counts(found.labels, table, layout, shape, single, summed, high, periodic=periodic)
    if layout.stacked:
        check_frames(counts.labels, counts.begins[:, 0], counts.ends[:, 0])
    if not plan.needs_moments:
        return counts
    with np.errstate(all="ignore"):  # centroids weighted by values that are not finite
        return replace(counts, moments=_sum_moments(found, flat, counts, plan))


def _add_of_runs(counts: Counts, found: Any, values: Array, plan: Plan) -> Counts:
    """Add hulls, holes and percentiles from the runs that an accumulator of the host has kept."""
    from equilabel.measuring.cpu.hulls import find_hulls
    from equilabel.measuring.cpu.sorted_runs import (
        count_filled,
        find_percentiles,
        sort_runs,
    )

    needs = plan.needs
    more: dict[str, Any] = {}
    runs = sort_runs(found)
    if needs & {"hull", "corners"}:
        more["hulls"] = Hulls(*find_hulls(found, *runs, with_corners="corners" in needs))
    if "filled" in needs:
        more["filled"] = count_filled(found, *runs)
    if needs & {"median", "percentiles"}:
        flat = values.reshape(prod(counts.shape), 1 if counts.single else values.shape[-1])
        percents = (50,) * ("median" in needs) + PERCENTS * ("percentiles" in needs)
        more["percentiles"] = find_percentiles(found, *runs, flat, percents)
    return replace(counts, **more)


def _sum_moments(
    found: Accumulator, flat: Array, counts: Counts, plan: Plan
) -> dict[str, NDArray[np.float64]]:
    """Sum powers of coordinates around the corner of the bounding box and around centroids."""
    rank, channels = plan.layout.rank, 0 if flat is None else flat.shape[1]
    place_of = Measurement(counts, (1.0,) * rank)
    corner = place_of.first.astype(np.float64)
    shape = (len(corner), *(4,) * rank)

    def weighted(centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum each channel around centers, (N, rank, C); NaN where the sum is not finite."""
        parts = np.empty((*shape, channels))
        for channel in range(channels):
            around = np.ascontiguousarray(centers[..., channel])
            sums = found.weighted(flat, channel, around)
            sums[~np.isfinite(sums[:, 0])] = np.nan
            parts[..., channel] = sums.reshape(shape)
        return parts

    sums: dict[str, NDArray[np.float64]] = {}
    if "raw" in plan.needs:
        sums["raw"] = found.powers(corner).reshape(shape)
    if "central" in plan.needs:
        sums["central"] = found.powers(corner + place_of.local).reshape(shape)
    if "weighted" in plan.needs:
        sums["weighted"] = weighted(np.repeat(corner[..., None], channels, axis=2))
    if "weighted_central" in plan.needs:
        sums["weighted_central"] = weighted(
            corner[..., None] + weighted_means(sums["weighted"], rank)
        )
    return sums
