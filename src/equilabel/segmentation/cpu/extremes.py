"""Kernels for the minimum or the maximum in a box around each pixel, axis by axis."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

STRIP = 64  # pixels side by side whose columns are processed together


def filter_extremes(pixels: HostArray, axis: int, reach: int, *, largest: bool) -> HostArray:
    """Return the smallest or largest pixel up to `reach` places away along an axis.

    `pixels` are C-contiguous, of int or float without NaN.
    """
    dtype, shape = pixels.dtype, pixels.shape
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    ends = (limits.min, limits.max) if limits is not None else (-np.inf, np.inf)
    beyond = dtype.type(ends[0] if largest else ends[1])
    out = np.empty(shape, dtype)
    sides = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    how = (pixels.reshape(-1), *sides, reach, largest, beyond, out.reshape(-1))
    if sides[0] > 1:
        tasks = [
            (*how, a, b, 0, sides[2]) for a, b in threads.ranges(sides[0], out.size, fine=True)
        ]
    else:
        cuts = threads.ranges(sides[2], out.size, STRIP, fine=True)
        tasks = [(*how, 0, 1, a, b) for a, b in cuts]
    threads.each(extremes_along, tasks)
    return out


@njit(nogil=True, cache=True)
def extremes_along(
    pixels, outer, length, inner, reach, largest, beyond, out, first, last, low, high
):
    """Find the smallest or largest pixels along the middle one of three axes.

    `pixels`, (outer * length * inner,), are those of an array of three axes; `beyond` is what
    pixels beyond its ends are taken for. Done for the places `first` to `last` along its first
    axis, `low` to `high` along its last. Extremes of 2, 4, 8, ... pixels are found from those of
    half as many.
    """
    lines, window = length + 2 * reach, 2 * reach + 1
    one, other = np.empty(lines * STRIP, pixels.dtype), np.empty(lines * STRIP, pixels.dtype)
    for block in range(first, last):
        for begin in range(low, high, STRIP):
            width = min(STRIP, high - begin)
            for i in range(reach * width):
                one[i] = beyond
                one[(reach + length) * width + i] = beyond
            rows, row = (1, length * width) if width == inner else (length, width)  # to copy
            for line in range(rows):
                start, place = (block * length + line) * inner + begin, (reach + line) * width
                some, into = pixels[start : start + row], one[place : place + row]
                for i in range(row):
                    into[i] = some[i]
            source, target, found = one, other, 1
            size = lines * width
            while found < window:
                step = min(found, window - found)
                size -= step * width
                here, there, into = source[:size], source[step * width :][:size], target[:size]
                if largest:
                    for i in range(size):
                        into[i] = here[i] if here[i] > there[i] else there[i]
                else:
                    for i in range(size):
                        into[i] = here[i] if here[i] < there[i] else there[i]
                source, target, found = target, source, found + step
            for line in range(rows):
                start = (block * length + line) * inner + begin
                some, into = source[line * width :][:row], out[start : start + row]
                for i in range(row):
                    into[i] = some[i]
