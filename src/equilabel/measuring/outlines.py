"""Columns of outlines and surfaces: their length, area and Euler number."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from .accumulation import Accumulation


def perimeter(sums: Accumulation) -> NDArray[Any]:
    """Length of the line through the centers of border pixels, by Benkrid and Crookes' weights.

    Their weights are 1, sqrt(2) and the mean of both: what a chain code through the pixel adds.
    Where spacings differ, each link of the chain has its own length.
    """
    counts = sums.group("outline")
    straight = sums.spacing if counts.shape[1] > 2 else sums.spacing[:1]
    steps = np.array([*straight / 6, np.hypot(*sums.spacing) / 2])
    return _weigh(counts, steps)


def exposed(sums: Accumulation) -> NDArray[Any]:
    """Length (area) of the pixel edges (voxel faces) that border on something else."""
    steps = np.abs(sums.layout.steps[:, 3 - len(sums.spacing) :])
    pairs = sums.group("pairs")
    length = np.zeros(len(pairs))
    for column in np.flatnonzero(steps.sum(axis=1) == 1):
        one = sums.spacing.prod() / sums.spacing[steps[column] == 1][0]
        length += 2 * one * (sums.pixels - pairs[:, column])
    return length


def crofton(sums: Accumulation) -> NDArray[Any]:
    """Length of the outline (area of the surface) from the intercepts along grid lines.

    By the formula of Cauchy and Crofton it is the mean over all directions of the number of
    intercepts times the distance (area) between parallel lines, times pi (4). A direction stands
    for those that are nearer to it than to any other. In 2D with equal spacings these are
    scikit-image's weights, in 3D those of Lehmann and Legland.
    """
    steps = sums.layout.steps[:, 3 - len(sums.spacing) :]
    unit = sums.spacing.max()
    vectors = steps * (sums.spacing / unit)
    between = sums.spacing.prod() / (np.sqrt((vectors**2).sum(axis=1)) * unit)
    shares = _shares(tuple(map(tuple, vectors.tolist())))
    intercepts = (sums.pixels - sums.group("pairs").T).T
    factor = {2: np.pi, 3: 4.0}[len(sums.spacing)]
    return _weigh(intercepts, factor * shares * between)


@cache
def _shares(vectors: tuple[tuple[float, ...], ...]) -> NDArray[np.float64]:
    """Divide all directions among those of some vectors, each with its opposite, by nearness."""
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
    """Add up columns that lie together, each times its weight."""
    total = counts[:, 0] * weights[0]
    for column, weight in zip(counts.T[1:], weights[1:], strict=True):
        total += column * weight
    return np.asarray(total)


def circularity(sums: Accumulation) -> NDArray[Any]:
    """Area per area of the disk with the same perimeter_crofton."""
    area = sums.pixels * sums.spacing.prod()
    return np.asarray(4 * np.pi * area / crofton(sums) ** 2)


def sphericity(sums: Accumulation) -> NDArray[Any]:
    """Surface of the ball with the same volume per surface_area_crofton."""
    volume = sums.pixels * sums.spacing.prod()
    return np.asarray(np.cbrt(36 * np.pi) * np.cbrt(volume) ** 2 / crofton(sums))


COLUMNS: Mapping[str, Callable[[Accumulation], NDArray[Any]]] = {
    "perimeter": perimeter,
    "perimeter_crofton": crofton,
    "perimeter_edges": exposed,
    "circularity": circularity,
    "surface_area_faces": exposed,
    "surface_area_crofton": crofton,
    "sphericity": sphericity,
    "euler_number": lambda sums: sums.group("euler_full")[:, 0],
    "euler_number_faces": lambda sums: sums.group("euler_face")[:, 0],
}
