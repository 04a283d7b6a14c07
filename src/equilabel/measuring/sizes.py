"""Formulas of size and position, of outlines and surfaces, and of convex hulls, and their steps."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .counts import Formula, Step
from .measurement import parts

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


def box_pixels(found: Measurement) -> HostArray:
    """Pixels of the bounding box."""
    return np.asarray(np.prod((found.last - found.first).T, axis=0))


def area_step(_: Layout, spacing: tuple[float, ...]) -> Step:
    """Return the step of `area`."""
    return Step(Formula.WEIGHED, 0, 1, (prod(spacing),))


def box_steps(layout: Layout, _: tuple[float, ...]) -> Parts:
    """Return the steps of the bounding box."""
    highs = range(layout["highs"].stop - layout.rank, layout["highs"].stop)
    first = [Step(Formula.FIRST, axis) for axis in layout.spatial]
    return parts([*first, *(Step(Formula.COUNT, column) for column in highs)])


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
    return _weigh(_intercepts(found), face_weights(found.counts.layout, found.spacing))


def face_weights(layout: Layout, spacing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a missing neighbor at each step adds to `exposed`: 0 unless across a face."""
    steps = np.abs(layout.steps[:, 3 - len(spacing) :])
    weights = np.zeros(len(steps))
    for column in np.flatnonzero(steps.sum(axis=1) == 1):
        weights[column] = 2 * (spacing.prod() / spacing[steps[column] == 1][0])
    return weights


def crofton(found: Measurement) -> HostArray:
    """Length of the outline (area of the surface) from intercepts along grid lines.

    It is pi (4) times the mean over all directions of the number of intercepts times the distance
    (area) between parallel lines (Cauchy, Crofton); a step stands for the directions nearest to it.
    """
    return _weigh(_intercepts(found), crofton_weights(found.counts.layout, found.spacing))


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


def _intercepts(found: Measurement) -> NDArray[np.int64]:
    """Return how many pixels of each label have no neighbor at each step."""
    return np.asarray((found.pixels - found.group("pairs").T).T)


def _weigh(counts: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of columns, each times its weight."""
    total = counts[:, 0] * weights[0]
    for column, weight in zip(counts.T[1:], weights[1:], strict=True):
        total += column * weight
    return np.asarray(total)


def circularity(found: Measurement) -> HostArray:
    """Area divided by that of the disk with the same perimeter_crofton."""
    return np.asarray(4 * np.pi * area(found) / crofton(found) ** 2)


def sphericity(found: Measurement) -> HostArray:
    """Surface of the ball with the same volume, divided by surface_area_crofton."""
    return np.asarray(np.cbrt(36 * np.pi) * np.cbrt(area(found)) ** 2 / crofton(found))


def weighted_step(
    formula: Formula,
    group: str,
    weights_of: Callable[[Layout, NDArray[np.float64]], NDArray[np.float64]],
) -> Callable[[Layout, tuple[float, ...]], Step]:
    """Return what gives the step of a formula that weights a group of columns."""

    def step(layout: Layout, spacing: tuple[float, ...]) -> Step:
        weights = tuple(weights_of(layout, np.array(spacing)).tolist())
        return Step(formula, layout[group].start, len(weights), weights)

    return step


def percentile(found: Measurement, percent: int) -> HostArray:
    """Return a percentile of the values of each label."""
    return found.channels(found.percentile(percent))
