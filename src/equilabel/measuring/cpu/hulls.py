"""Convex hulls of labels, from their outermost pixels in each row, in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads

from .hulls_2d import add_diameters, count_rows, gather_rows, measure_hulls_2d
from .hulls_3d import measure_hulls_3d
from .sorted_runs import listed_strips, spans_of, starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.devices.jit import Kernel

    from .accumulate import Accumulator


ROWS = 2**12  # rows of labels that are worth a thread
PAIRS = 2**20  # pairs of corners that are worth a thread


def find_hulls(
    found: Accumulator, *, with_corners: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the convex hull of each label, as scikit-image defines it: the fields of `Hulls`.

    `found` must keep its runs, and no label lies in several images of a stack. Corners are
    (z, y, x), with z = 0 in 2D, relative to any pixel of the image.
    """
    labels = len(found.labels)
    starts, rows = _list_rows(found)
    pixels, counts = np.empty(labels, np.int64), np.empty(labels, np.int64)
    if found.layout.rank == 3:
        tall = np.int64(found.sides[-2])
        deep: Kernel = measure_hulls_3d
        parts: list[Any] = threads.each(
            lambda *span: deep(rows, starts, tall, span, pixels, counts, with_corners),
            spans_of(starts, ROWS),
        )
    else:
        flat: Kernel = measure_hulls_2d
        parts = threads.each(
            lambda *span: flat(rows, starts, span, pixels, counts, with_corners),
            spans_of(starts, ROWS),
        )
    corners = np.concatenate(parts) if parts else np.empty((0, 3), np.int64)
    return pixels, starts_of(counts), corners


def feret_diameters(
    starts: NDArray[np.int64], corners: NDArray[np.int64], spacing: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return the greatest distance between middles of faces of the corners of each label, (N,)."""
    squares = np.empty(len(starts) - 1)
    steps = np.array((0.0,) * (3 - len(spacing)) + tuple(spacing))
    pairs = starts_of(np.diff(starts) ** 2)
    kernel: Kernel = add_diameters
    threads.each(
        lambda *span: kernel(corners, starts, span, steps, squares), spans_of(pairs, PAIRS)
    )
    return np.sqrt(squares)


def _list_rows(found: Accumulator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the rows of each label begin, and its outermost pixels in each row, (R, 3)."""
    labels = len(found.labels)
    strips = [(strip.runs, slots) for strip, slots in listed_strips(found)]
    counts, latest = np.zeros(labels, np.int64), np.full(labels, -1)
    for runs, slots in strips:
        count_rows(runs, slots, latest, counts)
    starts = starts_of(counts)
    rows = np.empty((starts[-1], 3), np.int64)
    ends = starts[:-1].copy()
    latest[:] = -1
    for runs, slots in strips:
        gather_rows(runs, slots, latest, ends, rows)
    return starts, rows
