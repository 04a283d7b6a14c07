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
            tasks.append((image, a, b, deep, high, wide, nearest, into, spans[-1]))
    threads.each(smooth_planes, tasks)
    ends = np.stack(spans)
    return out, np.array([ends[:, 0].min(), ends[:, 1].max()])


@njit(nogil=True, cache=True)
def smooth_planes(image, first, last, deep, high, wide, nearest, out, extremes):
    """Smooth the planes `first` to `last` of (Z, Y, X) finite pixels into `out`, of floats.

    Weights, (R + 1,) float64, go from the middle outwards; a single one leaves an axis out, and of
    the first axis makes `first` and `last` rows of the only plane. The image is continued by its
    last pixel (`nearest`) or reflected. `extremes`, (2,), are the smallest and largest value.
    """
    _, rows, columns = image.shape
    sums = np.empty(STRIP, np.float64)
    margin = wide.size - 1
    line = np.empty(columns + 2 * margin, out.dtype)
    lows, highs = np.empty(columns, out.dtype), np.empty(columns, out.dtype)
    for x in range(columns):
        lows[x], highs[x] = np.inf, -np.inf
    plane = np.empty((1, rows if deep.size > 1 else 0, columns), out.dtype)
    single = deep.size == 1
    for z in range(0 if single else first, 1 if single else last):
        if deep.size > 1:
            for y in range(rows):
                add_along(image, z, y, 0, deep, nearest, sums, plane[0, y])
        for y in range(first if single else 0, last if single else rows):
            middle = line[margin : margin + columns]
            if deep.size > 1:
                add_along(plane, 0, y, 1, high, nearest, sums, middle)
            else:
                add_along(image, z, y, 1, high, nearest, sums, middle)
            row = out[z, y]
            if margin:
                for k in range(1, margin + 1):
                    after = columns - 1 + k
                    line[margin - k] = middle[beyond(-k, columns, nearest)]
                    line[margin + after] = middle[beyond(after, columns, nearest)]
                add_along_line(line, wide, sums, row)
            else:
                store(middle, row)
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
def add_along(image, z, y, axis, weights, nearest, sums, out):
    """Smooth a row along the first or the second axis; copy it if there is a single weight."""
    if weights.size == 1:
        for x in range(out.size):
            out[x] = image[z, y, x]
        return
    length, place = image.shape[axis], y if axis else z
    for low in range(0, out.size, STRIP):
        part, total = out[low : low + STRIP], sums[: min(STRIP, out.size - low)]
        begin(image[z, y, low:][: total.size], weights[0], total)
        for k in range(weights.size - 1, 0, -1):
            one, other = beyond(place - k, length, nearest), beyond(place + k, length, nearest)
            before = image[z, one] if axis else image[one, y]
            after = image[z, other] if axis else image[other, y]
            add_pair(before[low:][: total.size], after[low:][: total.size], weights[k], total)
        store(total, part)


@called
def add_along_line(line, weights, sums, out):
    """Smooth a row, which is continued on both sides."""
    margin = weights.size - 1
    for low in range(0, out.size, STRIP):
        part, total = out[low : low + STRIP], sums[: min(STRIP, out.size - low)]
        begin(line[margin + low :][: total.size], weights[0], total)
        for k in range(margin, 0, -1):
            before = line[margin + low - k :][: total.size]
            after = line[margin + low + k :][: total.size]
            add_pair(before, after, weights[k], total)
        store(total, part)


@called
def begin(middle, weight, total):
    """Write the weighted middle row."""
    for x in range(total.size):
        total[x] = middle[x] * weight


@called
def store(total, out):
    """Round sums to the type of the result."""
    for x in range(total.size):
        out[x] = total[x]


@called
def add_pair(before, after, weight, total):
    """Add the weighted sum of two rows."""
    for x in range(total.size):
        total[x] += (np.float64(before[x]) + np.float64(after[x])) * weight


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
