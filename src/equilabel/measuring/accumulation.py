"""What is accumulated for each label, and from which its columns follow."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .intensities import sum_values
from .properties import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from equilabel.kernels.layout import Layout

    from .wide import Wide


class Accumulation:
    """Counts of every label that occurs, in ascending order, by what they count.

    Parameters
    ----------
    labels : (N,) array of int64
    table : (N, layout.width) array of int64
        As `equilabel.kernels.layout` says.
    layout : Layout
    sides : tuple of int
        Shape of the image.
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    survey : object, optional
        What made the counts, for sums over pixels: `equilabel.kernels.cpu.measuring.Survey`.
    values : array, optional
        Intensities, of the shape of the image, with or without an axis of channels at the end.
    wide : Wide, optional
        Exact sums of the labels for which 64 bits do not suffice.

    Attributes
    ----------
    pixels : (N,) array of int64
    sides : (rank,) array of int64
        Sides of the image along spatial axes.
    spacing : (rank,) array of float64

    Raises
    ------
    ValueError
        If a label is negative, or lies in several images of a stack.
    """

    def __init__(
        self,
        labels: NDArray[np.int64],
        table: NDArray[np.int64],
        layout: Layout,
        sides: tuple[int, ...],
        spacing: tuple[float, ...],
        survey: Any = None,
        values: NDArray[Any] | None = None,
        wide: Wide | None = None,
    ) -> None:
        self.labels = labels
        self._wide = wide
        self.layout = layout
        self.spacing = np.array(spacing)
        self._table = np.asfortranarray(table)  # formulas go column by column
        self.pixels = self._table[:, 0]
        self._survey = survey
        self._sides = np.array(sides, np.int64)
        if layout.stacked:
            _check_frames(labels, *self._box[:, :, 0])
        self.sides = self._sides[int(layout.stacked) :]
        self.single = values is not None and values.ndim == layout.axes
        self._values = None
        if values is not None:
            pixels = math.prod(sides)
            self._values = values.reshape(pixels, 1 if self.single else values.shape[-1])

    def apart(self, column: NDArray[Any]) -> NDArray[Any]:
        """Copy a column if it is a view of the counts, so that they can go."""
        return column.copy() if np.may_share_memory(column, self._table) else column

    def group(self, name: str) -> NDArray[np.int64]:
        """Return the columns of a group of the table."""
        return self._table[:, self.layout[name]]

    @cached_property
    def _box(self) -> NDArray[np.int64]:
        """Least and greatest + 1 of the coordinates along each axis of the image."""
        lows, highs = self.group("lows"), self.group("highs")
        return np.stack([(self._sides - lows).T, highs.T]).transpose(0, 2, 1)

    @property
    def first(self) -> NDArray[np.int64]:
        """Least coordinate along each spatial axis."""
        return np.asarray(self._box[0, :, int(self.layout.stacked) :])

    @property
    def last(self) -> NDArray[np.int64]:
        """Greatest coordinate + 1 along each spatial axis."""
        return np.asarray(self._box[1, :, int(self.layout.stacked) :])

    @property
    def frames(self) -> NDArray[np.int64]:
        """Image of a stack in which the label is."""
        return np.asarray(self._box[0, :, 0])

    @property
    def sums(self) -> NDArray[np.int64]:
        """Sum of the coordinates along each spatial axis."""
        return self.group("sums")[:, int(self.layout.stacked) :]

    @cached_property
    def local(self) -> NDArray[np.float64]:
        """Mean coordinate along each axis from the corner of the bounding box, in pixels."""
        sums = self.sums - self.first * self.pixels[:, None]  # exact even where sums wrapped
        local = np.asarray(sums / self.pixels[:, None])
        if self._wide is not None:
            rows = self._wide.rows
            pixels = self.pixels[rows, None].astype(object)
            local[rows] = (self._wide.sums - self.first[rows].astype(object) * pixels) / pixels
        return local

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Sums of products of two distances from the centroid, in pixels: zz, zy, zx, yy, ..."""
        near = self.first + np.rint(self.local).astype(np.int64)
        rest = self.sums - near * self.pixels[:, None]
        one, other = self.layout.products
        # Whole numbers around the pixel next to the centroid: exact, as products wrap around.
        shifted = (
            self.group("seconds")
            - near[:, one] * self.sums[:, other]
            - near[:, other] * rest[:, one]
        )
        around = np.asarray(shifted - rest[:, one] * (rest[:, other] / self.pixels[:, None]))
        if self._wide is not None:
            rows, sums, products = self._wide
            pixels = self.pixels[rows, None].astype(object)
            around[rows] = (products * pixels - sums[:, one] * sums[:, other]) / pixels
        return around

    @cached_property
    def values(self) -> tuple[NDArray[Any], ...]:
        """Sum, least and greatest value of each label and channel, (N, C) each.

        For small integers the sum of squares too.
        """
        return sum_values(self._survey, self._values, self.pixels)

    def look(self) -> None:
        """Sum the values now, while what makes the sums is there."""
        _ = self.values

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean value of each label and channel, (N, C)."""
        return np.asarray(self.values[0] / self.pixels[:, None])

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Mean squared distance of values from their mean, (N, C)."""
        pixels = self.pixels[:, None]
        if len(self.values) < 4:
            return np.asarray(self._survey.squares(self._values, self.means) / pixels)
        # Whole numbers around the one next to the mean: exact, as products wrap around.
        near = np.rint(self.means).astype(np.int64)
        sums, squares = self.values[0], self.values[3]
        rest = sums - near * pixels
        around = squares - near * (sums + rest)
        return np.asarray((around - rest * (rest / pixels)) / pixels)

    def channels(self, column: NDArray[Any]) -> NDArray[Any]:
        """Drop the last axis, of channels, if the intensity image has none."""
        return column[..., 0] if self.single else column

    @cached_property
    def raw(self) -> NDArray[np.float64]:
        """Moments around the corner of the bounding box, (N, 4, 4[, 4])."""
        return self._powers(self._survey.powers(self.first.astype(float)))

    @cached_property
    def central(self) -> NDArray[np.float64]:
        """Moments around the centroid, (N, 4, 4[, 4])."""
        return self._powers(self._survey.powers(self.first + self.local))

    @cached_property
    def weighted(self) -> NDArray[np.float64]:
        """Moments of values around the corner of the bounding box, (N, 4, 4[, 4], C)."""
        corner = self.first.astype(float)
        return self._each_channel(lambda channel: corner)

    @cached_property
    def weighted_local(self) -> NDArray[np.float64]:
        """Mean coordinate weighted by values from the corner, (N, rank, C), times the spacing."""
        rank = len(self.spacing)
        flat = self.weighted.reshape(len(self.labels), 4**rank, self.weighted.shape[-1])
        whole = flat[:, 0]
        parts = [flat[:, 4 ** (rank - 1 - axis)] / whole for axis in range(rank)]
        return np.stack(parts, axis=1)

    @cached_property
    def weighted_central(self) -> NDArray[np.float64]:
        """Moments of values around their centroid, (N, 4, 4[, 4], C)."""
        local = self.weighted_local / self.spacing[:, None]
        return self._each_channel(lambda channel: self.first + local[..., channel])

    def _each_channel(self, centers: Any) -> NDArray[np.float64]:
        count = 0 if self._values is None else self._values.shape[1]
        parts = [
            self._powers(self._survey.weighted(self._values, channel, centers(channel)))
            for channel in range(count)
        ]
        shape = (len(self.labels), *(4,) * len(self.spacing), 0)
        return np.stack(parts, axis=-1) if parts else np.zeros(shape)

    def _powers(self, flat: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give powers an axis for each exponent, and the unit of the spacing."""
        rank = len(self.spacing)
        powers = flat.reshape(-1, *(4,) * rank)
        for axis, step in enumerate(self.spacing):
            shape = [1] * (rank + 1)
            shape[1 + axis] = 4
            powers = powers * (step ** np.arange(4)).reshape(shape)
        return powers


def plan(
    names: Iterable[str], axes: int, stacked: bool, spacing: tuple[float, ...]
) -> tuple[Layout, bool]:
    """Tell what to count for some properties, and whether sums over pixels follow.

    Examples
    --------
    >>> layout, again = plan(["perimeter", "area"], 2, False, (1.0, 1.0))
    >>> layout.outline, layout.pairs, layout.seconds, again
    ('equal', 'none', False, False)
    """
    from equilabel.kernels.layout import Layout

    rows = [PROPERTIES[name] for name in names]
    needs = {need for row in rows for need in row.needs}
    outline = ("equal" if len(set(spacing)) == 1 else "uneven") if "outline" in needs else "none"
    again = any(row.intensity or row.name.startswith("moments") for row in rows)
    layout = Layout(
        axes=axes,
        stacked=stacked,
        seconds="seconds" in needs,
        pairs="all" if "all" in needs else "faces" if "faces" in needs else "none",
        euler_face="euler_face" in needs,
        euler_full="euler_full" in needs,
        outline=outline,  # type: ignore[arg-type]
    )
    return layout, again


def _check_frames(
    labels: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> None:
    torn = np.flatnonzero(last - first > 1)
    if torn.size:
        message = (
            "label_image must hold every label in one image of the stack; got label "
            f"{labels[torn[0]]} in several. Label it with `label(..., stacked=True)`."
        )
        raise ValueError(message)
