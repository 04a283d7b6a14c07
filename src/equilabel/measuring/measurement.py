"""Counts, and the quantities that several formulas derive from them."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .counts import deviations_of, find_wide, means_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .counts import Counts, Hulls, Values


Found = TypeVar("Found")


class Measurement:
    """Counts of every label, and what several formulas derive from them and the spacing.

    `rank` is the number of spatial axes.
    """

    def __init__(self, counts: Counts, spacing: tuple[float, ...]) -> None:
        self.counts = counts
        self.rank = len(spacing)
        self._spacing = spacing

    @cached_property
    def spacing(self) -> NDArray[np.float64]:
        """Distance between pixels along each spatial axis, (rank,)."""
        return np.array(self._spacing)

    @property
    def pixel_size(self) -> float:
        """Area (volume) of a pixel."""
        return prod(self._spacing)

    @property
    def pixels(self) -> NDArray[np.int64]:
        """Number of pixels of each label, (N,)."""
        return self.counts.pixels

    @property
    def sides(self) -> NDArray[np.int64]:
        """Sides of the image along spatial axes, (rank,)."""
        return np.array(self.counts.shape[-self.rank :], np.int64)

    def group(self, name: str) -> NDArray[np.int64]:
        """Return the columns of a group of the table of counts."""
        return self.counts.group(name)

    @property
    def periodic(self) -> NDArray[np.bool_]:
        """Whether each spatial axis is periodic, (rank,)."""
        periodic = self.counts.periodic or (False,) * self.rank
        return np.array(periodic[-self.rank :], np.bool_)

    def inside(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring positions in pixels, (N, rank[, C]), into the image along periodic axes."""
        if self.counts.periodic:
            shape = (self.rank,) + (1,) * (positions.ndim - 2)
            sides = np.where(self.periodic, self.sides, np.inf).reshape(shape)
            return np.asarray(np.where(np.isinf(sides), positions, positions % sides))
        return positions

    @property
    def first(self) -> NDArray[np.int64]:
        """Smallest coordinate along each spatial axis, (N, rank)."""
        return self.counts.begins[:, -self.rank :]

    @property
    def last(self) -> NDArray[np.int64]:
        """Largest coordinate + 1 along each spatial axis, (N, rank)."""
        return self.counts.ends[:, -self.rank :]

    @property
    def box(self) -> NDArray[np.int64]:
        """Smallest coordinate along each spatial axis, then largest + 1 along each, (N, 2 rank)."""
        box = np.empty((len(self.counts.table), 2 * self.rank), np.int64)
        box[:, : self.rank] = self.first
        box[:, self.rank :] = self.last
        return box

    @cached_property
    def local(self) -> NDArray[np.float64]:
        """Mean coordinate relative to the corner of the bounding box, in pixels, (N, rank)."""
        sums = self.group("sums")[:, -self.rank :]
        local = (sums - self.first * self.pixels[:, None]) / self.pixels[:, None]
        if len(self._wide):
            pixels = self.pixels[self._wide, None].astype(object)
            first = self.first[self._wide].astype(object)
            local[self._wide] = (self._exact[0] - first * pixels) / pixels
        return np.asarray(local)

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Sums of products of two distances from the centroid, in pixels: zz, zy, zx, yy, ...

        Sums relative to the pixel next to the centroid are exact: products wrap around at 2**64.
        """
        one, other = self.counts.layout.products
        sums = self.group("sums")[:, -self.rank :]
        near = self.first + np.rint(self.local).astype(np.int64)
        rest = sums - near * self.pixels[:, None]
        shifted = self.group("seconds") - near[:, one] * sums[:, other]
        shifted -= near[:, other] * rest[:, one]
        around = np.asarray(shifted - rest[:, one] * (rest[:, other] / self.pixels[:, None]))
        if len(self._wide):
            exact, products = self._exact
            pixels = self.pixels[self._wide, None].astype(object)
            around[self._wide] = (products * pixels - exact[:, one] * exact[:, other]) / pixels
        return around

    @cached_property
    def _wide(self) -> NDArray[np.int64]:
        """Rows of labels whose sums do not fit into 64 bits."""
        return find_wide(self.counts.table, self.counts.layout, self.counts.shape)

    @cached_property
    def _exact(self) -> tuple[HostArray, HostArray]:
        """Sums of coordinates and of products of the labels in `_wide`, as Python integers."""
        return self.counts.exact_sums(self._wide)

    def channels(self, column: HostArray) -> HostArray:
        """Drop the last axis, that of channels, if the intensity image has none."""
        return column[..., 0] if self.counts.single else column

    @property
    def values(self) -> Values:
        """Sums over the values of each label."""
        return self._counted(self.counts.values, "values")

    @property
    def hulls(self) -> Hulls:
        """Convex hull of each label."""
        return self._counted(self.counts.hulls, "hulls")

    @property
    def filled(self) -> NDArray[np.int64]:
        """Pixels of each label and of its holes."""
        return self._counted(self.counts.filled, "holes")

    @property
    def medians(self) -> NDArray[np.float64]:
        """Median of the values of each label and channel, (N, C)."""
        return self._counted(self.counts.medians, "medians")

    @staticmethod
    def _counted(found: Found | None, what: str) -> Found:
        if found is None:
            message = f"counts must hold {what} for this property; got none. Count them again."
            raise ValueError(message)
        return found

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean value of each label and channel, (N, C)."""
        return means_of(self.values, self.pixels)

    @property
    def variances(self) -> NDArray[np.float64]:
        """Mean squared distance of values from their mean, (N, C)."""
        return np.asarray(deviations_of(self.values, self.pixels) / self.pixels[:, None])

    def scaled(self, powers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply moments by powers of the spacing; axes 1 to rank are the exponents."""
        for axis, step in enumerate(self.spacing):
            shape = [1] * powers.ndim
            shape[1 + axis] = 4
            powers = powers * (step ** np.arange(4)).reshape(shape)
        return powers
