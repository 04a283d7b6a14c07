"""Formulas of perimeters, surfaces and Euler numbers."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from .layout import Formula, Step
from .property import AREA, BOTH, DEEP, FLAT, LENGTH, OURS, SHAPE, Property

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .layout import Layout
    from .measurement import Measurement


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

ROWS = (
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
