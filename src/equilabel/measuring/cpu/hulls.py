"""Convex hulls of labels, from their outermost pixels in each row, in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import inlined, njit

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


# ---- Convex hulls of points with integer coordinates in 3D, without rounding
# The hull is a list of triangles. A point outside of it remembers one triangle that it is beyond.
# The farthest point replaces all triangles that it is beyond by a cone over their outline, and
# points that remembered one of these look for another one in the cone, or are inside.
#
# All numbers are at most 48 times the volume of the image.


@inlined
def set_triangle(points, corners, planes, triangle, a, b, c):
    """Write the corners of a triangle, counterclockwise seen from outside, and its plane."""
    bz = points[b, 0] - points[a, 0]
    by = points[b, 1] - points[a, 1]
    bx = points[b, 2] - points[a, 2]
    cz = points[c, 0] - points[a, 0]
    cy = points[c, 1] - points[a, 1]
    cx = points[c, 2] - points[a, 2]
    corners[triangle, 0] = a
    corners[triangle, 1] = b
    corners[triangle, 2] = c
    planes[triangle, 0] = by * cx - bx * cy
    planes[triangle, 1] = bx * cz - bz * cx
    planes[triangle, 2] = bz * cy - by * cz
    planes[triangle, 3] = 0
    planes[triangle, 3] = beyond(points, planes, triangle, a)


@inlined
def beyond(points, planes, triangle, point):
    """Return the distance of a point beyond a plane, times the length of its normal."""
    along_z = planes[triangle, 0] * points[point, 0]
    along_y = planes[triangle, 1] * points[point, 1]
    along_x = planes[triangle, 2] * points[point, 2]
    return along_z + along_y + along_x - planes[triangle, 3]


@inlined
def begin_hull(points, corners, planes):
    """Make triangles 0 to 3 of a tetrahedron; return whether there is any.

    The first and the last point are two of its corners.
    """
    a = np.int64(0)
    b = np.int64(points.shape[0] - 1)
    c = np.int64(0)
    d = np.int64(0)
    best = np.int64(0)
    for k in range(points.shape[0]):
        set_triangle(points, corners, planes, 0, a, b, k)
        size = max(abs(planes[0, 0]), abs(planes[0, 1]), abs(planes[0, 2]))
        if size > best:
            best, c = size, k
    set_triangle(points, corners, planes, 0, a, b, c)
    best = np.int64(0)
    for k in range(points.shape[0]):
        size = beyond(points, planes, 0, k)
        if abs(size) > abs(best):
            best, d = size, k
    if best > 0:  # it lies below the first triangle
        b, c = c, b
    set_triangle(points, corners, planes, 0, a, b, c)
    set_triangle(points, corners, planes, 1, a, d, b)
    set_triangle(points, corners, planes, 2, b, d, c)
    set_triangle(points, corners, planes, 3, c, d, a)
    return best != 0


@njit(nogil=True, cache=True)
def find_hull(points):
    """Return the triangles of the convex hull of points, (P, 3); none if all lie in a plane.

    The first point differs from the last one, unless all are the same. `corners`, (F, 3), are
    indices of points; `planes`, (F, 4), have the outward normal (z, y, x), and its product with the
    points of the triangle.
    """
    count = points.shape[0]
    room = 2 * count + 4
    corners, planes = np.empty((room, 3), np.int64), np.zeros((room, 4), np.int64)
    if not begin_hull(points, corners, planes):
        return corners[:0], planes[:0]
    size = 4  # triangles, some of which are not in use: their planes are zeros
    free, unused = np.empty(room, np.int64), 0
    seen, fresh = np.empty(room, np.int64), np.arange(room)
    made = 4
    outline = np.empty((room, 2), np.int64)
    gone = np.zeros(room, np.bool_)
    gone[0] = True
    waiting, waits = np.arange(count), count  # points outside
    owner, far = np.zeros(count, np.int64), np.zeros(count, np.int64)
    while True:
        waits, apex = share_out(points, planes, fresh[:made], gone, waiting[:waits], owner, far)
        if apex < 0:
            break
        gone[:size] = False
        seeing = 0
        for triangle in range(size):
            if beyond(points, planes, triangle, apex) > 0:
                seen[seeing] = triangle
                seeing += 1
        made = find_outline(corners, seen[:seeing], outline)
        for k in range(seeing):
            gone[seen[k]] = True
            planes[seen[k]] = 0
            free[unused] = seen[k]
            unused += 1
        for k in range(made):
            if unused > 0:
                unused -= 1
                fresh[k] = free[unused]
            else:
                fresh[k] = size
                size += 1
            set_triangle(points, corners, planes, fresh[k], outline[k, 0], outline[k, 1], apex)
    kept = 0
    for k in range(size):
        if planes[k, 0] != 0 or planes[k, 1] != 0 or planes[k, 2] != 0:
            corners[kept] = corners[k]
            planes[kept] = planes[k]
            kept += 1
    return corners[:kept], planes[:kept]


@inlined
def share_out(points, planes, fresh, gone, waiting, owner, far):
    """Give points whose triangle is gone to those made since, or drop them from `waiting`.

    Return how many points are outside, and the farthest one, or -1.
    """
    waits = 0
    apex = np.int64(-1)
    most = np.int64(0)
    for at in range(waiting.size):
        point = waiting[at]
        if gone[owner[point]]:
            far[point] = 0
            for k in range(fresh.size):
                distance = beyond(points, planes, fresh[k], point)
                if distance > 0:
                    owner[point] = fresh[k]
                    far[point] = distance
                    break
        if far[point] > 0:
            waiting[waits] = point
            waits += 1
            if far[point] > most:
                most, apex = far[point], point
    return waits, apex


@inlined
def find_outline(corners, seen, outline):
    """List the sides of some triangles that belong to one of them; return their number."""
    sides = 0
    for k in range(seen.size):
        for side in range(3):
            a = corners[seen[k], side]
            b = corners[seen[k], (side + 1) % 3]
            inner = False
            for other in range(seen.size):
                for back in range(3):
                    begins = corners[seen[other], back] == b
                    inner |= begins and corners[seen[other], (back + 1) % 3] == a
            if not inner:
                outline[sides, 0] = a
                outline[sides, 1] = b
                sides += 1
    return sides


# ---- Convex hulls of labels in 3D: number of voxels, and corners
# scikit-image takes the hull of the middles of the six faces of every voxel. A voxel belongs to it
# if its center lies inside or on the surface. Only corners of the hull of the centers matter for
# that, and of these only corners of the hull of each plane. Coordinates of the middles are doubled,
# so that they are integers.


@njit(nogil=True, cache=True)
def measure_hulls_3d(rows, starts, tall, span, pixels, corner_counts, with_corners):
    """Count the voxels in the hulls of some labels, and return the corners of these voxels' hulls.

    Arguments as of `measure_hulls_2d`; a plane has `tall` rows. Corners, (C, 3), are (z, y, x).
    """
    corners = np.empty((64, 3), np.int64)
    count = 0
    for label in range(span[0], span[1]):
        found = corners_of(rows[starts[label] : starts[label + 1]], tall)
        pixels[label], filled = fill_rows(found, tall)
        corner_counts[label] = 0
        if with_corners:
            found = corners_of(filled, tall)
            corners = with_room(corners, count + found.shape[0])
            corners[count : count + found.shape[0]] = found
            count += found.shape[0]
            corner_counts[label] = found.shape[0]
    return corners[:count]


@njit(nogil=True, cache=True)
def corners_of(rows, tall):
    """Return the corners (z, y, x), (C, 3), of the hull of the outermost voxels of some rows.

    `rows`, (R, 3), in planes of `tall` rows, have a first and last voxel. Of voxels that all lie in
    a plane, more than the corners are returned.
    """
    size = rows.shape[0]
    points = np.empty((2 * size, 3), np.int64)
    line, chain = np.empty((size, 2), np.int64), np.empty(size, np.int64)
    found = 0
    begin = 0
    while begin < size:
        z = rows[begin, 0] // tall
        end = begin + 1
        while end < size and rows[end, 0] // tall == z:
            end += 1
        for side in range(2):
            for k in range(begin, end):
                line[k - begin, 0] = rows[k, 0] % tall
                line[k - begin, 1] = rows[k, 1] if side == 0 else -rows[k, 2]
            kept = lower_hull(line, end - begin, chain)
            for k in range(kept):
                points[found, 0] = z
                points[found, 1] = line[chain[k], 0]
                points[found, 2] = rows[begin + chain[k], 1 + side]
                found += 1
        begin = end
    points = points[:found]
    corners = find_hull(points)[0]
    return points[np.unique(corners.reshape(-1))] if corners.shape[0] > 0 else points


@njit(nogil=True, cache=True)
def fill_rows(voxels, tall):
    """Return the number of voxels whose center lies in the hull of some, and the rows of these.

    `voxels`, (C, 3), ascend in z; rows, (R, 3), have a first and last voxel, as of `corners_of`.
    """
    middles = np.empty((6 * voxels.shape[0], 3), np.int64)
    for k in range(middles.shape[0]):
        for axis in range(3):
            middles[k, axis] = 2 * voxels[k // 6, axis]
        face = k % 6
        middles[k, face >> 1] += 2 * (face & 1) - 1
    front, top = voxels[0, 0], voxels[:, 1].min()
    bounds = np.empty((2, voxels[-1, 0] + 1 - front, voxels[:, 1].max() + 1 - top))
    bounds[0] = -np.inf
    bounds[1] = np.inf
    corners, planes = find_hull(middles)
    for k in range(corners.shape[0]):
        heights = middles[corners[k], 0]
        near, away = heights.min(), heights.max()
        for z in range(-(-near // 2), away // 2 + 1):
            rest = planes[k, 3] - 2 * z * planes[k, 0]
            begins, ends = bounds[0, z - front], bounds[1, z - front]
            cut(begins, ends, top, 2 * planes[k, 1], 2 * planes[k, 2], rest)
    rows = np.empty((bounds.shape[1] * bounds.shape[2], 3), np.int64)
    pixels = np.int64(0)
    size = 0
    for z in range(bounds.shape[1]):
        for y in range(bounds.shape[2]):
            first, last = np.ceil(bounds[0, z, y]), np.floor(bounds[1, z, y])
            if first <= last:
                rows[size, 0] = (front + z) * tall + top + y
                rows[size, 1] = np.int64(first)
                rows[size, 2] = np.int64(last)
                pixels += rows[size, 2] - rows[size, 1] + 1
                size += 1
    return pixels, rows[:size]


@inlined
def cut(begins, ends, top, along_y, along_x, rest):
    """Restrict the rows of a plane, from `top` on, to ``along_y * y + along_x * x <= rest``.

    Quotients of integers that are not whole differ from whole numbers by more than floats round.
    """
    for k in range(begins.size):
        left = float(rest - along_y * (top + k))
        if along_x > 0:
            ends[k] = min(ends[k], left / along_x)
        elif along_x < 0:
            begins[k] = max(begins[k], left / along_x)
        elif left < 0:
            ends[k] = -np.inf
