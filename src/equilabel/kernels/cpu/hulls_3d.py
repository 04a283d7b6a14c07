"""Convex hulls of labels in 3D: how many voxels they hold, and their corners.

scikit-image takes the hull of the middles of the six faces of every voxel. A voxel belongs to it if
its center does, on the surface or inside. Only corners of the hull of the centers matter for that,
and of these only corners of the hull of each plane. Coordinates of the middles are doubled, so that
they are whole numbers; z and y are counted from the first plane and row.
"""

import numpy as np

from .caching import inlined, njit
from .hulls_2d import lower_hull, with_room
from .quickhull import find_hull


@njit(nogil=True, cache=True)
def measure_hulls_3d(rows, starts, tall, span, pixels, corner_counts, with_corners):
    """Count the voxels in the hulls of some labels, and find the corners of these voxels' hull.

    Parameters
    ----------
    rows : (R, 3) array of int64
        From `outer_rows.gather_rows`.
    starts : (L + 1,) array of int64
        Where the rows of each label begin.
    tall : int
        Rows of a plane.
    span : (int, int)
        The first label and the one after the last.
    pixels, corner_counts : (L,) arrays of int64
        Overwritten.
    with_corners : bool

    Returns
    -------
    (C, 3) array of int64
        Corners of one label after the other, as (z, y, x): voxels that are counted.
    """
    corners = np.empty((64, 3), np.int64)
    count = 0
    held = np.empty((64, 3), np.int64)  # rows of a label, and later those of its hull
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
    """Count rows from the corner of the box of a label, whose rows are the only ones of a plane.

    Returns
    -------
    low, high : int
        The first row of the box in its planes, and the one after the last.
    deep : int
        Planes of the box.
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
    """Find the corners of the hull of the outermost voxels of some rows.

    Of voxels that all lie in a plane, more than the corners are kept.

    Parameters
    ----------
    held : (>= size, 3) array of int64
        Rows in planes of `tall` rows, each with its first and last voxel.

    Returns
    -------
    (C, 3) array of int64
        Voxels (z, y, x).
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
    """Find the hull of the middles of the faces of voxels, in doubled coordinates.

    Returns
    -------
    planes, spans : arrays of int64
        As of `quickhull.find_hull`.
    """
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

    Parameters
    ----------
    planes, spans
        From `find_outer_hull`.
    held : (>= deep * tall, 3) array of int64
        Overwritten with the rows that hold voxels.

    Returns
    -------
    pixels, rows : int
        Voxels, and rows that hold any.
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
    """Keep of the rows of a plane what satisfies ``along_y * y + along_x * x <= rest``.

    Ends are multiples of 1 / along_x. A quarter of that is added before they are rounded, which
    makes up for errors of floats.

    Parameters
    ----------
    bounds : (2, rows) array of float64
        Where each row begins and ends; updated.
    """
    begin = (float(rest) + 0.25) / along_x
    slope = -float(along_y) / along_x
    if along_x > 0:
        for y in range(bounds.shape[1]):
            bounds[1, y] = min(bounds[1, y], begin + slope * y)
    else:
        for y in range(bounds.shape[1]):
            bounds[0, y] = max(bounds[0, y], begin + slope * y)
