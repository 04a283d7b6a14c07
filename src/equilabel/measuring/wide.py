"""Sums over coordinates that 64 bits do not hold: exact, for the labels that need it.

Tables of counts hold sums modulo 2**64, which is enough as long as differences around the bounding
box of a label fit: the sum of products of two distances, at most pixels times both sides of the
box. Labels beyond that (a line of 5 million pixels, a cube of 10,000 voxels along each side) are
summed again, in boxes of the image that are small enough, and added up as Python integers.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.kernels.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray


LIMIT = 2**62  # what a difference of two sums may reach
WORD = 2**64


def find_wide(
    table: NDArray[np.int64], layout: Layout, sides: tuple[int, ...]
) -> NDArray[np.int64]:
    """Find the rows of a table whose sums around their own box may leave 64 bits.

    Examples
    --------
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
    """Return whether an image is so large that 64 bits may not hold the sums of a label."""
    return largest_sum(tuple(sides), layout.stacked, layout.seconds) >= LIMIT


@lru_cache(256)
def largest_sum(sides: tuple[int, ...], stacked: bool, products: bool) -> int:
    """Return what sums of coordinates, or of products of two, cannot exceed in an image."""
    longest = int(max(sides[int(stacked) :], default=1))
    return prod(map(int, sides)) * (longest * longest if products else longest)


def sum_wide(
    kernels: ModuleType,
    labels: Array,
    wanted: NDArray[np.int64],
    layout: Layout,
) -> HostArray:
    """Sum coordinates, and products of two, of some labels exactly.

    Parameters
    ----------
    kernels : module
        `equilabel.kernels.<device>.accumulate`, of the device that holds the labels.
    labels : C-contiguous array of int
        Image of labels.
    wanted : (K,) array of int64
        Labels, ascending.
    layout : Layout
        Which columns to sum: those of `Layout.wide_columns`.

    Returns
    -------
    (K, C) array of Python integers
    """
    plain = Layout(layout.axes, layout.stacked, seconds=layout.seconds)
    total = np.zeros((len(wanted), len(plain.wide_columns)), object)
    for box in boxes(labels.shape, 1 + layout.seconds):
        part = labels[tuple(slice(*span) for span in box)].copy(order="C")
        found = kernels.Accumulator(kernels.LabelSource(part), plain)
        at = np.searchsorted(found.labels, wanted).clip(max=max(0, len(found.labels) - 1))
        here = np.flatnonzero(found.labels[at] == wanted) if len(found.labels) else at[:0]
        sums = found.table[at[here]].astype(object)
        total[here] += moved(sums, plain, np.array([begin for begin, _ in box], object))
    return total


def moved(table: HostArray, layout: Layout, origin: HostArray) -> HostArray:
    """Return sums of coordinates and of products with the coordinates moved by an origin.

    Parameters
    ----------
    table : (N, layout.width) array of int64 or of Python integers
        Counts in coordinates of a part.
    origin : (axes,) or (N, axes) array
        First pixel of the part in the whole image, of the type of the result; for all rows, or
        for each.

    Returns
    -------
    (N, C) array
        Of the columns of `Layout.wide_columns`; modulo 2**64 unless Python integers come in.
    """
    pixels, sums = table[:, :1], table[:, layout["sums"]]
    one, other = layout.products
    begin, near = origin[..., layout.axes - layout.rank :], sums[:, layout.axes - layout.rank :]
    products = table[:, layout["seconds"]] + (
        begin[..., one] * near[:, other] + begin[..., other] * near[:, one]
        + begin[..., one] * begin[..., other] * pixels
    )  # fmt: skip
    return np.concatenate([sums + origin * pixels, products], axis=1)


def upper_words(
    table: NDArray[np.int64],
    layout: Layout,
    rows: NDArray[np.int64],
    exact: HostArray,
) -> NDArray[np.int64]:
    """Return what `Counts.high` holds: right in the rows whose exact sums are given."""
    high = np.zeros((len(table), len(layout.wide_columns)), np.int64)
    high[rows] = split(exact)[1]
    return high


def boxes(shape: tuple[int, ...], power: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Cut an image into boxes whose sums of coordinates to a power fit into 64 bits.

    Examples
    --------
    >>> sum(1 for _ in boxes((3, 8_000_000), 2))
    8
    """
    sides = list(shape)
    while prod(sides) * max(sides, default=1) ** power >= LIMIT:
        longest = sides.index(max(sides))
        sides[longest] = -(-sides[longest] // 2)
    spans = [
        [(begin, min(begin + side, end)) for begin in range(0, end, side)]
        for side, end in zip(sides, shape, strict=True)
    ]
    yield from product(*spans)


def split(numbers: HostArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split integers of 128 bits into low and high words, both as int64."""
    low = (numbers % WORD).astype(np.uint64).view(np.int64)
    return low, (numbers // WORD).astype(np.int64)


def join(low: NDArray[np.int64], high: NDArray[np.int64]) -> HostArray:
    """Put words of `split` together, as Python integers."""
    return np.asarray(low.view(np.uint64).astype(object) + high.astype(object) * WORD)


def add(
    one: tuple[NDArray[np.int64], NDArray[np.int64]],
    other: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add integers of two words each, as `split` gives them.

    Examples
    --------
    >>> numbers = np.array([2**64 - 1, -5], object)
    >>> join(*add(split(numbers), split(numbers))).tolist()
    [36893488147419103230, -10]
    """
    low = one[0] + other[0]
    carried = low.view(np.uint64) < one[0].view(np.uint64)
    return low, one[1] + other[1] + carried
