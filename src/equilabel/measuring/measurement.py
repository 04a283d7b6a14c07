"""`Measurement`: counts with spacing, from which formulas make columns; `Property`: their row."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from .counts import Layout, Step, deviations_of, find_wide, means_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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

    def percentile(self, percent: int) -> NDArray[np.float64]:
        """Return the median (50), or one of `PERCENTS`, of each label and channel, (N, C)."""
        return self._counted(self.counts.percentiles.get(percent), "percentiles")

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

    def moments(self, kind: str) -> NDArray[np.float64]:
        """Moments of a kind times powers of the spacing; axes 1 to rank are the exponents."""
        powers = self.counts.moments[kind]
        for axis, step in enumerate(self.spacing):
            shape = [1] * powers.ndim
            shape[1 + axis] = 4
            powers = powers * (step ** np.arange(4)).reshape(shape)
        return powers


PERCENTS = (5, 10, 25, 75, 90, 95)  # of the columns of percentiles
ON_HOST = frozenset(
    {"hull", "corners", "filled", "median", "percentiles"}
)  # need all pixels of a label

Parts: TypeAlias = "dict[tuple[int, ...], Step]"
"""The step of each part of a property, by the indices of the part."""


def parts(steps: Iterable[Step]) -> Parts:
    """Return the parts of a property with one index."""
    return {(k,): step for k, step in enumerate(steps)}


@dataclass(frozen=True)
class Property:
    """One property of labels."""

    name: str  # as in ``properties=``
    summary: str
    group: str  # heading in lists of properties
    ranks: tuple[int, ...] = ()  # numbers of spatial axes it is defined for; empty for any
    intensity: bool = False  # whether it needs an intensity image
    source: Literal["skimage", "equilabel"] = "skimage"  # whose definition it is
    # "" (none), "pixel", "length", "area", "size" (area in 2D, volume in 3D), "radian", "value"
    # (that of the intensity image), or powers of these.
    unit: str = ""
    needs: tuple[str, ...] = ()  # "box", groups of `Layout`, and sums that `Plan` lists
    # From counts to one value or array for each label; None if scikit-image computes it.
    formula: Callable[[Measurement], HostArray] | None = None
    # The same for a kernel: a step, or what gives one or several for a layout of counts and a
    # spacing. None if the formula is applied on the host, wherever labels are counted.
    step: Step | Callable[[Layout, tuple[float, ...]], Step | Parts | None] | None = field(
        kw_only=True
    )

    @property
    def counted(self) -> bool:
        """Whether it follows from counts that kernels make for all labels at once."""
        return self.formula is not None

    @property
    def periodic(self) -> bool:
        """Whether it is measured across periodic boundaries."""
        return self.counted and not set(self.needs) & ON_HOST

    @property
    def mergeable(self) -> bool:
        """Whether it follows from merged counts of parts of an image."""
        return self.periodic and not set(self.needs) & {"raw", "central", "weighted"}

    def steps(self, layout: Layout, spacing: tuple[float, ...]) -> Parts | None:
        """Return a step of a kernel for each part; None if the formula is applied on the host."""
        found = self.step(layout, spacing) if callable(self.step) else self.step
        return {(): found} if isinstance(found, Step) else found

    def compute(self, found: Measurement) -> HostArray:
        """Apply the formula."""
        if self.formula is None:
            message = f"property {self.name!r} has no formula; scikit-image computes it."
            raise TypeError(message)
        return self.formula(found)


FLAT, DEEP, BOTH = (2,), (3,), (2, 3)
OURS: Literal["equilabel"] = "equilabel"
POSITION, SHAPE, GRAY, MOMENTS = "Size and position", "Shape", "Gray values", "Moments"
PIXEL, LENGTH, AREA, SIZE, RADIAN, VALUE = "pixel", "length", "area", "size", "radian", "value"
POWERS, VALUE_POWERS = "powers of length", "value * powers of length"
