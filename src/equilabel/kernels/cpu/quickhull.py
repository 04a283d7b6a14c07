"""Convex hulls of points with whole coordinates in 3D, by quickhull, without rounding.

The hull is a set of triangles. A point belongs to the outside of a triangle if it lies beyond its
plane; points on the plane do not. The farthest of them replaces all triangles that it sees by a
cone over their outline, and the points outside of these are given to the new triangles.

All numbers are at most 48 times the volume of the bounding box of the points.
"""

import numpy as np

from .caching import inlined, njit
from .triangles import (
    NOBODY,
    SEEN,
    USED,
    Triangles,
    add_triangle,
    begin_hull,
    beyond,
    find_tetrahedron,
)


@njit(nogil=True, cache=True)
def find_hull(points, count, planes, spans, is_corner):
    """Find the convex hull of some points.

    Parameters
    ----------
    points : (>= count, 3) array of int64
    count : int
        Number of points.
    planes : (>= 2 * count, 4) array of int64
        Overwritten with the normal (z, y, x) of each triangle, and its product with its points.
    spans : (>= 2 * count, 2) array of int64
        Overwritten with the least and greatest z of each triangle.
    is_corner : (>= count,) array of bool
        Overwritten: whether a point is a corner of a triangle.

    Returns
    -------
    int
        Number of triangles; 0 if all points lie in a plane.
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
    free = np.arange(room)  # triangles not in use, from place `used` on
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
    """Join a point to the outline of the triangles that it sees.

    Parameters
    ----------
    seen : (S,) array of int64
        These triangles.
    free : array of int64
        Triangles that can be used for the cone.
    cone : array of int64
        Overwritten with the triangles of the cone; their number is returned.
    cone_at : (points,) array of int64
        Overwritten: the triangle of the cone whose first side begins at a point.
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
    """Give the points outside of a triangle to those of a cone; others lie inside the hull now."""
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
