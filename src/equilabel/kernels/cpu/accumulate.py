"""Passes that measure labels on the CPU: strips of rows in threads, and their sums in order.

A strip goes from pixels to planes of bits, from these to a list of runs, and from both to a table
of the labels that it holds. The tables of strips are then added up in order. Strips depend on the
shape of the image alone, so that sums of floats have the same bits with any number of threads.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import threads
from equilabel.kernels.layout import Layout

from . import accumulate_runs, intensity, moments, run_counts
from .sources import LabelSource, RunSource
from .strips import (
    SMALL,
    Strip,
    join,
    list_passes,
    measure_at_once,
    measure_strip,
    rows_within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    from .caching import Kernel

__all__ = ["Accumulator", "LabelSource", "RunSource"]

DENSE = 4  # entries of tables for each label and thread that each pixel may cost
STRIP = 2**20  # pixels of a strip, but for the rest of a row


class Accumulator:
    """Counts of every label, and further sums over its pixels.

    Parameters
    ----------
    source : LabelSource or RunSource
    layout : Layout
        What to count.
    keep : bool
        Whether to keep the runs for the sums that the methods compute: 32 bytes a run.
    box : sequence of (int, int), optional
        First and last + 1 pixel along each axis; pixels outside are neighbors but do not count.

    Attributes
    ----------
    labels : (N,) array of int64
        Labels that occur, ascending; a negative one is reported and not to be used.
    table : (N, layout.width) array of int64
        As `equilabel.kernels.layout` says.
    strips : list of Strip
        What each strip of rows adds, with its runs if they are kept.
    slots : list of array or slice
        For each strip, the rows of `table` that those of its own table belong to.
    sides : tuple of int
        Shape of the image.
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
        if isinstance(source, RunSource) and not keep and layout.pairs != "all":
            plain = Layout(layout.axes, layout.stacked, pairs=layout.pairs)
            if layout == plain:
                self.labels, self.table = _add_runs(source, layout)
                return
        passes = list_passes(layout)
        strip = None
        if isinstance(source, LabelSource) and box is None and 0 < source.flat.size <= SMALL:
            strip = measure_at_once(source, passes, keep)
        kept = None if box is None else rows_within(source.sides, box)
        columns = (0, self._columns) if box is None else box[-1]
        self.strips: list[Strip] = (
            [strip]
            if strip
            else threads.each(
                lambda first, last: measure_strip(source, passes, first, last, kept, columns, keep),
                _strips_of(source.sides, STRIP),
            )
        )
        self.labels, self.table, self.slots = join(self.strips, layout)

    def values(self, values: HostArray) -> tuple[HostArray, ...]:
        """Sum the values of each label, and find the least and greatest.

        Parameters
        ----------
        values : (P, C) array
            Values of every pixel in each channel.

        Returns
        -------
        sums, lows, highs : (N, C) arrays
            Sums are exact int64 for integers of up to 32 bits, float64 otherwise.
        squares : (N, C) array of int64, only for integers of up to 16 bits
            Sums of squared values, exact.
        """
        flat, channels = _plain(values)
        kind, top, bottom, small = _sums_of(flat.dtype)
        kernel: Kernel = intensity.add_small_values if small else intensity.add_values

        def room(labels: int) -> list[HostArray]:
            shape = (channels, labels)
            lows, highs = np.empty(shape, flat.dtype), np.empty(shape, flat.dtype)
            lows.fill(top)
            highs.fill(bottom)
            squares = [np.zeros(shape, kind)] if small else []
            return [np.zeros(shape, kind), lows, highs, *squares]

        def add(strip: Strip) -> list[HostArray]:
            found = room(len(strip.ids))
            for channel in range(channels):
                parts = [part[channel] for part in found]
                kernel(strip.runs, flat, self._columns, channels, channel, *parts)
            return found

        if len(self.strips) == 1 and isinstance(self.slots[0], slice):  # nothing to add up
            return tuple(found.T for found in add(self.strips[0]))
        sums, lows, highs, *squares = room(len(self.labels))
        for slots, part in zip(self.slots, self._each(add), strict=True):
            sums[:, slots] += part[0]
            lows[:, slots] = np.minimum(lows[:, slots], part[1])
            highs[:, slots] = np.maximum(highs[:, slots], part[2])
            for square in squares:
                square[:, slots] += part[3]
        return tuple(found.T for found in (sums, lows, highs, *squares))

    def squares(self, values: HostArray, centers: HostArray) -> NDArray[np.float64]:
        """Sum the squared distances of values from a center for each label and channel."""
        flat, channels = _plain(values)

        def add(strip: Strip, slots: Array) -> Array:
            sums = np.zeros((channels, len(strip.ids)))
            around = np.ascontiguousarray(centers[slots].T)
            for channel in range(channels):
                intensity.add_squares(
                    strip.runs, flat, self._columns, channels, channel,
                    around[channel], sums[channel],
                )  # fmt: skip
            return sums.T

        return self._sum(add, (len(self.labels), channels))

    def powers(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the products of powers of coordinates, up to 3 along each spatial axis.

        Parameters
        ----------
        centers : (N, rank) array of float64
            What the coordinates of each label are counted from.

        Returns
        -------
        (N, 4 ** rank) array of float64
            Exponents of the last axis change first.
        """
        rank = self.layout.rank

        def add(strip: Strip, slots: Array) -> Array:
            sums = np.zeros((len(strip.ids), 4**rank))
            moments.add_powers(strip.runs, self._shape, rank, centers[slots], sums)
            return sums

        return self._sum(add, (len(self.labels), 4**rank))

    def weighted(
        self, values: HostArray, channel: int, centers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sum as `powers` does, each pixel weighted by its value in one channel."""
        rank = self.layout.rank
        flat, channels = _plain(values)

        def add(strip: Strip, slots: Array) -> Array:
            sums = np.zeros((len(strip.ids), 4**rank))
            moments.add_weighted(
                strip.runs, flat, self._columns, channels, channel,
                self._shape, rank, centers[slots], sums,
            )  # fmt: skip
            return sums

        return self._sum(add, (len(self.labels), 4**rank))

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


def _plain(values: HostArray) -> tuple[HostArray, int]:
    """Return values in a type that numba computes with, flat, and the number of channels."""
    if values.dtype == bool:
        values = values.view(np.uint8)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    elif values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return np.ascontiguousarray(values).reshape(-1), values.shape[1]


def _add_runs(source: RunSource, layout: Layout) -> tuple[Array, Array]:
    """Count sizes and extents alone, in a table for each thread: nothing else is held."""
    table = source.table
    count = int(table.parents[: table.counts[-1]].max(initial=0))
    size = prod(source.sides)
    worth = max(1, DENSE * size // ((count + 1) * layout.width))
    spans = table.pieces()
    pieces = max(1, min(threads.available(), len(spans), worth))
    ends = [spans[len(spans) * piece // pieces][0] for piece in range(pieces)]
    ends.append(table.blocks)
    sides = np.array(source.sides, np.int64)
    parts = [np.zeros((count + 1, layout.width), np.int64) for _ in range(pieces)]
    kernel: Kernel = accumulate_runs.add_runs
    faces = layout.widths["pairs"]
    met = threads.each(
        lambda piece: kernel(
            table.runs, (ends[piece], ends[piece + 1]), sides, faces, parts[piece]
        ),
        [(piece,) for piece in range(pieces)],
    )
    whole = parts[0]
    lows, sums = layout.greatest.start, layout.greatest.stop
    for (least, most), part in zip(met[1:], parts[1:], strict=True):
        slots = np.arange(least, most + 1)
        run_counts.add_table(whole, slots, part[least : most + 1], lows, sums)
    return np.arange(1, count + 1, dtype=np.int64), whole[1:]
