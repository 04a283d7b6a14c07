"""Counts of all strips of an image, in threads, added up in order."""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.measuring.counts import Layout, Values, means_of

from . import run_counts
from .sources import (
    LabelSource,
    RunSource,
    Strip,
    join,
    list_passes,
    measure_strip,
    rows_within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray


# ---- Counts of labels on the CPU: strips of rows in threads, added up in order
# A strip goes from pixels to planes of bits, then to a list of runs, and from both to a table of
# its labels. Strips depend only on the shape of the image, so that sums of floats have the same
# bits with any number of threads.

__all__ = ["Accumulator", "LabelSource", "RunSource"]

DENSE = 4  # entries that the tables of all threads have for each pixel, at most
STRIP = 2**20  # pixels of a strip, rounded down to whole rows


class Accumulator:
    """Counts of every label, and further sums over its pixels.

    `labels`, (N,), ascend; a negative one must not be used. `table` is (N, layout.width). With
    `keep`, `strips` have their runs (32 bytes each), and `slots` the rows of `table` of each strip.
    Pixels outside `box` are neighbors but do not count.
    """

    def __init__(
        self,
        source: LabelSource | RunSource,
        layout: Layout,
        keep: bool = False,
        box: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.layout = layout
        self.sides = source.sides
        self._shape = source.shape
        self._columns = source.sides[-1]
        if (
            isinstance(source, RunSource)
            and layout == Layout(layout.axes, layout.stacked)
            and not keep
        ):
            self.labels, self.table = _add_runs(source, layout)
            return
        passes = list_passes(layout)
        kept = None if box is None else rows_within(source.sides, box)
        columns = (0, self._columns) if box is None else box[-1]
        self.strips: list[Strip] = threads.each(
            lambda first, last: measure_strip(source, passes, first, last, kept, columns, keep),
            _strips_of(source.sides, STRIP),
        )
        self.labels, self.table, self.slots = join(self.strips, layout)

    def values(self, values: HostArray) -> tuple[HostArray, ...]:
        """Return sums, minima and maxima of the values of each label, (N, C), from values (P, C).

        Sums are exact int64 for integers of up to 32 bits, float64 otherwise. Integers of up to 16
        bits also have exact sums of squares.
        """
        each = supported(values).T
        kind, top, bottom, small = _sums_of(each.dtype)

        def room(labels: int) -> list[HostArray]:
            shape = (len(each), labels)
            lows, highs = np.empty(shape, each.dtype), np.empty(shape, each.dtype)
            lows.fill(top)
            highs.fill(bottom)
            squares = np.zeros((len(each), labels if small else 0), np.int64)
            return [np.zeros(shape, kind), lows, highs, squares]

        def add(strip: Strip) -> list[HostArray]:
            found = room(len(strip.ids))
            for channel, *parts in zip(each, *found, strict=True):
                run_counts.add_values(strip.runs, channel, self._columns, *parts)
            return found

        whole = room(len(self.labels))
        sums, lows, highs, squares = whole
        for slots, part in zip(self.slots, self._each(add), strict=True):
            sums[:, slots] += part[0]
            lows[:, slots] = np.minimum(lows[:, slots], part[1])
            highs[:, slots] = np.maximum(highs[:, slots], part[2])
            if small:
                squares[:, slots] += part[3]
        return tuple(found.T for found in whole[: 3 + small])

    def squares(self, values: HostArray, summed: Values) -> NDArray[np.float64]:
        """Return sums of squared distances of values from their means, (N, C)."""
        each, centers = supported(values).T, means_of(summed, self.table[:, 0])

        def add(strip: Strip, slots: Array) -> Array:
            sums = np.zeros((len(each), len(strip.ids)))
            around = np.ascontiguousarray(centers[slots].T)
            for channel, center, total in zip(each, around, sums, strict=True):
                run_counts.add_squares(strip.runs, channel, self._columns, center, total)
            return sums.T

        return self._sum(add, (len(self.labels), len(each)))

    def powers(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sums of products of powers of coordinates, up to 3 along each spatial axis.

        Coordinates are relative to `centers`, (N, rank). In the result, (N, 4 ** rank), exponents
        of the last axis change first.
        """
        rank = self.layout.rank

        def add(strip: Strip, slots: Array) -> Array:
            sums = np.zeros((len(strip.ids), 4**rank))
            run_counts.add_powers(strip.continued, self._shape, rank, centers[slots], sums)
            return sums

        return self._sum(add, (len(self.labels), 4**rank))

    def weighted(
        self, values: HostArray, channel: int, centers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return sums as `powers` does, each pixel weighted by its value in one channel."""
        rank = self.layout.rank
        weights = supported(values)[:, channel]

        def add(strip: Strip, slots: Array) -> Array:
            sums = np.zeros((len(strip.ids), 4**rank))
            runs = strip.runs, strip.continued
            run_counts.add_weighted(
                runs, weights, self._columns, self._shape, rank, centers[slots], sums
            )
            return sums

        return self._sum(add, (len(self.labels), 4**rank))

    def near(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return sums of coordinates, and of products of two, of some labels as floats.

        `table` has them modulo 2**64. Runs must be kept.
        """
        layout = self.layout
        one, other = layout.products
        near = np.zeros((len(rows), len(layout.wide_columns)))
        for places, runs in self._runs_of(rows, continued=True):
            length = (runs[:, 2] - runs[:, 1]).astype(np.float64)
            middle = np.array([*self._rows(runs), (runs[:, 1] + runs[:, 2] - 1) / 2])
            spatial = middle[layout.axes - layout.rank :]
            sums = np.concatenate([middle, spatial[one] * spatial[other]]) * length
            if layout.seconds:
                sums[-1] += length * (length**2 - 1) / 12
            near += np.stack([np.bincount(places, each, len(rows)) for each in sums], axis=1)
        return near

    def _runs_of(
        self, wanted: NDArray[np.int64], *, continued: bool = False
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """List the runs of some labels, strip by strip: the place of each in `wanted`, and runs."""
        place = np.full(len(self.labels), -1)
        place[wanted] = np.arange(len(wanted))
        for strip, slots in zip(self.strips, self.slots, strict=True):
            runs: Array = strip.runs
            places = place[slots][runs[:, 3]]
            runs = strip.continued if continued else runs
            yield places[places >= 0], runs[places >= 0]

    def _rows(self, runs: NDArray[np.int64]) -> Sequence[NDArray[np.intp]]:
        """Return the coordinates of the rows of runs along all axes of the image but the last."""
        found = np.unravel_index(runs[:, 0], tuple(self._shape.tolist()))
        return found[len(found) + 1 - len(self.sides) :]

    def _each(self, add: Callable[..., Array], *more: object) -> list[Array]:
        return threads.each(add, list(zip(self.strips, *more, strict=True)))

    def _sum(self, add: Callable[..., Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        sums = np.zeros(shape)
        for slots, part in zip(self.slots, self._each(add, self.slots), strict=True):
            sums[slots] += part
        return sums


@lru_cache(256)
def _strips_of(sides: tuple[int, ...], pixels: int) -> list[tuple[int, int]]:
    """Cut the rows of an image into strips of about so many pixels."""
    columns = sides[-1]
    count = prod(sides[:-1]) if columns else 0
    tall = max(1, pixels // max(1, columns))
    return [(row, min(row + tall, count)) for row in range(0, count, tall)]


@cache
def _sums_of(dtype: np.dtype[Any]) -> tuple[Any, Any, Any, bool]:
    """Return the type of sums of values, the greatest and least value, and whether they are small.

    Squares of small values are summed, too.
    """
    whole = dtype.kind in "ui"
    limits: Any = np.iinfo(dtype) if whole else None
    top, bottom = (limits.max, limits.min) if whole else (np.inf, -np.inf)
    exact = whole and dtype.itemsize <= 4
    return np.int64 if exact else np.float64, top, bottom, whole and dtype.itemsize <= 2


def supported(values: HostArray) -> HostArray:
    """Return values as C-contiguous array of a type that numba supports."""
    if values.dtype == bool:
        values = values.view(np.uint8)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    elif values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return np.ascontiguousarray(values)


def _add_runs(source: RunSource, layout: Layout) -> tuple[Array, Array]:
    """Count sizes and extents of runs, in one table for each thread; the image is not read."""
    table, columns = source.table, source.sides[-1]
    count = int(table.parents[: table.counts[-1]].max(initial=0))
    size = prod(source.sides)
    worth = max(1, DENSE * size // ((count + 1) * layout.width))
    pieces = max(1, min(threads.available(), -(-size // threads.WEIGHT), worth))
    ends = [table.rows * piece // pieces for piece in range(pieces + 1)]
    parts = [np.zeros((count + 1, layout.width), np.int64) for _ in range(pieces)]
    met = threads.each(
        lambda piece: run_counts.add_rows(
            table.runs, columns, (ends[piece], ends[piece + 1]), source.lengths, parts[piece]
        ),
        [(piece,) for piece in range(pieces)],
    )
    whole = parts[0]
    lows, sums = layout.greatest.start, layout.greatest.stop
    for (least, most), part in zip(met[1:], parts[1:], strict=True):
        slots = np.arange(least, most + 1)
        run_counts.add_table(whole, slots, part[least : most + 1], lows, sums)
    return np.arange(1, count + 1, dtype=np.int64), whole[1:]
