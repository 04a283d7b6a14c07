"""Convex hulls of labels, from their outermost pixels in each row, in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import inlined, njit

from .sorted_runs import spans_of, starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """Return the convex hulls as scikit-image defines them: the fields of `Hulls`.

    `starts` and `runs` are from `sort_runs`. Corners are (z, y, x), z = 0 in 2D, from any pixel.
    """
    labels = len(found.labels)
    rows, begins = np.empty((len(runs), 3), np.int64), np.empty(labels + 1, np.int64)
    gather_rows(starts, runs, begins, rows)
    pixels, counts = np.empty(labels, np.int64), np.empty(labels, np.int64)
    deep = found.layout.rank == 3
    kernel: Any = measure_hulls_3d if deep else measure_hulls_2d
    tall = (found.sides[-2],) if deep else ()
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
    """List number, first and last column of each row of each label, (>= rows, 3).

    `starts` and `runs` are from `sort_runs`; `begins`, (L + 1,), gets where each label begins.
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

    One lies on an edge of the hull of pixels, or of a pixel. `corners`, (C, 2), go around each
    hull; `starts` and `span` are as above. `widths` and `angles`, (L,) float64, are overwritten.
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
                y, x = corners[place, 0] - corners[first, 0], corners[place, 1] - corners[first, 1]
                at = y * sy * down + x * sx * right  # the same wherever the object lies
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
    """List the outermost middle of an edge on each doubled row in `points`; return how many.

    `side` is 0 for the left side, 1 for the right side, mirrored.
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
    """Find the lower hull of `points`, (>= size, 2), ascending in the first coordinate.

    Return the number of corners, whose indices `chain`, (>= size,), gets.
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

    `chain` is the left side in doubled coordinates. Column `side` of `sides`, (>= tall, 2), is set.
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
    for row in range(corners.shape[0]):  # a slice could fail: numba would compile its message
        for column in range(3):
            more[row, column] = corners[row, column]
    return more


# ---- Convex hulls of labels in 3D: number of voxels, and corners
# scikit-image takes the hull of the middles of the six faces of every voxel. A voxel belongs to it
# if its center lies inside or on the surface. Only corners of the hull of the centers matter for
# that. Coordinates of the middles are doubled: of Qhull's triangles all planes are exact integers,
# at most 48 times the volume of the image.

FACES = np.concatenate([np.eye(3, dtype=np.int64), -np.eye(3, dtype=np.int64)])


def measure_hulls_3d(
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    tall: int,
    span: tuple[int, int],
    pixels: NDArray[np.int64],
    corner_counts: NDArray[np.int64],
    with_corners: bool,
) -> NDArray[np.int64]:
    """Count the voxels in the hulls of some labels, and return the corners of these voxels' hulls.

    Arguments as of `measure_hulls_2d`; a plane has `tall` rows. Corners, (C, 3), are (z, y, x).
    """
    found = [np.empty((0, 3), np.int64)]
    for label in range(*span):
        voxels = _corners_of(rows[starts[label] : starts[label + 1]], tall)
        pixels[label], filled = fill_rows(voxels, _planes_of(voxels), tall)
        found.append(_corners_of(filled, tall) if with_corners else found[0])
        corner_counts[label] = len(found[-1])
    return np.concatenate(found)


def _corners_of(rows: NDArray[np.int64], tall: int) -> NDArray[np.int64]:
    """Return the corners of the hull of rows in planes of `tall` rows; more if all lie in one."""
    from scipy.spatial import ConvexHull, QhullError

    z, y = np.divmod(rows[:, 0], tall)
    points = np.concatenate([np.stack([z, y, rows[:, side]], axis=1) for side in (1, 2)])
    if len(rows) < 3:
        return points
    try:
        return np.asarray(points[ConvexHull(points - points[0]).vertices])
    except QhullError:
        return points


def _planes_of(voxels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the triangles of the hull of middles of faces, (F, 6), in doubled coordinates.

    Outward normal, its product with points of the triangle, and the first and last z of these.
    """
    from scipy.spatial import ConvexHull

    middles = (2 * voxels[:, None] + FACES).reshape(-1, 3)
    hull = ConvexHull(middles - middles[0])
    corners = middles[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outward = (normals * hull.equations[:, :3]).sum(axis=1) > 0
    normals = np.where(outward[:, None], normals, -normals)
    product, heights = (normals * corners[:, 0]).sum(axis=1), corners[..., 0]
    return np.stack([*normals.T, product, heights.min(axis=1), heights.max(axis=1)], axis=1)


@njit(nogil=True, cache=True)
def fill_rows(voxels, planes, tall):
    """Return the number of voxels whose center lies in the hull of some, and the rows of these.

    `voxels` are (C, 3), `planes` from `_planes_of`; rows, (R, 3), have a first and last voxel.
    """
    front, top, back, bottom = voxels[0, 0], voxels[0, 1], voxels[0, 0], voxels[0, 1]
    for k in range(voxels.shape[0]):
        front, back = min(front, voxels[k, 0]), max(back, voxels[k, 0])
        top, bottom = min(top, voxels[k, 1]), max(bottom, voxels[k, 1])
    bounds = np.empty((2, back + 1 - front, bottom + 1 - top))
    bounds[0] = -np.inf
    bounds[1] = np.inf
    for k in range(planes.shape[0]):
        for z in range(-(-planes[k, 4] // 2), planes[k, 5] // 2 + 1):
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
