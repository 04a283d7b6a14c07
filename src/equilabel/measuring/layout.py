"""The columns of a table of counts, and the formulas that a device applies to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np

from equilabel.domains.neighborhood import half, offsets

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
