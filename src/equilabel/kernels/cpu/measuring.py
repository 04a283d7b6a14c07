"""Passes that measure labels on the CPU: pieces of rows in threads, and their sums."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import tallying, threads
from .packing import AXES

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIXELS_PER_LABEL = 32  # that a thread must bring along to be worth a table of its own


def largest(labels: NDArray[Any]) -> int:
    """Return the greatest label, or a negative one if there is any."""
    if labels.dtype.kind == "i":
        least = int(labels.min())
        if least < 0:
            return least
    return int(labels.max())


def tabulate(labels: NDArray[Any], size: int, outline: bool) -> NDArray[np.int64] | None:
    """Accumulate the runs of every label.

    Parameters
    ----------
    labels : C-contiguous array of int, 1 to 6 axes
    size : int
        Number of rows of the table; labels should be from 0 to less than it.
    outline : bool
        Whether to count classes of border pixels, which needs two axes or more.

    Returns
    -------
    (size, 1 + 4 * ndim [+ 3]) array of int64, or None
        As `equilabel.kernels.cpu.tallying` describes it; row 0 is empty. None if a label is out
        of range.
    """
    axes = labels.ndim - 1
    columns = labels.shape[-1]
    shape = np.array((1,) * (AXES - axes) + labels.shape[:-1], dtype=np.int64)
    rows = prod(labels.shape[:-1])
    flat = labels.reshape(-1)
    spans = threads.ranges(rows if columns else 0, min(flat.size, _worth(flat.size, size)))
    tables = [open_table(size, axes, outline) for _ in spans] or [open_table(size, axes, outline)]
    fits = threads.each(
        tallying.accumulate,
        [
            (flat, columns, shape, axes, outline, begin, end, table)
            for (begin, end), table in zip(spans, tables, strict=False)
        ],
    )
    if not all(fits):
        return None
    whole = tables[0]
    for table in tables[1:]:
        add_table(whole, table, axes)
    return whole


def open_table(size: int, axes: int, outline: bool) -> NDArray[np.int64]:
    """Make a table that nothing was added to."""
    table = np.zeros((size, 1 + 4 * (axes + 1) + 3 * outline), np.int64)
    table[:, 2 : 2 + 4 * (axes + 1) : 4] = tallying.NOWHERE
    return table


def add_table(whole: NDArray[np.int64], part: NDArray[np.int64], axes: int) -> None:
    """Add what another piece of the image accumulated."""
    lows = whole[:, 2 : 2 + 4 * (axes + 1) : 4]
    highs = whole[:, 3 : 3 + 4 * (axes + 1) : 4]
    low = np.minimum(lows, part[:, 2 : 2 + 4 * (axes + 1) : 4])
    high = np.maximum(highs, part[:, 3 : 3 + 4 * (axes + 1) : 4])
    whole += part
    lows[:] = low
    highs[:] = high


def intensities(
    labels: NDArray[Any], values: NDArray[Any], size: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Sum the values of each label, and find the least and greatest.

    Parameters
    ----------
    labels : (P,) array of int
    values : (P[, C]) array
    size : int
        Number of labels, background included.

    Returns
    -------
    sums, lows, highs : (size[, C]) arrays
        Sums are exact for integers of up to 32 bits.
    """
    if values.ndim == 2:
        parts = [intensities(labels, values[:, c], size) for c in range(values.shape[1])]
        sums, lows, highs = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
        return sums, lows, highs
    values = _plain(values)
    exact = values.dtype.kind in "ui" and values.dtype.itemsize <= 4
    limits = np.iinfo(values.dtype) if values.dtype.kind in "ui" else np.finfo(values.dtype)
    top, bottom = (limits.max, limits.min) if values.dtype.kind in "ui" else (np.inf, -np.inf)
    spans = threads.ranges(labels.size, _worth(labels.size, size))
    pieces = [
        (
            np.zeros(size, np.int64 if exact else np.float64),
            np.full(size, top, values.dtype),
            np.full(size, bottom, values.dtype),
        )
        for _ in range(max(1, len(spans)))
    ]
    threads.each(
        tallying.add_values,
        [(labels, values, *span, *part) for span, part in zip(spans, pieces, strict=False)],
    )
    return (
        np.add.reduce([piece[0] for piece in pieces]),
        np.minimum.reduce([piece[1] for piece in pieces]),
        np.maximum.reduce([piece[2] for piece in pieces]),
    )


def squares(labels: NDArray[Any], values: NDArray[Any], means: NDArray[Any]) -> NDArray[Any]:
    """Sum the squared distances of values from the mean of their label; shapes as `intensities`."""
    if values.ndim == 2:
        parts = [squares(labels, values[:, c], means[:, c]) for c in range(values.shape[1])]
        return np.stack(parts, axis=1)
    values = _plain(values)
    means = np.ascontiguousarray(means)
    spans = threads.ranges(labels.size, _worth(labels.size, len(means)))
    sums = [np.zeros(len(means)) for _ in range(max(1, len(spans)))]
    threads.each(
        tallying.add_squares,
        [(labels, values, *span, means, part) for span, part in zip(spans, sums, strict=False)],
    )
    return np.asarray(np.add.reduce(sums))


def _worth(pixels: int, size: int) -> int:
    """Weigh work so that no thread gets a table it can hardly fill."""
    return pixels if size * PIXELS_PER_LABEL * threads.available() <= pixels else 1


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in a type that numba computes with."""
    if values.dtype == bool:
        return values.view(np.uint8)
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)
