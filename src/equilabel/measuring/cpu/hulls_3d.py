"""Convex hulls of labels in 3D, in integers: number of voxels, and corners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equilabel.devices.jit import inlined, njit

from .hulls_2d import lower_hull, with_room

# ---- The triangles of a hull in 3D, in integers, and the tetrahedron that it begins with

NOBODY = -1
USED, SEEN = 1, 2


class Triangles(NamedTuple):
    """Triangles of a hull: arrays of int64 with a row for each."""

    corners: np.ndarray  # (F, 3), indices of points, counterclockwise seen from outside
    beside: np.ndarray  # (F, 3), the triangle across the side from corner k to the next
    planes: np.ndarray  # (F, 4), outward normal (z, y, x), and its product with the points
    outside: np.ndarray  # (F,), the first of a list of points outside of it, or -1
    state: np.ndarray  # (F,), 0 if not in use, `USED`, or `SEEN` by the point being added
    after: np.ndarray  # (P,), the next point in the same list, or -1


@inlined
def normal_of(points, a, b, c):
    """Return the normal (z, y, x) of a triangle, to the side from which it is counterclockwise."""
    bz = points[b, 0] - points[a, 0]
    by = points[b, 1] - points[a, 1]
    bx = points[b, 2] - points[a, 2]
    cz = points[c, 0] - points[a, 0]
    cy = points[c, 1] - points[a, 1]
    cx = points[c, 2] - points[a, 2]
    return by * cx - bx * cy, bx * cz - bz * cx, bz * cy - by * cz


@inlined
def add_triangle(hull, points, triangle, a, b, c):
    """Write the corners of a triangle and its plane; its list of points is empty."""
    hull.corners[triangle, 0] = a
    hull.corners[triangle, 1] = b
    hull.corners[triangle, 2] = c
    z, y, x = normal_of(points, a, b, c)
    hull.planes[triangle, 0] = z
    hull.planes[triangle, 1] = y
    hull.planes[triangle, 2] = x
    hull.planes[triangle, 3] = z * points[a, 0] + y * points[a, 1] + x * points[a, 2]
    hull.outside[triangle] = NOBODY


@inlined
def beyond(hull, points, triangle, point):
    """Return the distance of a point outside of a triangle, times the length of its normal."""
    plane = hull.planes[triangle]
    along = plane[0] * points[point, 0] + plane[1] * points[point, 1] + plane[2] * points[point, 2]
    return along - plane[3]


@inlined
def find_tetrahedron(points, count, first):
    """Find four points that do not lie in a plane; return whether there are any."""
    a = np.int64(0)
    b = np.int64(0)
    c = np.int64(0)
    d = np.int64(0)
    best = np.int64(0)
    for k in range(1, count):
        size = np.int64(0)
        for axis in range(3):
            size = max(size, abs(points[k, axis] - points[a, axis]))
        if size > best:
            best, b = size, k
    best = np.int64(0)
    for k in range(count):
        z, y, x = normal_of(points, a, b, k)
        size = max(abs(z), abs(y), abs(x))
        if size > best:
            best, c = size, k
    if best == 0:
        return False
    z, y, x = normal_of(points, a, b, c)
    here = z * points[a, 0] + y * points[a, 1] + x * points[a, 2]
    best = np.int64(0)
    for k in range(count):
        size = z * points[k, 0] + y * points[k, 1] + x * points[k, 2] - here
        if abs(size) > abs(best):
            best, d = size, k
    first[0] = a
    first[1] = b if best < 0 else c
    first[2] = c if best < 0 else b
    first[3] = d
    return best != 0


@inlined
def begin_hull(hull, points, count, first):
    """Make triangles 0 to 3 of a tetrahedron, and distribute the other points among them."""
    a, b, c, d = first[0], first[1], first[2], first[3]
    add_triangle(hull, points, 0, a, b, c)  # d lies below it
    add_triangle(hull, points, 1, a, d, b)
    add_triangle(hull, points, 2, b, d, c)
    add_triangle(hull, points, 3, c, d, a)
    for k in range(3):
        hull.beside[0, k] = 1 + k
        hull.beside[1 + k, 0] = 1 + (k + 2) % 3
        hull.beside[1 + k, 1] = 1 + (k + 1) % 3
        hull.beside[1 + k, 2] = 0
    for triangle in range(4):
        hull.state[triangle] = USED
    for point in range(count):
        for triangle in range(4):
            if beyond(hull, points, triangle, point) > 0:
                hull.after[point] = hull.outside[triangle]
                hull.outside[triangle] = point
                break


# ---- Convex hulls of points with integer coordinates in 3D, by quickhull, without rounding
# The hull is a set of triangles. Each has a list of points beyond its plane. The farthest of them
# replaces all triangles that it sees by a cone over their outline, and the points of their lists
# are given to the new triangles.
#
# All numbers are at most 48 times the volume of the bounding box of the points.


@njit(nogil=True, cache=True)
def find_hull(points, count, planes, spans, is_corner):
    """Find the convex hull of `count` points, (>= count, 3); return the number of its triangles.

    It is 0 if all points lie in a plane. Overwritten: for each triangle, `planes`, (>= 2 * count,
    4), normal (z, y, x) and its product with the points, and `spans`, (>= 2 * count, 2), smallest
    and largest z; for each point, whether it is a corner.
    """
    first = np.empty(4, np.int64)
    if not find_tetrahedron(points, count, first):
        return 0
    room = 3 * count + 16
    corners = np.empty((room, 3), np.int64)
    beside = np.empty((room, 3), np.int64)
    normals = np.empty((room, 4), np.int64)
    outside = np.full(room, np.int64(NOBODY))
    after = np.full(count, np.int64(NOBODY))
    hull = Triangles(corners, beside, normals, outside, np.zeros(room, np.int64), after)
    begin_hull(hull, points, count, first)
    free = np.arange(room)  # triangles not in use, from index `used` on
    used = 4
    waiting = np.empty(room, np.int64)  # triangles that may have points outside
    waits = 4
    waiting[:4] = free[:4]
    queued = np.zeros(room, np.bool_)
    queued[:4] = True
    seen = np.empty(room, np.int64)
    cone = np.empty(room, np.int64)
    cone_at = np.empty(count, np.int64)
    while waits > 0:
        waits -= 1
        triangle = waiting[waits]
        queued[triangle] = False
        if hull.state[triangle] != USED or hull.outside[triangle] == NOBODY:
            continue
        apex = take_farthest(hull, points, triangle)
        seeing = look_around(hull, points, apex, triangle, seen)
        made = raise_cone(hull, points, apex, seen[:seeing], free[used:], cone, cone_at)
        used += made
        for k in range(seeing):
            hand_over(hull, points, seen[k], apex, cone[:made])
            hull.state[seen[k]] = 0
            used -= 1
            free[used] = seen[k]
        for k in range(made):
            hull.state[cone[k]] = USED
            if hull.outside[cone[k]] != NOBODY and not queued[cone[k]]:
                queued[cone[k]] = True
                waiting[waits] = cone[k]
                waits += 1
    return list_triangles(hull, points, count, planes, spans, is_corner)


@inlined
def take_farthest(hull, points, triangle):
    """Remove the farthest point outside of a triangle from its list, and return it."""
    point = hull.outside[triangle]
    before = np.int64(NOBODY)
    best = np.int64(0)
    farthest = point
    before_farthest = before
    while point != NOBODY:
        far = beyond(hull, points, triangle, point)
        if far > best:
            best = far
            farthest = point
            before_farthest = before
        before = point
        point = hull.after[point]
    if before_farthest == NOBODY:
        hull.outside[triangle] = hull.after[farthest]
    else:
        hull.after[before_farthest] = hull.after[farthest]
    return farthest


@inlined
def look_around(hull, points, apex, triangle, seen):
    """List the triangles that a point sees, beginning with one of them; return their number."""
    seen[0] = triangle
    hull.state[triangle] = SEEN
    size = 1
    at = 0
    while at < size:
        for side in range(3):
            across = hull.beside[seen[at], side]
            if hull.state[across] == USED and beyond(hull, points, across, apex) > 0:
                hull.state[across] = SEEN
                seen[size] = across
                size += 1
        at += 1
    return size


@inlined
def raise_cone(hull, points, apex, seen, free, cone, cone_at):
    """Join a point to the outline of the triangles that it sees; return the number of new ones.

    `seen` are these triangles, `free` those that can be used, `cone` gets the new ones. `cone_at`,
    (points,), gets the new triangle whose first side begins at a point.
    """
    made = 0
    for k in range(seen.size):
        old = seen[k]
        for side in range(3):
            across = hull.beside[old, side]
            if hull.state[across] != USED:
                continue
            new = free[made]
            a = hull.corners[old, side]
            b = hull.corners[old, (side + 1) % 3]
            add_triangle(hull, points, new, a, b, apex)
            hull.beside[new, 0] = across
            for back in range(3):
                if hull.corners[across, back] == b:
                    hull.beside[across, back] = new
            cone_at[a] = new
            cone[made] = new
            made += 1
    for k in range(made):
        following = cone_at[hull.corners[cone[k], 1]]
        hull.beside[cone[k], 1] = following
        hull.beside[following, 2] = cone[k]
    return made


@inlined
def hand_over(hull, points, old, apex, cone):
    """Give the points outside of a triangle to those of a cone; others are inside the hull now."""
    point = hull.outside[old]
    while point != NOBODY:
        following = hull.after[point]
        for k in range(cone.size):
            if point != apex and beyond(hull, points, cone[k], point) > 0:
                hull.after[point] = hull.outside[cone[k]]
                hull.outside[cone[k]] = point
                break
        point = following


@inlined
def list_triangles(hull, points, count, planes, spans, is_corner):
    """Write what `find_hull` returns."""
    for point in range(count):
        is_corner[point] = False
    size = 0
    for triangle in range(hull.state.size):
        if hull.state[triangle] == USED:
            for k in range(4):
                planes[size, k] = hull.planes[triangle, k]
            spans[size, 0] = points[hull.corners[triangle, 0], 0]
            spans[size, 1] = spans[size, 0]
            for corner in range(3):
                point = hull.corners[triangle, corner]
                is_corner[point] = True
                spans[size, 0] = min(spans[size, 0], points[point, 0])
                spans[size, 1] = max(spans[size, 1], points[point, 0])
            size += 1
    return size


# ---- Convex hulls of labels in 3D: number of voxels, and corners
# scikit-image takes the hull of the middles of the six faces of every voxel. A voxel belongs to it
# if its center lies inside or on the surface. Only corners of the hull of the centers matter for
# that, and of these only corners of the hull of each plane. Coordinates of the middles are doubled,
# so that they are integers; z and y are relative to the first plane and row.


@njit(nogil=True, cache=True)
def measure_hulls_3d(rows, starts, tall, span, pixels, corner_counts, with_corners):
    """Count the voxels in the hulls of some labels, and return the corners of these voxels' hulls.

    Arguments as of `measure_hulls_2d`; a plane has `tall` rows. Corners, (C, 3), are (z, y, x).
    """
    corners = np.empty((64, 3), np.int64)
    count = 0
    held = np.empty((64, 3), np.int64)  # rows of a label, then those of its hull
    for label in range(span[0], span[1]):
        size = starts[label + 1] - starts[label]
        held = with_room(held, size)
        held[:size] = rows[starts[label] : starts[label + 1]]
        low, high, deep = place_box(held, size, tall)
        planes, spans = find_outer_hull(corners_of(held, size, high - low))
        held = with_room(held, deep * (high - low))
        pixels[label], size = fill_rows(planes, spans, deep, high - low, held)
        corner_counts[label] = 0
        if with_corners:
            found = corners_of(held, size, high - low)
            corners = with_room(corners, count + found.shape[0])
            corners[count : count + found.shape[0]] = found
            count += found.shape[0]
            corner_counts[label] = found.shape[0]
    return corners[:count]


@inlined
def place_box(held, size, tall):
    """Renumber rows as if planes had only the rows of the label's box.

    Return the first row of the box in its planes, the last + 1, and the number of planes.
    """
    first = held[0, 0] // tall
    low = tall
    high = np.int64(0)
    for k in range(size):
        low = min(low, held[k, 0] % tall)
        high = max(high, held[k, 0] % tall + 1)
    for k in range(size):
        z, y = held[k, 0] // tall - first, held[k, 0] % tall - low
        held[k, 0] = z * (high - low) + y
    return low, high, held[size - 1, 0] // (high - low) + 1


@njit(nogil=True, cache=True)
def corners_of(held, size, tall):
    """Return the corners (z, y, x), (C, 3), of the hull of the outermost voxels of some rows.

    `held`, (>= size, 3), has rows in planes of `tall` rows, with their first and last voxel. Of
    voxels that all lie in a plane, more than the corners are returned.
    """
    points = np.empty((2 * size, 3), np.int64)
    line = np.empty((tall, 2), np.int64)
    chain = np.empty(tall, np.int64)
    found = 0
    begin = 0
    while begin < size:
        z = held[begin, 0] // tall
        end = begin + 1
        while end < size and held[end, 0] // tall == z:
            end += 1
        for side in range(2):
            for k in range(begin, end):
                line[k - begin, 0] = held[k, 0] % tall
                line[k - begin, 1] = held[k, 1] if side == 0 else -held[k, 2]
            kept = lower_hull(line, end - begin, chain)
            for k in range(kept):
                points[found, 0] = z
                points[found, 1] = line[chain[k], 0]
                points[found, 2] = held[begin + chain[k], 1 + side]
                found += 1
        begin = end
    planes, spans = np.empty((2 * found, 4), np.int64), np.empty((2 * found, 2), np.int64)
    is_corner = np.ones(found, np.bool_)
    find_hull(points, found, planes, spans, is_corner)
    kept = 0
    for k in range(found):
        if is_corner[k]:
            points[kept] = points[k]
            kept += 1
    return points[:kept]


@njit(nogil=True, cache=True)
def find_outer_hull(voxels):
    """Return planes and spans, as of `find_hull`, of the hull of voxels in doubled coordinates."""
    count = 6 * voxels.shape[0]
    middles = np.empty((count, 3), np.int64)
    for k in range(count):
        for axis in range(3):
            middles[k, axis] = 2 * voxels[k // 6, axis]
        face = k % 6
        middles[k, face >> 1] += 2 * (face & 1) - 1
    planes, spans = np.empty((2 * count, 4), np.int64), np.empty((2 * count, 2), np.int64)
    size = find_hull(middles, count, planes, spans, np.empty(count, np.bool_))
    return planes[:size], spans[:size]


@njit(nogil=True, cache=True)
def fill_rows(planes, spans, deep, tall, held):
    """Find the first and last voxel of each row whose center lies in a hull.

    `held`, (>= deep * tall, 3), gets the rows that have any. Return the numbers of voxels and rows.
    """
    bounds = np.empty((2, tall))
    pixels = np.int64(0)
    rows = 0
    for z in range(deep):
        for y in range(tall):
            bounds[0, y] = -np.inf
            bounds[1, y] = np.inf
        top = np.int64(0)
        bottom = tall - 1
        for k in range(planes.shape[0]):
            if spans[k, 0] <= 2 * z <= spans[k, 1]:
                along_y, along_x = 2 * planes[k, 1], 2 * planes[k, 2]
                rest = planes[k, 3] - 2 * z * planes[k, 0]
                if along_x != 0:
                    cut(bounds, along_y, along_x, rest)
                elif along_y > 0:
                    bottom = min(bottom, rest // along_y)
                elif along_y < 0:
                    top = max(top, -(rest // -along_y))
        for y in range(top, bottom + 1):
            first = np.int64(np.ceil(bounds[0, y]))
            last = np.int64(np.floor(bounds[1, y]))
            if first <= last:
                held[rows, 0] = z * tall + y
                held[rows, 1] = first
                held[rows, 2] = last
                rows += 1
                pixels += last - first + 1
    return pixels, rows


@inlined
def cut(bounds, along_y, along_x, rest):
    """Restrict the rows of a plane to ``along_y * y + along_x * x <= rest``.

    Ends are multiples of 1 / along_x: a quarter of that, added before they are rounded, exceeds
    all errors of floats. `bounds`, (2, rows), has begin and end of each row.
    """
    begin = (float(rest) + 0.25) / along_x
    slope = -float(along_y) / along_x
    if along_x > 0:
        for y in range(bounds.shape[1]):
            bounds[1, y] = min(bounds[1, y], begin + slope * y)
    else:
        for y in range(bounds.shape[1]):
            bounds[0, y] = max(bounds[0, y], begin + slope * y)
