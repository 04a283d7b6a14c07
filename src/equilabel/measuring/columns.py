"""Columns in closed form: scikit-image's definitions, and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from .accumulation import Accumulation

OUTLINE_WEIGHTS = np.array([1, np.sqrt(2), (1 + np.sqrt(2)) / 2])


def area(sums: Accumulation) -> NDArray[Any]:
    """Pixels times the area (volume) of one."""
    return np.asarray(sums.pixels * sums.spacing.prod())


def bbox(sums: Accumulation) -> NDArray[Any]:
    """First pixel along each axis, then last + 1 along each."""
    return np.concatenate([sums.first, sums.last], axis=1)


def pixels_bbox(sums: Accumulation) -> NDArray[Any]:
    """Pixels of the bounding box."""
    return np.asarray((sums.last - sums.first).prod(axis=1))


def centroid(sums: Accumulation) -> NDArray[Any]:
    """Mean coordinate along each axis."""
    return np.asarray(sums.sums / sums.pixels[:, None] * sums.spacing)


def centroid_local(sums: Accumulation) -> NDArray[Any]:
    """Mean coordinate along each axis from the corner of the bounding box."""
    local = sums.sums - sums.first * sums.pixels[:, None]
    return np.asarray(local / sums.pixels[:, None] * sums.spacing)


def equivalent_diameter_area(sums: Accumulation) -> NDArray[Any]:
    """Diameter of the disk (ball) of the same area (volume), as scikit-image defines it."""
    rank = len(sums.spacing)
    return np.asarray((2 * rank * area(sums) / np.pi) ** (1 / rank))


def perimeter(sums: Accumulation) -> NDArray[Any]:
    """Length of the line through the centers of border pixels, by Benkrid and Crookes' weights."""
    return np.asarray(sums.outline @ OUTLINE_WEIGHTS * sums.spacing[0])


def exposed(sums: Accumulation) -> NDArray[Any]:
    """Length (area) of the pixel edges (voxel faces) that border on something else."""
    sides = 2 * (sums.pixels[:, None] - sums.pairs)
    return np.asarray((sides * (sums.spacing.prod() / sums.spacing)).sum(axis=1))


COLUMNS: Mapping[str, Callable[[Accumulation], NDArray[Any]]] = {
    "label": lambda sums: sums.labels,
    "frame": lambda sums: sums.frames,
    "num_pixels": lambda sums: sums.pixels,
    "area": area,
    "bbox": bbox,
    "area_bbox": lambda sums: pixels_bbox(sums) * sums.spacing.prod(),
    "extent": lambda sums: sums.pixels / pixels_bbox(sums),
    "centroid": centroid,
    "centroid_local": centroid_local,
    "equivalent_diameter_area": equivalent_diameter_area,
    "perimeter": perimeter,
    "perimeter_edges": exposed,
    "surface_area_faces": exposed,
    "intensity_mean": lambda sums: sums.intensities[0],
    "intensity_min": lambda sums: sums.intensities[1],
    "intensity_max": lambda sums: sums.intensities[2],
    "intensity_std": lambda sums: np.sqrt(sums.variances),
}
