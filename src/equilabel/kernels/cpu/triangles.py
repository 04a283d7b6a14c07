"""The triangles of a hull in 3D, in whole numbers, and the tetrahedron that it begins with."""

from typing import NamedTuple

import numpy as np

from .caching import inlined

NOBODY = -1
USED, SEEN = 1, 2


class Triangles(NamedTuple):
    """Triangles of a hull, and what is known of each.

    Attributes
    ----------
    corners : (F, 3) array of int64
        Indices of its points, counterclockwise seen from outside.
    beside : (F, 3) array of int64
        The triangle across the side from corner k to the next.
    planes : (F, 4) array of int64
        Normal (z, y, x) to the outside, and its product with the points of the plane.
    outside : (F,) array of int64
        The first of the points outside of it, or -1.
    state : (F,) array of int64
        0 if it is not in use, `USED`, or `SEEN` by the point that is being added.
    after : (P,) array of int64
        The next point outside of the same triangle, or -1.
    """

    corners: np.ndarray
    beside: np.ndarray
    planes: np.ndarray
    outside: np.ndarray
    state: np.ndarray
    after: np.ndarray


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
    """Write the corners of a triangle and its plane; nothing lies outside of it yet."""
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
    """Return how far a point lies outside of a triangle, in lengths of its normal squared."""
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
    """Make triangles 0 to 3 of a tetrahedron, and hand the other points over to them."""
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
