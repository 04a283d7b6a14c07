"""Properties of size and position, of outlines and surfaces, and of convex hulls."""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .counts import AXES, Formula, Step
from .measurement import (
    AREA,
    BOTH,
    DEEP,
    FLAT,
    LENGTH,
    OURS,
    PIXEL,
    POSITION,
    RADIAN,
    SHAPE,
    SIZE,
    Property,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .counts import Layout
    from .measurement import Measurement, Parts


def area(found: Measurement) -> HostArray:
    """Area (volume): number of pixels times the area (volume) of one."""
    return found.pixels * found.pixel_size


def equivalent_diameter_area(found: Measurement) -> HostArray:
    """Diameter of the disk (ball) of the same area (volume), as scikit-image defines it."""
    return np.asarray((2 * found.rank * area(found) / np.pi) ** (1 / found.rank))


def touches_border(found: Measurement) -> HostArray:
    """Whether a pixel is first or last along an axis that is longer than 1 and not periodic."""
    long = (found.sides > 1) & ~found.periodic
    return np.asarray((((found.first == 0) | (found.last == found.sides)) & long).any(axis=1))


def feret_diameter_max(found: Measurement) -> HostArray:
    """Greatest distance between two points of the outline of the convex hull's pixels."""
    from equilabel.measuring.cpu.hulls import feret_diameters

    _, starts, corners = found.hulls
    return np.asarray(feret_diameters(starts, corners, tuple(found.spacing.tolist())))


def feret_min(found: Measurement, which: int) -> HostArray:
    """Smallest distance of two parallel lines around the hull's pixels (0), or its angle (1)."""
    from equilabel.measuring.cpu.hulls import feret_widths

    _, starts, corners = found.hulls
    return np.asarray(feret_widths(starts, corners, tuple(found.spacing.tolist()))[which])


def _box_pixels(found: Measurement) -> HostArray:
    return np.asarray(np.prod((found.last - found.first).T, axis=0))


def _area_step(_: Layout, spacing: tuple[float, ...]) -> Step:
    return Step(Formula.WEIGHED, 0, 1, (prod(spacing),))


def _box_steps(layout: Layout, _: tuple[float, ...]) -> Parts:
    highs = range(layout["highs"].stop - layout.rank, layout["highs"].stop)
    first = [Step(Formula.FIRST, axis) for axis in layout.spatial]
    return parts([*first, *(Step(Formula.COUNT, column) for column in highs)])


_position = partial(Property, group=POSITION)
_place = partial(_position, unit=LENGTH, needs=("box", "sums"))
_hull = partial(Property, ranks=BOTH, needs=("hull",), step=None)

ROWS = (
    _position(
        "label",
        "Number of the object.",
        formula=lambda m: m.counts.labels,
        step=Step(Formula.LABEL),
    ),
    _position(
        "frame",
        "Image of the stack in which the object is.",
        source=OURS,
        needs=("box",),
        formula=lambda m: m.counts.begins[:, 0],
        step=lambda layout, _: Step(Formula.FIRST, AXES - layout.axes),
    ),
    _position(
        "num_pixels",
        "Number of pixels.",
        unit=PIXEL,
        formula=lambda m: m.pixels,
        step=Step(Formula.COUNT),
    ),
    _position(
        "area",
        "Area (volume): number of pixels times the area (volume) of one.",
        unit=SIZE,
        formula=area,
        step=_area_step,
    ),
    _position(
        "volume",
        "Volume of a 3D object: the same as its area.",
        ranks=DEEP,
        source=OURS,
        unit=SIZE,
        formula=area,
        step=_area_step,
    ),
    _position(
        "bbox",
        "Bounding box: first pixel along each axis, then last + 1 along each.",
        unit=PIXEL,
        needs=("box",),
        formula=lambda m: m.box,
        step=_box_steps,
    ),
    _position(
        "area_bbox",
        "Area (volume) of the bounding box.",
        unit=SIZE,
        needs=("box",),
        formula=lambda m: _box_pixels(m) * m.pixel_size,
        step=Step(Formula.BOX_SIZE),
    ),
    _position(
        "area_filled",
        "Area (volume) with holes filled.",
        ranks=BOTH,
        unit=SIZE,
        needs=("filled",),
        formula=lambda m: m.filled * m.pixel_size,
        step=None,
    ),
    _position(
        "extent",
        "Ratio of the object's pixels to those of its bounding box.",
        needs=("box",),
        formula=lambda m: np.asarray(m.pixels / _box_pixels(m)),
        step=Step(Formula.EXTENT),
    ),
    _place(
        "centroid",
        "Mean coordinate along each axis.",
        formula=lambda m: np.asarray(m.inside(m.first + m.local) * m.spacing),
        step=lambda layout, _: parts(Step(Formula.CENTROID, axis) for axis in layout.spatial),
    ),
    _place(
        "centroid_local",
        "Mean coordinate, relative to the corner of the bounding box.",
        formula=lambda m: np.asarray(m.local * m.spacing),
        step=lambda layout, _: parts(Step(Formula.LOCAL, axis) for axis in layout.spatial),
    ),
    _position(
        "equivalent_diameter_area",
        "Diameter of the disk (ball) of the same area.",
        unit=LENGTH,
        formula=equivalent_diameter_area,
        step=Step(Formula.DIAMETER),
    ),
    _position(
        "touches_border",
        "Whether a pixel lies at the border of the image.",
        source=OURS,
        needs=("box",),
        formula=touches_border,
        step=Step(Formula.TOUCHES),
    ),
)

HULL_ROWS = (
    _hull(
        "area_convex",
        "Area (volume) of the convex hull.",
        POSITION,
        unit=SIZE,
        formula=lambda m: m.hulls.pixels * m.pixel_size,
    ),
    _hull(
        "feret_diameter_max",
        "Greatest distance of two points of the convex hull.",
        SHAPE,
        unit=LENGTH,
        needs=("corners",),
        formula=feret_diameter_max,
    ),
    _hull(
        "feret_diameter_min",
        "Smallest distance of two parallel lines around the convex hull.",
        SHAPE,
        ranks=FLAT,
        source=OURS,
        unit=LENGTH,
        needs=("corners",),
        formula=lambda m: feret_min(m, 0),
    ),
    _hull(
        "feret_angle_min",
        "Angle between the first axis and the direction of feret_diameter_min, -pi/2 to pi/2.",
        SHAPE,
        ranks=FLAT,
        source=OURS,
        unit=RADIAN,
        needs=("corners",),
        formula=lambda m: feret_min(m, 1),
    ),
    _hull(
        "solidity",
        "Ratio of the object's pixels to those of its convex hull.",
        SHAPE,
        formula=lambda m: np.asarray(m.pixels / m.hulls.pixels),
    ),
)


def perimeter(found: Measurement) -> HostArray:
    """Length of the line through the centers of border pixels, by Benkrid and Crookes' weights.

    The weights are 1, sqrt(2) and the mean of both: what a chain code through the pixel adds.
    Where spacings differ, each link of the chain has its own length.
    """
    return _weigh(found.group("outline"), outline_weights(found.counts.layout, found.spacing))


def outline_weights(layout: Layout, spacing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each class of border pixels adds to the perimeter."""
    straight = spacing if layout.outline == "uneven" else spacing[:1]
    return np.array([*straight / 6, np.hypot(*spacing) / 2])


def exposed(found: Measurement) -> HostArray:
    """Length (area) of the exposed edges (faces)."""
    pairs = found.group("pairs")
    length = np.zeros(len(pairs))
    for column, weight in enumerate(face_weights(found.counts.layout, found.spacing)):
        if weight:
            length += weight * (found.pixels - pairs[:, column])
    return length


def face_weights(layout: Layout, spacing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a missing neighbor at each step adds to `exposed`: 0 unless across a face."""
    steps = np.abs(layout.steps[:, 3 - len(spacing) :])
    weights = np.zeros(len(steps))
    for column in np.flatnonzero(steps.sum(axis=1) == 1):
        weights[column] = 2 * (spacing.prod() / spacing[steps[column] == 1][0])
    return weights


def crofton(found: Measurement) -> HostArray:
    """Length of the outline (area of the surface) from intercepts along grid lines.

    By the formula of Cauchy and Crofton it is pi (4) times the mean over all directions of the
    number of intercepts times the distance (area) between parallel lines. Each step represents
    the directions that are nearest to it. In 2D with equal spacings these are scikit-image's
    weights, in 3D those of Lehmann and Legland.
    """
    intercepts = (found.pixels - found.group("pairs").T).T
    return _weigh(intercepts, crofton_weights(found.counts.layout, found.spacing))


def crofton_weights(layout: Layout, spacing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what an intercept along each step adds to the length (area)."""
    steps = layout.steps[:, 3 - len(spacing) :]
    unit = spacing.max()
    vectors = steps * (spacing / unit)
    between = spacing.prod() / (np.sqrt((vectors**2).sum(axis=1)) * unit)
    shares = _shares(tuple(map(tuple, vectors.tolist())))
    weights: NDArray[np.float64] = {2: np.pi, 3: 4.0}[len(spacing)] * shares * between
    return weights


@cache
def _shares(vectors: tuple[tuple[float, ...], ...]) -> NDArray[np.float64]:
    """Return the share of all directions that are nearest to each vector or its opposite."""
    ends = np.array(vectors)
    if ends.shape[1] == 2:
        angles = np.arctan2(ends[:, 0], ends[:, 1]) % np.pi
        order = np.argsort(angles)
        gaps = np.diff(angles[order], append=angles[order[0]] + np.pi)
        shares = np.empty(len(angles))
        shares[order] = (gaps + np.roll(gaps, 1)) / (2 * np.pi)
        return shares
    from scipy.spatial import SphericalVoronoi

    ends = ends / np.sqrt((ends**2).sum(axis=1))[:, None]
    cells = SphericalVoronoi(np.concatenate([ends, -ends]))
    areas = np.asarray(cells.calculate_areas())
    return areas[: len(ends)] / (2 * np.pi)


def _weigh(counts: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of columns, each times its weight."""
    total = counts[:, 0] * weights[0]
    for column, weight in zip(counts.T[1:], weights[1:], strict=True):
        total += column * weight
    return np.asarray(total)


def circularity(found: Measurement) -> HostArray:
    """Area divided by that of the disk with the same perimeter_crofton."""
    area = found.pixels * found.spacing.prod()
    return np.asarray(4 * np.pi * area / crofton(found) ** 2)


def sphericity(found: Measurement) -> HostArray:
    """Surface of the ball with the same volume, divided by surface_area_crofton."""
    volume = found.pixels * found.spacing.prod()
    return np.asarray(np.cbrt(36 * np.pi) * np.cbrt(volume) ** 2 / crofton(found))


def _weighted(
    formula: Formula,
    group: str,
    weights_of: Callable[[Layout, NDArray[np.float64]], NDArray[np.float64]],
) -> Callable[[Layout, tuple[float, ...]], Step]:
    """Return what gives the step of a formula that weights a group of columns."""

    def step(layout: Layout, spacing: tuple[float, ...]) -> Step:
        weights = tuple(weights_of(layout, np.array(spacing)).tolist())
        return Step(formula, layout[group].start, len(weights), weights)

    return step


_shape = partial(Property, group=SHAPE)

OUTLINE_ROWS = (
    _shape(
        "perimeter",
        "Length of the line through the centers of border pixels (Benkrid, Crookes 2000).",
        ranks=FLAT,
        unit=LENGTH,
        needs=("outline",),
        formula=perimeter,
        step=_weighted(Formula.WEIGHED, "outline", outline_weights),
    ),
    _shape(
        "perimeter_crofton",
        "Length of the outline from intercepts in four directions (Crofton's formula).",
        ranks=FLAT,
        unit=LENGTH,
        needs=("all",),
        formula=crofton,
        step=_weighted(Formula.INTERCEPTS, "pairs", crofton_weights),
    ),
    _shape(
        "perimeter_edges",
        "Length of the pixel edges that border on something else (Kalentev et al. 2011).",
        ranks=FLAT,
        source=OURS,
        unit=LENGTH,
        needs=("faces",),
        formula=exposed,
        step=_weighted(Formula.INTERCEPTS, "pairs", face_weights),
    ),
    _shape(
        "circularity",
        "4 pi area / perimeter_crofton ** 2: 1 for a disk, less for other shapes (Cox 1927).",
        ranks=FLAT,
        source=OURS,
        needs=("all",),
        formula=circularity,
        step=_weighted(Formula.CIRCULARITY, "pairs", crofton_weights),
    ),
    _shape(
        "surface_area_faces",
        "Area of the voxel faces that border on something else (Kalentev et al. 2011).",
        ranks=DEEP,
        source=OURS,
        unit=AREA,
        needs=("faces",),
        formula=exposed,
        step=_weighted(Formula.INTERCEPTS, "pairs", face_weights),
    ),
    _shape(
        "surface_area_crofton",
        "Area of the surface from intercepts in 13 directions (Lehmann, Legland 2012).",
        ranks=DEEP,
        source=OURS,
        unit=AREA,
        needs=("all",),
        formula=crofton,
        step=_weighted(Formula.INTERCEPTS, "pairs", crofton_weights),
    ),
    _shape(
        "sphericity",
        "Surface of a ball of the same volume by surface_area_crofton (Wadell 1935).",
        ranks=DEEP,
        source=OURS,
        needs=("all",),
        formula=sphericity,
        step=_weighted(Formula.SPHERICITY, "pairs", crofton_weights),
    ),
    _shape(
        "euler_number",
        "Euler number: objects minus holes (3D: plus cavities minus tunnels); corners connect.",
        ranks=BOTH,
        needs=("euler_full",),
        formula=lambda m: m.group("euler_full")[:, 0],
        step=lambda layout, _: Step(Formula.COUNT, layout["euler_full"].start),
    ),
    _shape(
        "euler_number_faces",
        "Euler number if only pixels that share a face are connected.",
        ranks=BOTH,
        source=OURS,
        needs=("euler_face",),
        formula=lambda m: m.group("euler_face")[:, 0],
        step=lambda layout, _: Step(Formula.COUNT, layout["euler_face"].start),
    ),
)
