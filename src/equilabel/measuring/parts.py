"""Counts of a part of an image, which merge with those of other parts."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import counts as wide
from .checks import check_labels, check_spacing, check_values
from .counting import count_labels
from .properties import PROPERTIES, check_intensity, compute_columns, make_plan, resolve_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray

    from .counting import Box
    from .counts import Counts


def count_part(
    label_image: ArrayLike,
    intensity_image: ArrayLike | None = None,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    box: Sequence[tuple[int, int]] | None = None,
    origin: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
) -> Counts:
    """Count the labels in a part of an image.

    ``one.merge(other)`` merges the counts of two parts, in any order and grouping, and
    `compute_table` computes columns from them.

    Parameters
    ----------
    label_image, intensity_image : arrays
        A piece of the image: the part, and a halo of pixels around it that belong to other parts.
        One pixel on every side that is cut is enough; the perimeter needs two.
    properties : iterable of str
        What will be computed: those of `PROPERTIES` whose counts add up.
    box : sequence of (int, int), optional
        First and last + 1 pixel of the part along each axis of the piece. Default: all of it.
    origin : sequence of int, optional
        Position of the first pixel of the piece in the whole image. Default: 0.
    shape : sequence of int, optional
        Shape of the whole image. Default: that of the piece.
    spacing, stacked
        As for `regionprops_table`.

    Returns
    -------
    Counts
        In coordinates of the whole image, with the smallest flat index of each label.

    Raises
    ------
    TypeError, ValueError
        As `regionprops_table` does; ValueError also if the part is not in the piece, or the piece
        not in the whole image, or if a property does not follow from counts of parts.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[1, 1, 1, 1], [2, 2, 0, 1]])
    >>> names = ["label", "num_pixels", "euler_number"]
    >>> left = count_part(labels[:, :3], properties=names, box=[(0, 2), (0, 2)], shape=(2, 4))
    >>> right = count_part(labels[:, 1:], properties=names, box=[(0, 2), (1, 3)],
    ...                    origin=(0, 1), shape=(2, 4))
    >>> compute_table(left.merge(right), names)
    {'label': array([1, 2]), 'num_pixels': array([5, 2]), 'euler_number': array([1, 1])}
    """
    labels = check_labels(label_image)
    rank = labels.ndim - bool(stacked)
    values = check_values(intensity_image, labels.shape)
    steps = check_spacing(spacing, rank)
    names = (properties,) if isinstance(properties, str) else tuple(properties)
    plan = make_plan(names, (), labels.ndim, bool(stacked), len(set(steps)) < 2, first=True)
    check_intensity(plan.intensity, values)
    for _, key in (*plan.columns, *plan.fallback):
        if not PROPERTIES[key].mergeable:
            message = (
                f"properties must be counts that parts add up to; got {key!r}. "
                "Ask `regionprops_table` for it."
            )
            raise ValueError(message)
    whole = labels.shape if shape is None else tuple(shape)
    corner = (0,) * labels.ndim if origin is None else tuple(origin)
    _check_part(labels.shape, box, corner, whole)
    return move(count_labels(labels, values, plan, box), corner, whole)


def merge_counts(parts: Sequence[Counts]) -> Counts:
    """Return the counts of parts of an image, merged two by two."""
    while len(parts) > 1:  # always in the same order, as sums of floats depend on it
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [*(one.merge(other) for one, other in pairs), *parts[len(parts) & ~1 :]]
    return parts[0]


def compute_table(
    counts: Counts,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    separator: str = "-",
    spacing: float | Sequence[float] | None = None,
) -> dict[str, HostArray]:
    """Compute columns from counts, as `regionprops_table` does from an image.

    `properties` must have been counted. Spacings must be equal along all axes if they were for
    `count_part`, and may differ only if they did.
    """
    steps = check_spacing(spacing, counts.layout.rank)
    keys = resolve_names(tuple(properties))
    groups = compute_columns(counts, keys, steps, separator)
    return {name: column for group in groups.values() for name, column in group.items()}


def move(counts: Counts, origin: tuple[int, ...], shape: tuple[int, ...]) -> Counts:
    """Convert counts in coordinates of a piece to those of the whole image, of a given shape.

    `origin` is the position of the first pixel of the piece.
    """
    layout, table = counts.layout, counts.table.copy()
    start = np.array(origin, np.int64)
    sides = np.array(counts.shape, np.int64)
    table[:, layout["lows"]] += np.array(shape, np.int64) - start - sides
    table[:, layout["highs"]] += start
    if layout.first:
        table[:, layout["first"]] = _move_first(counts, start, shape)[:, None]
    columns, high = layout.wide_columns, None
    if wide.may_be_wide(shape, layout):
        rough = counts.table.astype(np.float64)
        if counts.high is not None:
            rough[:, columns] = counts.high
        high = wide.moved(rough, layout, start.astype(np.float64))
    table[:, columns] = wide.moved(counts.table, layout, start)
    return replace(counts, table=table, shape=shape, high=high)


def _move_first(
    counts: Counts, start: NDArray[np.int64], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Convert the column of first pixels from indices in a piece to those in the whole image."""
    if not len(counts.labels):
        return np.empty(0, np.int64)
    position = np.stack(np.unravel_index(counts.first_pixels, counts.shape)) + start[:, None]
    return np.asarray(prod(shape) - np.ravel_multi_index(tuple(position), shape))


def _check_part(
    sides: tuple[int, ...], box: Box | None, origin: tuple[Any, ...], shape: tuple[Any, ...]
) -> None:
    """Raise TypeError or ValueError unless a box lies in a piece and the piece in the image."""
    axes = len(sides)
    spans = [(0, side) for side in sides] if box is None else [tuple(span) for span in box]
    for name, numbers, count in (
        ("box", [end for span in spans for end in span], 2 * axes),
        ("origin", origin, axes),
        ("shape", shape, axes),
    ):
        if len(numbers) != count or not all(isinstance(n, (int, np.integer)) for n in numbers):
            each = "two whole numbers" if name == "box" else "a whole number"
            message = f"{name} must hold {each} for each of {axes} axes; got {numbers!r}."
            raise TypeError(message)
    if any(
        len(span) != 2 or not 0 <= span[0] <= span[1] <= n
        for span, n in zip(spans, sides, strict=True)
    ):
        message = f"box must lie in the piece, of shape {sides}; got {spans!r}."
        raise ValueError(message)
    if any(
        begin < 0 or begin + side > whole
        for begin, side, whole in zip(origin, sides, shape, strict=True)
    ):
        message = (
            f"origin and shape must hold the piece, of shape {sides}; got origin {origin!r} and "
            f"shape {shape!r}."
        )
        raise ValueError(message)
