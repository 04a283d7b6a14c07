"""Counts from an image of labels or from runs; tables come to the host."""

from typing import Any

import cupy
import numpy as np

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import Kernel, kernel, launch
from equilabel.devices.cuda.transfers import download, upload
from equilabel.measuring.counts import Layout, Values, means_of

from .sources import LabelSource, RunSource, describe, is_gray, type_name

# ---- Tables with a row for each label: from the device to the host, and back


class Slots:
    """Which rows of tables, or slots, are those of labels that occur; row 0 is none.

    The first column of the given table, (L, width), is 0 where a label does not occur; `dense`
    says that all occur. `table`, (N, width), has the rows of labels that occur, and `labels`, (N,),
    their slots.
    """

    def __init__(self, table: Array, dense: bool) -> None:
        self._rows, self._which = len(table), np.arange(len(table) - 1)
        self.table = self.fetch(table)
        if not dense and not self.table[:, 0].all():
            self._which = np.flatnonzero(self.table[:, 0])
            self.table = self._pick(self.table)
        self.labels = self._which + 1

    def fetch(self, table: Array) -> np.ndarray:
        """Copy the rows of a table to the host, as int64; its columns are contiguous."""
        found = download(cupy.ascontiguousarray(table[1:].T), keep=True).view(np.int64).T
        return self._pick(found) if len(self._which) < len(found) else found

    def spread(self, rows: np.ndarray) -> Array:
        """Copy values of each label to the device, as rows of a table."""
        whole = np.zeros((self._rows, *rows.shape[1:]), rows.dtype)
        whole[1:][self._which] = rows
        return upload(whole)

    def _pick(self, found: np.ndarray) -> np.ndarray:
        return np.take(found.T, self._which, axis=-1).T


# ---- Counts of labels on the GPU, with the interface of those on the CPU
# Tables are filled on the device and come to the host once, without the rows of labels that do not
# occur. Floats are added as integers, see intensity.cu: the same bits every time.

__all__ = ["Accumulator", "LabelSource", "RunSource"]

WIDE = 32  # columns that a warp sums, as in intensity.cu
TALLEST = 256  # rows of a warp, at most
WARPS = 1 << 14  # enough to keep a GPU busy
BITS = 62  # of a sum
SURE = 36  # bits of the greatest value of a label that are added at least
GREATEST = cupy.ReductionKernel(  # of all finite absolute values
    "T value", "float64 greatest", "isfinite(double(value)) ? fabs(double(value)) : 0.0",
    "max(a, b)", "greatest = a", "0", "equilabel_greatest",
)  # fmt: skip


class Accumulator:
    """Counts of every label, and further sums over its pixels.

    Attributes are as on the CPU. `keep` and `box` are not used: pixels are read again, and parts
    of images are counted on the CPU.
    """

    def __init__(
        self,
        source: LabelSource | RunSource,
        layout: Layout,
        keep: bool = False,
        box: None = None,
    ) -> None:
        self.layout = layout
        self._rows = source
        self._count = source.find_slots()
        self._flat: Array = source.flat
        if self._count == 0 and source.ids is not None:  # a negative label
            self.labels, self.table = source.ids[:1], np.zeros((1, layout.width), np.int64)
            return
        table = _zeros(self._count, layout.width)
        source.count(layout, self._count - 1, table)
        self._counts = table  # their first column has the pixels of labels
        self._slots = Slots(table, dense=source.flat is None)
        self.table, self.labels = self._slots.table, self._slots.labels
        if source.ids is not None:
            self.labels = source.ids[self.labels]

    def values(self, values: Array) -> tuple[np.ndarray, ...]:
        """Return sums, minima and maxima of the values of each label, (N, C), from values (P, C).

        Sums are exact int64 for integers of up to 32 bits, float64 otherwise. A single channel of
        unsigned integers of up to 16 bits also has exact sums of squares.
        """
        values = _plain(values)
        if values.shape[1] == 1 and is_gray(values):
            return self._gray(values)
        parts = [self._values(values, channel) for channel in range(values.shape[1])]
        shape = (len(self.labels), 0)
        empty = np.zeros(shape), np.zeros(shape, values.dtype), np.zeros(shape, values.dtype)
        return tuple(
            np.stack([part[k] for part in parts], axis=1) if parts else empty[k] for k in range(3)
        )

    def squares(self, values: Array, summed: Values) -> np.ndarray:
        """Return sums of squared distances of values from their means, (N, C)."""
        values = _plain(values)
        sums, centers = np.zeros(summed.sums.shape), means_of(summed, self.table[:, 0])
        for channel, middle in enumerate(centers.T):
            high, low = summed.highs[:, channel], summed.lows[:, channel]
            with np.errstate(all="ignore"):  # rounded means may lie outside of equal values
                apart = np.maximum(high - middle, middle - low)
                fits = np.isfinite(apart**2)
            scales = self._scales(2 * _log(apart))
            table = cupy.zeros(self._count, np.uint64)
            types = f"{type_name(self._flat)}, {type_name(values)}"
            around = self._slots.spread(np.ascontiguousarray(middle)), self._slots.spread(scales)
            function = kernel("measuring/cuda/intensity", f"add_squares<{types}>")
            self._launch(function, values[:, channel], values.shape[1], *around, table)
            whole = np.where(fits, self._slots.fetch(table).astype(np.float64), np.inf)
            sums[:, channel] = np.ldexp(whole, -scales)
        sums[~np.isfinite(centers)] = np.nan
        return sums

    def powers(self, centers: np.ndarray) -> np.ndarray:
        """Return sums of products of powers of coordinates, up to 3 along each spatial axis.

        Coordinates are relative to `centers`, (N, rank). In the result, (N, 4 ** rank), exponents
        of the last axis change first.
        """
        return self._powers(None, 0, centers, np.ones(len(centers)))

    def weighted(self, values: Array, channel: int, centers: np.ndarray) -> np.ndarray:
        """Return sums as `powers` does, each pixel weighted by its value in one channel."""
        values = _plain(values)
        _, low, high, flags = self._values(values, channel)
        sums = self._powers(values, channel, centers, _reach(low, high))
        sums[flags != 0] = np.nan
        return sums

    def _powers(
        self, values: Array, channel: int, centers: np.ndarray, reach: np.ndarray
    ) -> np.ndarray:
        rank = self.layout.rank
        scales = self._scales_of_powers(centers, reach)
        table = _zeros(self._count, 4**rank)
        finite = np.isfinite(centers).all(axis=1)
        around = self._slots.spread(np.where(finite[:, None], centers, 0.0))
        shifts = self._slots.spread(scales)
        weights = self._flat if values is None else values[:, channel]
        types = f"{type_name(self._flat)}, {type_name(weights)}, {rank}"
        weighted = "false" if values is None else "true"
        self._launch(
            kernel("measuring/cuda/intensity", f"add_powers<{types}, {weighted}>"),
            weights, 1 if values is None else values.shape[1], around, shifts, table,
        )  # fmt: skip
        sums: np.ndarray = np.ldexp(self._slots.fetch(table).astype(np.float64), -scales)
        sums[~finite, 1:] = np.nan  # the sum of values needs no center
        return sums

    def _scales_of_powers(self, centers: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return `_scales` of values up to `reach` times each product of powers."""
        rank = self.layout.rank
        sides = np.array(self._rows.sides[-rank:], np.int64)
        first = sides - self.table[:, self.layout["lows"]][:, -rank:]
        last = self.table[:, self.layout["highs"]][:, -rank:] - 1
        centers = np.where(np.isfinite(centers), centers, first)
        apart = np.maximum(np.abs(first - centers), np.abs(last - centers)).clip(1.0)
        exponents = np.stack(np.meshgrid(*[np.arange(4)] * rank, indexing="ij"), -1)
        return self._scales(np.log2(apart) @ exponents.reshape(-1, rank).T + _log(reach)[:, None])

    def _scales(self, logs: np.ndarray) -> np.ndarray:
        """Return the units, 2^-scale, in which no sum over a label overflows.

        `logs`, (N,) or (N, K), are logarithms to base 2 of the greatest absolute values.
        """
        # As `bits_of` in intensity.cu: the bits of the number of pixels, rounded up.
        most = np.frexp(self.table[:, 0] - 1)[1].reshape(-1, *[1] * (logs.ndim - 1)) + logs
        scales: np.ndarray = BITS - 1 - np.ceil(most)
        return scales.clip(-1200, 1200).astype(np.int32)

    def _gray(self, values: Array) -> tuple[np.ndarray, ...]:
        """Return sums of values of small types, and of their squares."""
        plain, sums = Layout(self.layout.axes, self.layout.stacked), _zeros(self._count, 4)
        table = _zeros(self._count, plain.width)
        self._rows.count(plain, self._count - 1, table, values, sums.data.ptr)
        return sums_of_values(self._slots.fetch(sums), values.dtype)

    def _values(self, values: Array, channel: int) -> tuple[np.ndarray, ...]:
        """Return sums, minima and maxima of the values of each label, (N,), and flags."""
        if values.dtype.kind in "ui" and values.itemsize <= 4:
            return self._add_values(values, channel)
        greatest = int(_log(float(GREATEST(values)) if values.size else 0.0))
        scales = self._scales(np.full(len(self.labels), greatest))
        found = self._add_values(values, channel, scales, BITS - 1 - greatest)
        reach = _reach(*found[1:3])
        own = self._scales(_log(reach))
        if (scales < np.minimum(own, SURE - _log(reach)))[reach > 0].any():
            found = self._add_values(values, channel, own)  # other pixels have far greater values
        return found

    def _add_values(
        self,
        values: Array,
        channel: int,
        scales: np.ndarray | None = None,
        bits: int | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Return what `_values` does; with `bits`, the device finds scales from those of a sum."""
        table = _zeros(self._count, 4)
        types = f"{type_name(self._flat)}, {type_name(values)}"
        there = cupy.empty(0, np.int32)
        if scales is not None and bits is None:
            there = self._slots.spread(scales)
        function = kernel("measuring/cuda/intensity", f"add_values<{types}>")
        self._launch(
            function, values[:, channel], values.shape[1], there,
            self._counts, self.layout.width, bits or 0, table,
        )  # fmt: skip
        found = self._slots.fetch(table)
        whole, flags = found[:, 0], found[:, 3]
        keys = found.view(np.uint64)
        low, high = (_from_key(key, values.dtype) for key in (~keys[:, 1], keys[:, 2]))
        if scales is None:
            return whole, low, high, flags
        sums = np.ldexp(whole.astype(np.float64), -scales)
        sums[flags == 2], sums[flags == 4] = np.inf, -np.inf
        torn = (flags & 1 > 0) | (flags == 6)
        sums[torn] = np.nan
        if values.dtype.kind == "f":
            low[flags & 1 > 0] = high[flags & 1 > 0] = np.nan
        return sums, low, high, flags

    def _launch(self, function: Kernel, values: Array, channels: int, *arguments: object) -> None:
        """Start a kernel whose warps go through pixels and values."""
        if self._flat.size:
            _, pieces = describe(self._rows.sides, self.layout, 1, WIDE)
            tall = min(TALLEST, max(8, -(-pieces // WARPS)))
            described, warps = describe(self._rows.sides, self.layout, tall, WIDE)
            most = np.uint64(self._count - 1)
            launch(function, 32 * warps, self._flat, values, channels, described, most, *arguments)


def _zeros(rows: int, width: int) -> Array:
    """Return a table of zeros."""
    return cupy.zeros((rows, width), np.uint64)


def sums_of_values(found: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """Return sums, minima, maxima and sums of squares, (N, 1), from rows of a table of values."""
    low, high = ~found[:, 1:2], found[:, 2:3]
    return found[:, :1], low.astype(dtype), high.astype(dtype), found[:, 3:]


def _plain(values: Array) -> Array:
    """Return values in a type that kernels support."""
    if values.dtype == bool:
        values = values.view(np.uint8)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    return cupy.ascontiguousarray(values)


def _reach(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the greatest absolute value of each label, (N,) float64; 0 where it is not finite."""
    reach = np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64)))
    return np.where(np.isfinite(reach), reach, 0.0)


def _log(greatest: Any) -> np.ndarray:
    """Return the number of bits before the point; negative for small numbers, 0 for others."""
    known = np.isfinite(greatest) & (greatest > 0)
    return np.asarray(np.ceil(np.log2(np.where(known, greatest, 1.0))))


def _from_key(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert positions in the order of a type to its numbers."""
    if dtype.kind == "u":
        return keys.astype(dtype)
    if dtype.kind == "i":
        return (keys ^ np.uint64(1 << 63)).view(np.int64).astype(dtype)
    negative = keys < np.uint64(1 << 63)
    bits = np.where(negative, ~keys, keys & np.uint64((1 << 63) - 1))
    return bits.view(np.float64).astype(dtype)
