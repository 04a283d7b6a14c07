"""Kernels that smooth an image along its axes, row by row.

Sums are those of SciPy to the last bit: in float64, from the middle, then from the ends inwards;
rounded to the type of the result after each axis, first to last.
"""

from __future__ import annotations

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


def smooth(
    pixels: HostArray, dtype: np.dtype[Any], weights: Sequence[NDArray[np.float64]], nearest: bool
) -> tuple[HostArray, HostArray]:
    """Smooth finite pixels along up to three axes; return the result and its extremes, (2,).

    `weights`, (R + 1,) for each axis, and `nearest` are as for `smooth_planes`; longer axes than
    the last three have a single weight.
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
        for a, b in threads.ranges(rows, image.size, fine=True):
            spans.append(np.empty(2, dtype))
            tasks.append((image, a, b, deep, high, wide, nearest, into, spans[-1]))
    threads.each(smooth_planes, tasks)
    ends = np.stack(spans)
    return out, np.array([ends[:, 0].min(), ends[:, 1].max()])


@njit(nogil=True, cache=True)
def smooth_planes(image, first, last, deep, high, wide, nearest, out, extremes):
    """Smooth some planes of a volume or, without weights along them, some rows of a single plane.

    Parameters
    ----------
    image : (Z, Y, X) of bool, int or float
        Finite pixels.
    first, last : int
        Planes to smooth; rows if `deep` is a single weight, and there is one plane.
    deep, high, wide : (R + 1,) float64
        Weights along each axis, from the middle outwards; a single weight leaves an axis out.
    nearest : bool
        Whether the image is continued by its last pixel; otherwise it is reflected.
    out : (Z, Y, X) of float32 or float64
        Overwritten by the smoothed planes.
    extremes : (2,) of the type of `out`
        Overwritten by the smallest and the largest value.
    """
    _, rows, columns = image.shape
    sums = np.empty(STRIP, np.float64)
    margin = wide.size - 1
    line = np.empty(columns + 2 * margin, out.dtype)
    lows, highs = np.empty(columns, out.dtype), np.empty(columns, out.dtype)
    for x in range(columns):
        lows[x], highs[x] = np.inf, -np.inf
    plane = np.empty((rows if deep.size > 1 else 0, columns), out.dtype)
    single = deep.size == 1
    for z in range(0 if single else first, 1 if single else last):
        if deep.size > 1:
            for y in range(rows):
                add_along_planes(image, z, y, deep, nearest, sums, plane[y])
        for y in range(first if single else 0, last if single else rows):
            middle = line[margin : margin + columns]
            if deep.size > 1:
                add_along_rows(plane, y, high, nearest, sums, middle)
            else:
                add_along_rows(image[z], y, high, nearest, sums, middle)
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
def add_along_planes(image, z, y, weights, nearest, sums, out):
    """Smooth a row along the first axis."""
    planes = len(image)
    for low in range(0, out.size, STRIP):
        part, total = out[low : low + STRIP], sums[: min(STRIP, out.size - low)]
        begin(image[z, y, low:][: total.size], weights[0], total)
        for k in range(weights.size - 1, 0, -1):
            before = image[beyond(z - k, planes, nearest), y, low:][: total.size]
            after = image[beyond(z + k, planes, nearest), y, low:][: total.size]
            add_pair(before, after, weights[k], total)
        store(total, part)


@called
def add_along_rows(plane, y, weights, nearest, sums, out):
    """Smooth a row along the axis of rows; copy it if there is a single weight."""
    rows = len(plane)
    if weights.size == 1:
        for x in range(out.size):
            out[x] = plane[y, x]
        return
    for low in range(0, out.size, STRIP):
        part, total = out[low : low + STRIP], sums[: min(STRIP, out.size - low)]
        begin(plane[y, low:][: total.size], weights[0], total)
        for k in range(weights.size - 1, 0, -1):
            before = plane[beyond(y - k, rows, nearest), low:][: total.size]
            after = plane[beyond(y + k, rows, nearest), low:][: total.size]
            add_pair(before, after, weights[k], total)
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
