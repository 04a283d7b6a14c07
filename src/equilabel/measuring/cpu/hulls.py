"""Convex hulls of labels, from their outermost pixels in each row, in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads

from .hulls_2d import add_diameters, find_widths, gather_rows, measure_hulls_2d
from .hulls_3d import measure_hulls_3d
from .sorted_runs import spans_of, starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.devices.jit import Kernel

    from .accumulate import Accumulator


ROWS = 2**12  # rows of labels that are worth a thread
PAIRS = 2**20  # pairs of corners that are worth a thread


def find_hulls(
    found: Accumulator,
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    *,
    with_corners: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the convex hull of each label, as scikit-image defines it: the fields of `Hulls`.

    `starts` and `runs` are from `sort_runs`; no label lies in several images of a stack. Corners
    are (z, y, x), with z = 0 in 2D, relative to any pixel of the image.
    """
    labels = len(found.labels)
    rows, begins = np.empty((len(runs), 3), np.int64), np.empty(labels + 1, np.int64)
    gather_rows(starts, runs, begins, rows)
    pixels, counts = np.empty(labels, np.int64), np.empty(labels, np.int64)
    deep = found.layout.rank == 3
    kernel: Kernel = measure_hulls_3d if deep else measure_hulls_2d
    tall = (np.int64(found.sides[-2]),) if deep else ()
    parts: list[Any] = threads.each(
        lambda *span: kernel(rows, begins, *tall, span, pixels, counts, with_corners),
        spans_of(begins, ROWS),
    )
    corners = np.concatenate(parts) if parts else np.empty((0, 3), np.int64)
    return pixels, starts_of(counts), corners


def feret_widths(
    starts: NDArray[np.int64], corners: NDArray[np.int64], spacing: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest distance of parallel lines around each label in 2D, and its angle, (N,).

    Angles are those from the first axis to the direction across the lines, -pi/2 to pi/2.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    flat = corners[:, 1:]
    middles = np.add.reduceat(flat, starts[:-1]) / np.diff(starts)[:, None] if len(flat) else flat
    apart = flat - middles[owners]
    order = np.lexsort((np.arctan2(apart[:, 0], apart[:, 1]), owners))
    around, steps = np.ascontiguousarray(flat[order]), np.array(spacing)
    widths, angles = np.empty((2, len(starts) - 1))
    pairs = starts_of(np.diff(starts) ** 2)
    threads.each(
        lambda *span: find_widths(around, starts, span, steps, widths, angles),
        spans_of(pairs, PAIRS),
    )
    return widths, (angles + np.pi / 2) % np.pi - np.pi / 2


def feret_diameters(
    starts: NDArray[np.int64], corners: NDArray[np.int64], spacing: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return the greatest distance between middles of faces of the corners of each label, (N,)."""
    squares = np.empty(len(starts) - 1)
    steps = np.array((0.0,) * (3 - len(spacing)) + tuple(spacing))
    pairs = starts_of(np.diff(starts) ** 2)
    threads.each(
        lambda *span: add_diameters(corners, starts, span, steps, squares), spans_of(pairs, PAIRS)
    )
    return np.sqrt(squares)
