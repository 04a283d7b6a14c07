"""Convex hulls of labels in 2D from the outermost pixels of each row, and diameters."""

from __future__ import annotations

import numpy as np

from equilabel.devices.jit import inlined, njit

# ---- The outermost pixels of each label in each of its rows


@njit(nogil=True, cache=True)
def gather_rows(starts, runs, begins, rows):
    """List the number, first and last column of each row of each label, (>= rows, 3).

    `starts` and `runs` are from `sorted_runs.sort_runs`; `begins`, (L + 1,), gets where the rows of
    each label begin.
    """
    count = 0
    for label in range(begins.size - 1):
        begins[label] = count
        for run in range(starts[label], starts[label + 1]):
            if count == begins[label] or rows[count - 1, 0] != runs[run, 0]:
                rows[count, 0] = runs[run, 0]
                rows[count, 1] = runs[run, 1]
                count += 1
            rows[count - 1, 2] = runs[run, 2] - 1
    begins[-1] = count


# ---- The greatest distance between the outlines of pixels


@njit(nogil=True, cache=True)
def add_diameters(corners, starts, span, spacing, squares):
    """Find the squared greatest distance between two middles of faces of the corners of labels.

    Two middles are as far apart as their pixels and a step along one axis, or as these and half a
    step along two. `corners`, (C, 3), are pixels (z, y, x); those of label k begin at `starts[k]`.
    `span` is the first label and last + 1. Along an axis of spacing 0, pixels have no extent.
    `squares`, (L,), is overwritten.
    """
    sz, sy, sx = spacing[0], spacing[1], spacing[2]
    for label in range(span[0], span[1]):
        best = 0.0
        for one in range(starts[label], starts[label + 1]):
            for other in range(one, starts[label + 1]):
                z = sz * abs(corners[one, 0] - corners[other, 0])
                y = sy * abs(corners[one, 1] - corners[other, 1])
                x = sx * abs(corners[one, 2] - corners[other, 2])
                along_z = (z + sz) * (z + sz) + y * y + x * x
                along_y = z * z + (y + sy) * (y + sy) + x * x
                along_x = z * z + y * y + (x + sx) * (x + sx)
                z_half, y_half, x_half = z + 0.5 * sz, y + 0.5 * sy, x + 0.5 * sx
                not_z = z * z + y_half * y_half + x_half * x_half
                not_y = z_half * z_half + y * y + x_half * x_half
                not_x = z_half * z_half + y_half * y_half + x * x
                best = max(best, along_z, along_y, along_x, not_z, not_y, not_x)
        squares[label] = best


@njit(nogil=True, cache=True)
def find_widths(corners, starts, span, spacing, widths, angles):
    """Find the smallest distance of two parallel lines around the middles of faces of labels.

    One of the lines lies on an edge of the hull: of that of pixels, or of a pixel. `corners`, (C,
    2), are rows and columns around the hull of each label; `starts` and `span` are as above, and
    `spacing` is (2,). `widths` and `angles` from the first axis to the direction across the lines,
    (L,) float64, are overwritten.
    """
    sy, sx = spacing[0], spacing[1]
    for label in range(span[0], span[1]):
        first, last = starts[label], starts[label + 1]
        widths[label], angles[label] = np.inf, 0.0
        for k in range(first, last + 2):
            if k < last:
                after = k + 1 if k + 1 < last else first
                across = (corners[k, 1] - corners[after, 1]) * sx
                along = (corners[after, 0] - corners[k, 0]) * sy
            else:
                across, along = sx, sy if k == last else -sy
            length = np.hypot(across, along)
            if length == 0:
                continue
            down, right = across / length, along / length
            low, high = np.inf, -np.inf
            for place in range(first, last):
                at = corners[place, 0] * sy * down + corners[place, 1] * sx * right
                low, high = min(low, at), max(high, at)
            width = high - low + max(abs(down) * sy, abs(right) * sx)
            if width < widths[label]:
                widths[label], angles[label] = width, np.arctan2(right, down)


# ---- Convex hulls of labels in 2D: number of pixels, and corners
# scikit-image takes the hull of the middles of the four edges of every pixel. A pixel belongs to it
# if its center lies inside or on the outline. Coordinates are doubled here, so that the middles of
# edges are integers and everything is exact.
#
# The left side of a hull is the lower hull of columns over rows; its right side is the left side of
# the mirror image.


@njit(nogil=True, cache=True)
def measure_hulls_2d(rows, starts, span, pixels, corner_counts, with_corners):
    """Count the pixels in the hulls of some labels, and return the corners of these pixels' hulls.

    `rows`, (R, 3), as of `gather_rows`, begin at `starts`, (L + 1,), for each label; `span` is the
    first label and last + 1. `pixels` and `corner_counts`, (L,), are overwritten. Corners, (C, 3),
    are (0, row, column) of counted pixels, label by label.
    """
    first_label, last_label = span
    tallest = np.int64(1)
    for label in range(first_label, last_label):
        tall = rows[starts[label + 1] - 1, 0] - rows[starts[label], 0] + 1
        tallest = max(tallest, tall)
    points = np.empty((2 * tallest + 1, 2), np.int64)
    chain = np.empty(2 * tallest + 1, np.int64)
    sides = np.empty((tallest, 2), np.int64)
    corners = np.empty((16, 3), np.int64)
    count = 0
    for label in range(first_label, last_label):
        begin, end = starts[label], starts[label + 1]
        top = rows[begin, 0]
        tall = rows[end - 1, 0] - top + 1
        for side in range(2):
            size = list_edges(rows, begin, end, side, points)
            size = lower_hull(points, size, chain)
            fill_side(points, chain, size, tall, side, sides)
        inside = np.int64(0)
        for y in range(tall):
            inside += sides[y, 1] - sides[y, 0] + 1
        pixels[label] = inside
        corner_counts[label] = 0
        if with_corners:
            corners = with_room(corners, count + 2 * tall)
            before = count
            for side in range(2):
                for y in range(tall):
                    points[y, 0] = y
                    points[y, 1] = sides[y, side] if side == 0 else -sides[y, side]
                size = lower_hull(points, tall, chain)
                for k in range(size):
                    y = points[chain[k], 0]
                    corners[count, 0] = 0
                    corners[count, 1] = top + y
                    corners[count, 2] = sides[y, side]
                    count += 1
            corner_counts[label] = count - before
    return corners[:count]


@inlined
def list_edges(rows, begin, end, side, points):
    """List the outermost middle of an edge on each doubled row of a label; return their number.

    `side` is 0 for the left side, 1 for the right side, mirrored. `points`,
    (>= 2 * rows + 1, 2), gets twice the row, from the first one on, and twice the column.
    """
    size = 0
    top = rows[begin, 0]
    for at in range(begin, end):
        y = 2 * (rows[at, 0] - top)
        x = 2 * rows[at, 1] if side == 0 else -2 * rows[at, 2]
        if size > 0 and points[size - 1, 0] == y - 1:
            points[size - 1, 1] = min(points[size - 1, 1], x)
        else:
            points[size, 0] = y - 1
            points[size, 1] = x
            size += 1
        points[size, 0] = y
        points[size, 1] = x - 1
        points[size + 1, 0] = y + 1
        points[size + 1, 1] = x
        size += 2
    return size


@inlined
def lower_hull(points, size, chain):
    """Find the points on the lower hull of some points; return their number.

    `points`, (>= size, 2), ascend in their first coordinate, each of which occurs once. `chain`,
    (>= size,), gets the indices of the corners.
    """
    kept = 0
    for point in range(size):
        while kept > 1:
            a = chain[kept - 2]
            b = chain[kept - 1]
            along = points[b, 0] - points[a, 0]
            rise = points[b, 1] - points[a, 1]
            if along * (points[point, 1] - points[a, 1]) > rise * (points[point, 0] - points[a, 0]):
                break
            kept -= 1
        chain[kept] = point
        kept += 1
    return kept


@inlined
def fill_side(points, chain, size, tall, side, sides):
    """Find the first column of each row whose center lies in a hull; the last one if mirrored.

    `chain` is the left side of the hull, in doubled coordinates from the row of the first pixel.
    Column `side` of `sides`, (>= tall, 2), is overwritten.
    """
    at = 0
    for y in range(tall):
        while points[chain[at + 1], 0] < 2 * y:
            at += 1
        a = chain[at]
        b = chain[at + 1]
        along = points[b, 0] - points[a, 0]
        rise = points[b, 1] - points[a, 1]
        doubled = points[a, 1] * along + rise * (2 * y - points[a, 0])
        column = -((-doubled) // (2 * along))
        sides[y, side] = column if side == 0 else -column


@njit(nogil=True, cache=True)
def with_room(corners, size):
    """Return an array of corners that has room for `size`, a larger copy if needed."""
    if size <= corners.shape[0]:
        return corners
    more = np.empty((2 * size, 3), np.int64)
    more[: corners.shape[0]] = corners
    return more
