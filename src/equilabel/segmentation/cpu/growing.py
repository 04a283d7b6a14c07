"""Kernels that give background the label of the nearest object, one axis after the other.

Of objects at the same distance, the one with the pixel of smaller coordinate wins, along the last
axis first: as in SciPy's feature transform, and so in scikit-image's `expand_labels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import called, njit

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

STRIP = 256  # pixels that are compared together: they stay in the cache


def find_along(
    labels: HostArray,
    length: int,
    inner: int,
    step: Any,
    reach: int,
    far: Any,
    limit: Any,
    sums: Any,
) -> tuple[HostArray, HostArray]:
    """Return the least sums of squares along an axis, and the labels there: both (P,).

    `labels`, (P,), are of images with `length` places along the axis, `inner` pixels each. Squared
    distances are added to `sums`, those of the axes before; without them, they are 0 in objects and
    `far` elsewhere. `step` is the distance of places; only those up to `reach` away are looked at.
    Where a sum is above `limit`, the label is 0. `labels` and `sums` may be overwritten.
    """
    blocks = -(-inner // STRIP) * (labels.size // (length * inner))
    kernel: Any = find_along_next
    images: Any = sums, labels  # in place
    if sums is None:
        found = np.empty(labels.size, step.dtype), np.empty_like(labels)
        kernel, images = find_along_first, (labels, *found)
    how = (length, inner, step, reach, far, limit, *images)
    threads.each(kernel, [(*cut, *how) for cut in threads.ranges(blocks, labels.size, fine=True)])
    squares, near = images[-2:]
    return squares, near


@njit(nogil=True, cache=True)
def find_along_first(first, last, length, inner, step, reach, far, limit, labels, squares, near):
    """Find the nearest object along the first axis of images, for some strips of columns."""
    strips = -(-inner // STRIP)
    gaps, seen = np.empty(STRIP, squares.dtype), np.empty(STRIP, near.dtype)
    for strip in range(first, last):
        begin = strip // strips * length * inner + strip % strips * STRIP
        size = min(STRIP, inner - strip % strips * STRIP)
        for back in range(2):
            gaps[:], seen[:] = reach + 1, 0
            for turn in range(length):
                at = begin + (length - 1 - turn if back else turn) * inner
                here, into, label = labels[at:][:size], squares[at:][:size], near[at:][:size]
                for x in range(size):
                    gaps[x] = 0 if here[x] else min(gaps[x], reach) + 1
                    seen[x] = here[x] if here[x] else seen[x]
                    square = (gaps[x] * step) * (gaps[x] * step)
                    within = gaps[x] <= reach and square <= limit
                    square = square if within else far
                    nearer = not back or square < into[x]
                    into[x] = square if nearer else into[x]
                    label[x] = (seen[x] if within else 0) if nearer else label[x]


@njit(nogil=True, cache=True)
def find_along_next(first, last, length, inner, step, reach, far, limit, squares, near):
    """Find what is nearer along a further axis, in place; where `inner` is 1, a strip is a row."""
    width = min(STRIP, inner)
    strips = -(-inner // width)
    together = STRIP if inner == 1 else 1  # places that are compared at once
    sums = np.full((length + 2 * reach) * width, far, squares.dtype)  # with a margin at both ends
    names = np.zeros(sums.size, near.dtype)
    best, where = np.empty(STRIP, squares.dtype), np.empty(STRIP, squares.dtype)
    for strip in range(first, last):
        begin = strip // strips * length * inner + strip % strips * width
        wide = min(width, inner - strip % strips * width)
        for place in range(length):
            at, to = begin + place * inner, (reach + place) * width
            for x in range(wide):
                sums[to + x], names[to + x] = squares[at + x], near[at + x]
        for place in range(0, length, together):
            size = min(STRIP, length - place) if inner == 1 else wide
            at, here = begin + place * inner, (reach + place) * width
            choose(sums, here, width, step, reach, best[:size], where[:size])
            for x in range(size):
                squares[at + x] = best[x]
                found = names[here + x + int(where[x]) * width]
                near[at + x] = found if best[x] <= limit else 0


@called
def choose(sums, here, width, step, reach, best, where):
    """Write the least sum of squares of each cell from `here` on, and how many places it is away.

    Places are `width` cells apart; `best` and `where` are (M,).
    """
    most = sums[here]
    for x in range(best.size):
        best[x], where[x] = sums[here + x], 0
        most = max(most, best[x])
    for k in range(1, reach + 1):
        cost, away = (k * step) * (k * step), k + 0 * step
        if cost > most:  # an equal one has a smaller coordinate
            return
        before, after = sums[here - k * width :], sums[here + k * width :]
        for x in range(best.size):
            where[x] = -away if before[x] + cost <= best[x] else where[x]
            best[x] = min(best[x], before[x] + cost)
        for x in range(best.size):
            where[x] = away if after[x] + cost < best[x] else where[x]
            best[x] = min(best[x], after[x] + cost)
        if k % 4 == 0:
            most = best[0]
            for x in range(best.size):
                most = max(most, best[x])
