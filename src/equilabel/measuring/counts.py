"""`Layout` and `Counts`: integers for each component, and which column holds what."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from equilabel.domains.grid import half, offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

# ---- The table of counts from which columns follow: one layout for all devices
# A kernel fills a table of int64 with a row for each label, zeros where nothing was added. Tables
# of parts merge: columns add up (modulo 2**64), except `lows`, `highs` and `first`, of which the
# greatest is kept. Groups of columns, in this order, each only if it is needed:
#
# =========== ======================= ============================================================
# group       columns                 holds
# =========== ======================= ============================================================
# pixels      1                       number of pixels
# sums        axes                    sum of the coordinates along each axis of the image
# lows        axes                    greatest of ``side - coordinate``: first = side - low
# highs       axes                    greatest of ``coordinate + 1``
# first       1                       greatest of ``size - flat index``: that of the first pixel
# seconds     rank * (rank + 1) / 2   sums of products of two spatial coordinates: in 3D zz, zy, zx,
#                                     yy, yx, xx
# pairs       len(steps)              pixels whose neighbor at each of `steps` has the same label
# euler_face  1                       Euler number if faces connect
# euler_full  1                       Euler number if corners connect too
# outline     2 or 3                  border pixels by what they add to the perimeter: sixths of a
#                                     step along the axes, then halves of a diagonal step; sixths
#                                     along y and along x have columns of their own where the
#                                     spacings differ
# =========== ======================= ============================================================
#
# Coordinates count from the first pixel of the image. The rank is the number of spatial axes, one
# less than the axes of the image with `stacked`.

AXES = 6  # of an image, at most
Steps = Literal["none", "faces", "all"]
Outline = Literal["none", "equal", "uneven"]


@dataclass(frozen=True)
class Layout:
    """Which columns a table of counts has, and where.

    >>> layout = Layout(axes=2, pairs="all", euler_full=True)
    >>> layout.width, layout["pairs"], layout["euler_full"]
    (12, slice(7, 11, None), slice(11, 12, None))
    >>> layout.steps.tolist()
    [[0, -1, -1], [0, -1, 0], [0, -1, 1], [0, 0, -1]]
    """

    axes: int  # of the image, 1 to 6
    stacked: bool = False  # whether the first axis counts images
    first: bool = False  # whether the smallest flat index is kept
    seconds: bool = False  # whether products of coordinates are summed
    pairs: Steps = "none"  # earlier neighbors that are compared and counted: rank 2 or 3
    euler_face: bool = False  # this and the next need rank 2 or 3 and compare all neighbors
    euler_full: bool = False
    outline: Outline = "none"  # border pixels, for equal or uneven spacings: rank 2 only

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return self.axes - self.stacked

    @property
    def spatial(self) -> range:
        """Spatial axes, numbered as those of an image of six axes: the last one is 5."""
        return range(AXES - self.rank, AXES)

    @property
    def compared(self) -> Steps:
        """Earlier neighbors that have to be compared: may be more than are counted."""
        if self.euler_face or self.euler_full or self.outline != "none":
            return "all"
        return self.pairs

    @cached_property
    def steps(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Steps (z, y, x) to the earlier neighbors that are counted, in raster order."""
        return steps_to(self.rank, self.pairs)

    @cached_property
    def products(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
        """Spatial axes of the two coordinates that each of `seconds` multiplies."""
        one, other = np.triu_indices(self.rank if self.seconds else 0)
        return one.astype(np.int64), other.astype(np.int64)

    @cached_property
    def widths(self) -> dict[str, int]:
        """Number of columns of each group."""
        return {
            "pixels": 1,
            "sums": self.axes,
            "lows": self.axes,
            "highs": self.axes,
            "first": int(self.first),
            "seconds": self.seconds * self.rank * (self.rank + 1) // 2,
            "pairs": 0 if self.pairs == "none" else len(self.steps),
            "euler_face": int(self.euler_face),
            "euler_full": int(self.euler_full),
            "outline": {"none": 0, "equal": 2, "uneven": 3}[self.outline],
        }

    @property
    def greatest(self) -> slice:
        """Columns of which the greatest value is kept; all others add up."""
        return slice(self["lows"].start, self["first"].stop)

    @cached_property
    def wide_columns(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Columns of sums and of products of coordinates, which may need two words."""
        columns = np.arange(self.width, dtype=np.int64)
        return np.concatenate([columns[self["sums"]], columns[self["seconds"]]])

    @cached_property
    def width(self) -> int:
        """Number of all columns."""
        return sum(self.widths.values())

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = list(accumulate(self.widths.values()))
        return {
            group: slice(end - width, end)
            for (group, width), end in zip(self.widths.items(), ends, strict=True)
        }

    def __getitem__(self, group: str) -> slice:
        """Return the columns of a group."""
        return self._slices[group]


def steps_to(rank: int, neighbors: Steps) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """List the steps (z, y, x) to earlier neighbors, in raster order; the last is to the left.

    Only the last three axes have steps. "none" has the step to the left, without which there are
    no runs.

    >>> steps_to(3, "faces").tolist()
    [[-1, 0, 0], [0, -1, 0], [0, 0, -1]]
    >>> [len(steps_to(rank, "all")) for rank in (2, 3)]
    [4, 13]
    """
    axes = 1 if neighbors == "none" else min(rank, 3)
    steps = half(offsets(axes, axes if neighbors == "all" else 1))
    return np.pad(steps, ((0, 0), (3 - axes, 0)))


# ---- Formulas that a kernel applies to the table of counts, numbered as in `columns.cuh`


class Formula(IntEnum):
    """Formula of a column, and the meaning of `one`, `other` and the weights of its step.

    Axes are numbered as by `Layout.spatial`.
    """

    LABEL = 0
    COUNT = 1  # column `one` of the table
    FIRST = 2  # smallest coordinate along axis `one`
    WEIGHED = 3  # `other` columns from `one` on, each times its weight
    INTERCEPTS = 4  # likewise, each column subtracted from the number of pixels
    BOX_SIZE = 5
    EXTENT = 6
    CENTROID = 7  # along axis `one`
    LOCAL = 8  # along axis `one`
    DIAMETER = 9
    TOUCHES = 10
    CIRCULARITY = 11  # from the length that `INTERCEPTS` gives
    SPHERICITY = 12  # from the area that `INTERCEPTS` gives
    TENSOR = 13  # entry `one`, `other` of the inertia tensor
    EIGENVALUE = 14  # number `one`
    AXIS = 15  # number `one`, longest first
    ECCENTRICITY = 16
    ORIENTATION = 17
    AXES_RATIO = 18  # axis `one` divided by axis `other`
    VALUE_SUM = 19
    VALUE_MEAN = 20
    VALUE_LOW = 21
    VALUE_HIGH = 22
    VALUE_STD = 23


WHOLE = frozenset({Formula.LABEL, Formula.COUNT, Formula.FIRST, Formula.VALUE_SUM})
"""Formulas that give int64; `TOUCHES` gives bool, all others float64."""


class Step(NamedTuple):
    """One column: a formula, and the numbers that `Formula` explains."""

    formula: Formula
    one: int = 0
    other: int = 0
    weights: tuple[float, ...] = ()


# ---- Exact sums over coordinates that do not fit into 64 bits
# Tables of counts hold sums modulo 2**64. That is enough if the sums relative to the bounding box
# of a label fit, which are at most its pixels times two sides of the box. Of larger labels (a line
# of 5 million pixels, a cube of 10,000 voxels along each side) the same sums are kept as floats,
# too, which tell what is missing.

LIMIT = 2**62  # bound of a difference of two sums
WORD = 2**64


def find_wide(
    table: NDArray[np.int64], layout: Layout, sides: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return the rows of a table whose sums relative to their box may not fit into 64 bits.

    >>> layout = Layout(axes=1, seconds=True)
    >>> lines = [[length, 0, length, length, 0] for length in (10, 10**6, 10**7)]
    >>> find_wide(np.array(lines), layout, (10**7,)).tolist()
    [2]
    """
    if not may_be_wide(sides, layout):
        return np.empty(0, np.int64)
    first = np.array(sides, np.int64) - table[:, layout["lows"]]
    extents = (table[:, layout["highs"]] - first)[:, int(layout.stacked) :].astype(np.float64)
    most = extents.max(axis=1, initial=1) ** (1 + layout.seconds) * table[:, 0]
    return np.flatnonzero(most >= LIMIT)


def may_be_wide(sides: tuple[int, ...], layout: Layout) -> bool:
    """Return whether an image is so large that sums of a label may not fit into 64 bits."""
    return largest_sum(tuple(sides), layout.stacked, layout.seconds) >= LIMIT


@lru_cache(256)
def largest_sum(sides: tuple[int, ...], stacked: bool, products: bool) -> int:
    """Return an upper bound of sums of coordinates, or of products of two, in an image."""
    longest = int(max(sides[int(stacked) :], default=1))
    return prod(map(int, sides)) * (longest * longest if products else longest)


def moved(table: HostArray, layout: Layout, origin: HostArray) -> HostArray:
    """Return sums of coordinates and products, moved by `origin`, (axes,) or (N, axes).

    The columns are `Layout.wide_columns`: integers modulo 2**64, or floats.
    """
    pixels, sums = table[:, :1], table[:, layout["sums"]]
    one, other = layout.products
    begin, near = origin[..., layout.axes - layout.rank :], sums[:, layout.axes - layout.rank :]
    products = table[:, layout["seconds"]] + (
        begin[..., one] * near[:, other] + begin[..., other] * near[:, one]
        + begin[..., one] * begin[..., other] * pixels
    )  # fmt: skip
    return np.concatenate([sums + origin * pixels, products], axis=1)


def exact_sums(low: NDArray[np.int64], near: NDArray[np.float64]) -> HostArray:
    """Return sums as Python integers: modulo 2**64 they are `low`, and about `near`.

    >>> exact_sums(np.array([-10, 5]), np.array([3.7e19, 5.0])).tolist()
    [36893488147419103222, 5]
    """
    whole = np.vectorize(int, otypes=[object])(near)
    return np.asarray(whole + ((low - whole + WORD // 2) % WORD - WORD // 2))


# ---- Counts of every label, from which its columns follow
# Counts of parts of an image, merged, are exactly those of the whole.


class Values(NamedTuple):
    """Sums over the values of every label and channel, (N, C)."""

    sums: HostArray
    lows: HostArray
    highs: HostArray
    squares: NDArray[np.int64] | None = None  # sums of squared values: small integers, exact
    deviations: NDArray[np.float64] | None = None  # squared distances from the mean, otherwise


class Hulls(NamedTuple):
    """The convex hull of every label."""

    pixels: NDArray[np.int64]  # (N,), pixels of the hull
    starts: NDArray[np.int64]  # (N + 1,), where the corners of each label begin
    corners: NDArray[np.int64]  # (C, 3), outermost pixels of the hull; none if not needed

    def select(self, kept: NDArray[np.bool_]) -> Hulls:
        """Return the hulls of some labels."""
        counts = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(counts[kept])])
        return Hulls(self.pixels[kept], starts, self.corners[np.repeat(kept, counts)])


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of every label that occurs, in ascending order.

    `moments`, `hulls`, `filled` and `percentiles` cannot be merged.
    """

    labels: NDArray[np.int64]
    table: NDArray[np.int64]  # (N, layout.width), in coordinates of the whole image
    layout: Layout
    shape: tuple[int, ...]  # of the whole image
    single: bool = True  # whether the intensity image has no axis of channels
    values: Values | None = None
    high: NDArray[np.float64] | None = None  # sums and products as floats, see `exact_sums`
    # "raw", "central": (N, 4, 4[, 4]); "weighted", "weighted_central": (N, 4, 4[, 4], C)
    moments: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    periodic: tuple[bool, ...] = ()  # for each axis, or empty; boxes may end beyond the image
    hulls: Hulls | None = None
    filled: NDArray[np.int64] | None = None  # (N,), pixels of each label and of its holes
    percentiles: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # (N, C); 50: medians

    @property
    def pixels(self) -> NDArray[np.int64]:
        """Number of pixels of each label, (N,)."""
        return self.table[:, 0]

    def group(self, name: str) -> NDArray[np.int64]:
        """Return the columns of a group of the table."""
        return self.table[:, self.layout[name]]

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """Smallest coordinate of each label along each axis of the image, (N, axes)."""
        begins: NDArray[np.int64] = self.shape - self.group("lows")
        return begins

    @property
    def ends(self) -> NDArray[np.int64]:
        """Largest coordinate + 1 of each label along each axis of the image, (N, axes)."""
        return self.group("highs")

    @property
    def first_pixels(self) -> NDArray[np.int64]:
        """Smallest flat index of each label in the whole image, (N,); needs `layout.first`."""
        return prod(self.shape) - self.group("first")[:, 0]

    def exact_sums(self, rows: NDArray[np.int64]) -> tuple[HostArray, HostArray]:
        """Return sums along spatial axes, and of products, of some labels as Python integers."""
        layout = self.layout
        low = self.table[rows][:, layout.wide_columns]
        exact = exact_sums(low, np.asarray(self.high)[rows])
        return exact[:, layout.axes - layout.rank : layout.axes], exact[:, layout.axes :]

    def select(self, kept: NDArray[np.bool_]) -> Counts:
        """Return the counts of some labels, numbered consecutively from 1."""
        return replace(
            self.take(np.flatnonzero(kept)),
            labels=np.arange(1, np.count_nonzero(kept) + 1),
            moments={name: sums[kept] for name, sums in self.moments.items()},
            periodic=self.periodic,
            hulls=None if self.hulls is None else self.hulls.select(kept),
            filled=None if self.filled is None else self.filled[kept],
            percentiles={name: each[kept] for name, each in self.percentiles.items()},
        )

    def take(self, rows: NDArray[np.integer]) -> Counts:
        """Return the counts of some rows, with their labels; without what cannot be merged."""

        def part(values: Array) -> Array:
            return None if values is None else values[rows]

        return Counts(
            self.labels[rows],
            np.asfortranarray(self.table[rows]),
            self.layout,
            self.shape,
            self.single,
            None if self.values is None else Values(*map(part, self.values)),
            part(self.high),
        )

    def merge(self, other: Counts) -> Counts:
        """Return the counts of two parts of an image without common pixels, or raise ValueError.

        Integers are exact in any order; squared distances of floats from their mean up to rounding.
        """
        _check_mergeable(self, other)
        labels = np.union1d(self.labels, other.labels)
        rows = [np.searchsorted(labels, part.labels) for part in (self, other)]
        table = np.zeros((len(labels), self.layout.width), np.int64)
        greatest = self.layout.greatest
        for row, part in zip(rows, (self, other), strict=True):
            most = np.maximum(table[row, greatest], part.table[:, greatest])
            table[row] += part.table
            table[row, greatest] = most
        values = high = None
        if self.values is not None and other.values is not None:
            parts, pixels = (self.values, other.values), (self.pixels, other.pixels)
            with np.errstate(all="ignore"):  # of infinite and very large values
                values = _merge_values(len(labels), rows, parts, pixels)
        if self.high is not None:
            high = np.zeros((len(labels), len(self.layout.wide_columns)))
            for row, part in zip(rows, (self, other), strict=True):
                high[row] += np.asarray(part.high)
        return Counts(labels, table, self.layout, self.shape, self.single, values, high)


def _check_mergeable(one: Counts, other: Counts) -> None:
    """Raise ValueError unless the counts of two parts can be merged."""
    alike = (one.layout, one.shape, one.single) == (other.layout, other.shape, other.single)
    same_values = (one.values is None) == (other.values is None)
    parts = not any(  # these need all pixels of a label
        part.moments or part.periodic or part.hulls or part.filled is not None or part.percentiles
        for part in (one, other)
    )
    if not (alike and same_values and parts):
        message = (
            "other must hold counts of the same properties and whole shape, without moments, "
            f"hulls, holes and medians; got shapes {one.shape} and {other.shape}. Count with the "
            "same properties and shape."
        )
        raise ValueError(message)


def means_of(values: Values, pixels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean value of each label and channel, (N, C)."""
    return np.asarray(values.sums / pixels[:, None])


def deviations_of(values: Values, pixels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of squared distances of values from their mean, (N, C)."""
    if values.squares is None:
        found = np.asarray(values.deviations)  # rounding puts the mean of equal values beside them
        return np.where((values.lows == values.highs) & np.isfinite(found), 0.0, found)
    # Sums around the integer next to the mean are exact: products wrap around at 2**64.
    count = pixels[:, None]
    near = np.rint(values.sums / count).astype(np.int64)
    rest = values.sums - near * count
    around = values.squares - near * (values.sums + rest)
    return np.asarray(around - rest * (rest / count))


def _merge_values(
    count: int,
    rows: list[NDArray[np.int64]],
    parts: tuple[Values, Values],
    pixels: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> Values:
    """Add sums, keep minima and maxima, and merge squares or deviations."""

    def spread(one: HostArray, other: HostArray) -> list[HostArray]:
        """Give an array of each part a row for every label."""
        whole = [np.zeros((count, *part.shape[1:]), part.dtype) for part in (one, other)]
        for row, to, part in zip(rows, whole, (one, other), strict=True):
            to[row] = part
        return whole

    one, other = parts
    numbers = [number[:, None] for number in spread(*pixels)]
    missing = [number == 0 for number in numbers]

    def choose(keep: Array, first: HostArray, second: HostArray) -> HostArray:
        """Apply `keep` where both parts have a label; else take that of the one part."""
        whole = spread(first, second)
        return np.where(missing[0], whole[1], np.where(missing[1], whole[0], keep(*whole)))

    merged = Values(
        _add_sums(*spread(one.sums, other.sums)),
        choose(np.minimum, one.lows, other.lows),
        choose(np.maximum, one.highs, other.highs),
    )
    if one.squares is not None and other.squares is not None:
        squares = spread(one.squares, other.squares)
        if sum(int(part.max(initial=0)) for part in squares) < 2**63:
            return merged._replace(squares=squares[0] + squares[1])
    elif one.squares is None and one.deviations is None:
        return merged
    means = spread(*(means_of(part, n) for part, n in zip(parts, pixels, strict=True)))
    apart = spread(*(deviations_of(part, n) for part, n in zip(parts, pixels, strict=True)))
    between = numbers[0] * (numbers[1] / (numbers[0] + numbers[1]))  # Chan, Golub, LeVeque 1979
    return merged._replace(deviations=apart[0] + apart[1] + (means[1] - means[0]) ** 2 * between)


def _add_sums(one: HostArray, other: HostArray) -> HostArray:
    """Add sums, as float64 if int64 might overflow."""
    if one.dtype.kind == "i" and one.size:
        most = np.abs(one.astype(np.float64)).max() + np.abs(other.astype(np.float64)).max()
        if most >= 2.0**63:
            return np.asarray(one.astype(np.float64) + other)
    return np.asarray(one + other)
