"""Kernels that filter an image along its axes: Gaussian smoothing, and extremes in a box.

Sums are those of SciPy to the last bit: in float64, from the middle, then from the ends inwards;
rounded to the type of the result after each axis, first to last.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import called, njit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

READ = ("|u1", "<u2", "<i2", "<f4", "<f8")  # types that are read as they are; others are converted
STRIP = 512  # pixels of a row whose sums stay in the cache
LINES = 64  # pixels side by side whose columns are processed together
LONG = 8  # times that smoothing a pixel takes as long as what `threads.ranges` counts with


def smooth(
    pixels: HostArray, dtype: np.dtype[Any], weights: Sequence[NDArray[np.float64]], nearest: bool
) -> tuple[HostArray, HostArray]:
    """Smooth finite pixels along up to three axes; return the result and its extremes, (2,).

    Arguments are those of `smooth_planes`; axes before the last three have a single weight.
    """
    image = pixels.view(np.uint8) if pixels.dtype == np.bool_ else pixels
    image = np.ascontiguousarray(image, None if image.dtype.str in READ else dtype)
    one = np.ones(1)
    deep, high, wide = ([one] * 3 + list(weights))[-3:]
    sides = (1, 1, 1, *pixels.shape)[-3:]
    out = np.empty(pixels.shape, dtype)
    if deep.size == 1:  # planes are images
        sides = (1, *sides[1:])
    pieces = zip(image.reshape(-1, *sides), out.reshape(-1, *sides), strict=True)
    tasks, spans = [], []
    for image, into in pieces:
        rows = sides[1] if deep.size == 1 else sides[0]
        for a, b in threads.ranges(rows, LONG * image.size, fine=True):
            spans.append(np.empty(2, dtype))
            lines = image.reshape(-1), np.array(image.shape), a, b
            tasks.append((*lines, deep, high, wide, nearest, into.reshape(-1), spans[-1]))
    threads.each(smooth_planes, tasks)
    ends = np.stack(spans)
    return out, np.array([ends[:, 0].min(), ends[:, 1].max()])


@njit(nogil=True, cache=True)
def smooth_planes(image, sides, first, last, deep, high, wide, nearest, out, extremes):
    """Smooth the planes `first` to `last` of an image of three axes into `out`, of floats.

    Pixels are finite, (P,) of (3,) `sides`. Weights, (R + 1,) float64, go from the middle outwards;
    a single one leaves an axis out, and of the first axis makes `first` and `last` rows of the only
    plane. The image is continued by its last pixel (`nearest`) or reflected. `extremes`, (2,), are
    the smallest and largest value.
    """
    planes, rows, columns = sides
    sums = np.empty(STRIP, np.float64)
    margin = wide.size - 1
    line = np.empty(columns + 2 * margin, out.dtype)
    middle = line[margin : margin + columns]
    lows, highs = np.empty(columns, out.dtype), np.empty(columns, out.dtype)
    for x in range(columns):
        lows[x], highs[x] = np.inf, -np.inf
    single, inner = deep.size == 1, rows * columns
    plane = np.empty(0 if single else inner, out.dtype)
    for z in range(0 if single else first, 1 if single else last):
        for begin in range(0, plane.size, columns):
            row = plane[begin : begin + columns]
            add_along(image, begin, z, planes, inner, deep, nearest, sums, row)
        for y in range(first if single else 0, last if single else rows):
            if single:
                add_along(image, 0, y, rows, columns, high, nearest, sums, middle)
            else:
                add_along(plane, 0, y, rows, columns, high, nearest, sums, middle)
            for k in range(1, margin + 1):
                after = columns - 1 + k
                line[margin - k] = middle[beyond(-k, columns, nearest)]
                line[margin + after] = middle[beyond(after, columns, nearest)]
            row = out[z * inner + y * columns :][:columns]
            add_along(line, 0, margin, line.size, 1, wide, nearest, sums, row)
            for x in range(columns):  # rows are compared as a whole, by vector instructions
                lows[x] = lows[x] if lows[x] < row[x] else row[x]
                highs[x] = highs[x] if highs[x] > row[x] else row[x]
    extremes[0], extremes[1] = lows[0], highs[0]
    for x in range(columns):
        extremes[0] = min(extremes[0], lows[x])
        extremes[1] = max(extremes[1], highs[x])


@called
def beyond(place, length, nearest):
    """Return the place that continues an axis beyond its ends."""
    if nearest:
        return min(max(place, 0), length - 1)
    period = 2 * length
    place %= period
    return min(place, period - 1 - place)


@called
def add_along(source, begin, place, length, step, weights, nearest, sums, out):
    """Smooth a row at a place of an axis of such a length; copy it if there is a single weight.

    Pixels of `source` are `step` apart along the axis, and those of the row are side by side, the
    one at the first place at `begin`.
    """
    middle = source[begin + place * step :][: out.size]
    if weights.size == 1:
        for x in range(out.size):
            out[x] = middle[x]
        return
    for low in range(0, out.size, STRIP):
        part, total = out[low : low + STRIP], sums[: min(STRIP, out.size - low)]
        weight, here = weights[0], middle[low:][: total.size]
        for x in range(total.size):
            total[x] = here[x] * weight
        for k in range(weights.size - 1, 0, -1):
            one, other = beyond(place - k, length, nearest), beyond(place + k, length, nearest)
            before = source[begin + one * step + low :][: total.size]
            after = source[begin + other * step + low :][: total.size]
            weight = weights[k]
            for x in range(total.size):
                total[x] += (np.float64(before[x]) + np.float64(after[x])) * weight
        for x in range(total.size):
            part[x] = total[x]


# ---- The minimum or the maximum in a box around each pixel, axis by axis


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
        cuts = threads.ranges(sides[2], out.size, LINES, fine=True)
        tasks = [(*how, 0, 1, a, b) for a, b in cuts]
    threads.each(extremes_along, tasks)
    return out


@njit(nogil=True, cache=True)
def extremes_along(
    pixels, outer, length, inner, reach, largest, beyond, out, first, last, low, high
):
    """Find the smallest or largest pixels along the middle one of three axes.

    Done for the places `first` to `last` along the first axis, `low` to `high` along the last;
    `beyond` is what pixels beyond the ends are taken for. Extremes of 2, 4, 8, ... pixels are found
    from those of half as many.
    """
    lines, window = length + 2 * reach, 2 * reach + 1
    one, other = np.empty(lines * LINES, pixels.dtype), np.empty(lines * LINES, pixels.dtype)
    for block in range(first, last):
        for begin in range(low, high, LINES):
            width = min(LINES, high - begin)
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
