"""Counts from labels, from runs and from what a method accumulated: the same, wherever they lie."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import fetch, passes, place, resolve, using
from equilabel.kernels.layout import Layout

from .checks import check_frames, check_not_negative
from .counts import Counts, Hulls, Values, means_of
from .measurement import Measurement
from .moments import weighted_means
from .unwrapping import Unwrapped
from .value_sums import sum_values
from .wide import find_wide, sum_wide, upper_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array

    from .contract import Accumulator, Box
    from .plan import Plan


def count_labels(
    labels: Array,
    values: Array,
    plan: Plan,
    box: Box | None = None,
    periodic: tuple[bool, ...] = (),
) -> Counts:
    """Count an image of labels, where it lies.

    Parameters
    ----------
    labels : array of int, of NumPy or CuPy
    values : array or None
        Intensities, with or without an axis of channels at the end.
    plan : Plan
    box : sequence of (int, int), optional
        First and last + 1 pixel along each axis; pixels outside are neighbors but do not count.
    periodic : tuple of bool
        For each axis of the image, or empty if none is periodic; not together with `box`.

    Raises
    ------
    ValueError
        If a label is negative or beyond int64, or lies in several images of a stack.
    """
    device = resolve("auto", labels)
    if box is not None and device != "cpu":  # counts are of the host in any case
        return count_labels(fetch(labels), None if values is None else fetch(values), plan, box)
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
    kernels, layout = passes("accumulate", device), plan.layout
    keep = plan.needs_pixels
    if periodic:
        found: Any = Unwrapped(kernels, labels, layout, keep, periodic)
    else:
        source = kernels.LabelSource(labels)
        found = kernels.Accumulator(source, layout, keep=keep, box=box)
    check_not_negative(found.labels, labels)
    high = None
    rows = find_wide(found.table, layout, labels.shape)
    if len(rows):
        if periodic:
            exact = found.exact(rows)
        else:
            exact = sum_wide(kernels, labels, found.labels[rows], layout)
        high = upper_words(found.table, layout, rows, exact)
    counts = _finish(found, values, plan, labels.shape, high, periodic)
    if not plan.needs_host:
        return counts
    if device != "cpu":
        kernels = passes("accumulate", "cpu")
        least = Layout(layout.axes, layout.stacked)
        found = kernels.Accumulator(kernels.LabelSource(fetch(labels)), least, keep=True)
        values = None if values is None else fetch(values)
    return _add_of_runs(counts, found, values, plan)


def count_runs(
    table: Any, shape: tuple[int, ...], values: Array, plan: Plan, device: str, *, full: bool
) -> Counts | None:
    """Count the runs of an image that have their labels, if they tell all that is asked for.

    Parameters
    ----------
    table : RunTable
        Of `equilabel.kernels.<device>.runs`, after `number`.
    shape : tuple of int
        Shape of the image.
    values : array or None
        Intensities.
    plan : Plan
    device : str
        Where the runs are.
    full : bool
        Whether pixels that share a corner are neighbors.

    Returns
    -------
    Counts, or None
        None if an image of labels has to be counted instead.
    """
    kernels = passes("accumulate", device)
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
    """Take the elements and exposed faces that a method accumulated while labeling.

    Parameters
    ----------
    accumulated : (size, 1 + axes) array of int
        Elements, and faces along each axis, of each component in raster order, with any number
        of rows of zeros between them.
    shape : tuple of int
        Shape of the image.
    plan : Plan
        One for which `Plan.only_sizes` holds.
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
    high: NDArray[np.int64] | None,
    periodic: tuple[bool, ...] = (),
) -> Counts:
    """Sum over pixels what the table does not tell, and let go of the device."""
    layout, table = plan.layout, np.asfortranarray(found.table)  # formulas go column by column
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
            deviations = found.squares(flat, means_of(summed, table[:, 0]))
            summed = summed._replace(deviations=deviations)
    counts = Counts(found.labels, table, layout, shape, single, summed, high, periodic=periodic)
    if layout.stacked:
        check_frames(counts.labels, counts.begins[:, 0], counts.ends[:, 0])
    if not plan.needs_moments:
        return counts
    with np.errstate(all="ignore"):  # centroids weighted by values that are not finite
        return replace(counts, moments=_sum_moments(found, flat, counts, plan))


def _add_of_runs(counts: Counts, found: Any, values: Array, plan: Plan) -> Counts:
    """Add what is made of the runs of each label, which an accumulator of the host has kept."""
    needs = plan.needs
    more: dict[str, Any] = {}
    if needs & {"hull", "corners"}:
        find = passes("hulls", "cpu").find_hulls
        more["hulls"] = Hulls(*find(found, with_corners="corners" in needs))
    if needs & {"filled", "median"}:
        runs = passes("sorted_runs", "cpu").sort_runs(found)
    if "filled" in needs:
        more["filled"] = passes("holes", "cpu").fill_holes(found, *runs)
    if "median" in needs:
        flat = values.reshape(prod(counts.shape), 1 if counts.single else values.shape[-1])
        more["medians"] = passes("medians", "cpu").find_medians(found, *runs, flat)
    return replace(counts, **more)


def _sum_moments(
    found: Accumulator, flat: Array, counts: Counts, plan: Plan
) -> dict[str, NDArray[np.float64]]:
    """Sum powers of coordinates around the corner of the box, and around centroids."""
    rank = plan.layout.rank
    place_of = Measurement(counts, (1.0,) * rank)
    corner = place_of.first.astype(np.float64)
    sums: dict[str, NDArray[np.float64]] = {}
    if "raw" in plan.needs:
        sums["raw"] = _shaped(found.powers(corner), rank)
    if "central" in plan.needs:
        sums["central"] = _shaped(found.powers(corner + place_of.local), rank)
    if "weighted" in plan.needs:
        channels = range(flat.shape[1])
        parts = [_shaped(found.weighted(flat, channel, corner), rank) for channel in channels]
        sums["weighted"] = _stacked(parts, len(corner), rank)
    if "weighted_central" in plan.needs:
        centers = corner[..., None] + weighted_means(sums["weighted"], rank)
        parts = [
            _shaped(found.weighted(flat, channel, centers[..., channel]), rank)
            for channel in range(flat.shape[1])
        ]
        sums["weighted_central"] = _stacked(parts, len(corner), rank)
    return sums


def _shaped(powers: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Give powers an axis for each exponent."""
    return powers.reshape(-1, *(4,) * rank)


def _stacked(parts: list[NDArray[np.float64]], labels: int, rank: int) -> NDArray[np.float64]:
    """Put channels along a last axis, of which there may be none."""
    return np.stack(parts, axis=-1) if parts else np.zeros((labels, *(4,) * rank, 0))
