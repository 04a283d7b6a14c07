"""Columns by formula: scikit-image's definitions, and ours, of size, place and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import moments, outlines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from .accumulation import Accumulation


def area(sums: Accumulation) -> NDArray[Any]:
    """Pixels times the area (volume) of one."""
    return np.asarray(sums.pixels * sums.spacing.prod())


def bbox(sums: Accumulation) -> NDArray[Any]:
    """First pixel along each axis, then last + 1 along each."""
    return np.concatenate([sums.first.T, sums.last.T]).T


def pixels_bbox(sums: Accumulation) -> NDArray[Any]:
    """Pixels of the bounding box."""
    return np.asarray(np.prod((sums.last - sums.first).T, axis=0))


def equivalent_diameter_area(sums: Accumulation) -> NDArray[Any]:
    """Diameter of the disk (ball) of the same area (volume), as scikit-image defines it."""
    rank = len(sums.spacing)
    return np.asarray((2 * rank * area(sums) / np.pi) ** (1 / rank))


def touches_border(sums: Accumulation) -> NDArray[Any]:
    """Whether a pixel lies first or last along an axis that is longer than 1."""
    long = sums.sides > 1
    return np.asarray((((sums.first == 0) | (sums.last == sums.sides)) & long).any(axis=1))


COLUMNS: Mapping[str, Callable[[Accumulation], NDArray[Any]]] = {
    "label": lambda sums: sums.labels,
    "frame": lambda sums: sums.frames,
    "num_pixels": lambda sums: sums.pixels,
    "area": area,
    "volume": area,
    "bbox": bbox,
    "area_bbox": lambda sums: pixels_bbox(sums) * sums.spacing.prod(),
    "extent": lambda sums: sums.pixels / pixels_bbox(sums),
    "centroid": lambda sums: (sums.first + sums.local) * sums.spacing,
    "centroid_local": lambda sums: sums.local * sums.spacing,
    "equivalent_diameter_area": equivalent_diameter_area,
    "touches_border": touches_border,
    "intensity_mean": lambda sums: sums.channels(sums.means),
    "intensity_min": lambda sums: sums.channels(sums.values[1].astype(np.float64)),
    "intensity_max": lambda sums: sums.channels(sums.values[2].astype(np.float64)),
    "intensity_std": lambda sums: sums.channels(np.sqrt(sums.variances)),
    "intensity_sum": lambda sums: sums.channels(sums.values[0]),
    **outlines.COLUMNS,
    **moments.COLUMNS,
}
