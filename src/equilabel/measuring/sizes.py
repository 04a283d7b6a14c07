"""Formulas of sizes, bounding boxes, centroids and hulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .property import BOTH, DEEP, LENGTH, OURS, PIXEL, POSITION, SHAPE, SIZE, Property

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .measurement import Measurement


# ---- Formulas of size and position


def label(found: Measurement) -> HostArray:
    """Take the number of the object."""
    return found.counts.labels


def frame(found: Measurement) -> HostArray:
    """Image of the stack in which the object is."""
    return found.counts.begins[:, 0]


def num_pixels(found: Measurement) -> HostArray:
    """Count the pixels of the object."""
    return found.pixels


def area(found: Measurement) -> HostArray:
    """Area (volume): number of pixels times the area (volume) of one."""
    return found.pixels * found.pixel_size


def bbox(found: Measurement) -> HostArray:
    """Bounding box: first pixel along each axis, then last + 1 along each."""
    return found.box


def area_bbox(found: Measurement) -> HostArray:
    """Area (volume) of the bounding box."""
    return _box_pixels(found) * found.pixel_size


def area_filled(found: Measurement) -> HostArray:
    """Area (volume) of the object and of its holes."""
    return found.filled * found.pixel_size


def extent(found: Measurement) -> HostArray:
    """Divide the number of pixels by that of the bounding box."""
    return np.asarray(found.pixels / _box_pixels(found))


def centroid(found: Measurement) -> HostArray:
    """Mean coordinate along each axis."""
    return np.asarray(found.inside(found.first + found.local) * found.spacing)


def centroid_local(found: Measurement) -> HostArray:
    """Mean coordinate relative to the corner of the bounding box."""
    return np.asarray(found.local * found.spacing)


def equivalent_diameter_area(found: Measurement) -> HostArray:
    """Diameter of the disk (ball) of the same area (volume), as scikit-image defines it."""
    return np.asarray((2 * found.rank * area(found) / np.pi) ** (1 / found.rank))


def touches_border(found: Measurement) -> HostArray:
    """Whether a pixel is first or last along an axis that is longer than 1 and not periodic."""
    long = (found.sides > 1) & ~found.periodic
    return np.asarray((((found.first == 0) | (found.last == found.sides)) & long).any(axis=1))


def _box_pixels(found: Measurement) -> HostArray:
    return np.asarray(np.prod((found.last - found.first).T, axis=0))


ROWS = (
    Property("label", "Number of the object.", POSITION, formula=label),
    Property(
        "frame",
        "Image of the stack in which the object is.",
        POSITION,
        source=OURS,
        needs=("box",),
        formula=frame,
    ),
    Property("num_pixels", "Number of pixels.", POSITION, unit=PIXEL, formula=num_pixels),
    Property(
        "area",
        "Area (volume): number of pixels times the area (volume) of one.",
        POSITION,
        unit=SIZE,
        formula=area,
    ),
    Property(
        "volume",
        "Volume of a 3D object: the same as its area.",
        POSITION,
        ranks=DEEP,
        source=OURS,
        unit=SIZE,
        formula=area,
    ),
    Property(
        "bbox",
        "Bounding box: first pixel along each axis, then last + 1 along each.",
        POSITION,
        unit=PIXEL,
        needs=("box",),
        formula=bbox,
    ),
    Property(
        "area_bbox",
        "Area (volume) of the bounding box.",
        POSITION,
        unit=SIZE,
        needs=("box",),
        formula=area_bbox,
    ),
    Property(
        "area_filled",
        "Area (volume) with holes filled.",
        POSITION,
        ranks=BOTH,
        unit=SIZE,
        needs=("filled",),
        formula=area_filled,
    ),
    Property(
        "extent",
        "Ratio of the object's pixels to those of its bounding box.",
        POSITION,
        needs=("box",),
        formula=extent,
    ),
    Property(
        "centroid",
        "Mean coordinate along each axis.",
        POSITION,
        unit=LENGTH,
        needs=("box", "sums"),
        formula=centroid,
    ),
    Property(
        "centroid_local",
        "Mean coordinate, relative to the corner of the bounding box.",
        POSITION,
        unit=LENGTH,
        needs=("box", "sums"),
        formula=centroid_local,
    ),
    Property(
        "equivalent_diameter_area",
        "Diameter of the disk (ball) of the same area.",
        POSITION,
        unit=LENGTH,
        formula=equivalent_diameter_area,
    ),
    Property(
        "touches_border",
        "Whether a pixel lies at the border of the image.",
        POSITION,
        source=OURS,
        needs=("box",),
        formula=touches_border,
    ),
)


# ---- Formulas of convex hulls: scikit-image's definitions


def area_convex(found: Measurement) -> HostArray:
    """Area (volume) of the pixels of the convex hull."""
    return found.hulls.pixels * found.pixel_size


def solidity(found: Measurement) -> HostArray:
    """Divide the number of pixels by that of the convex hull."""
    return np.asarray(found.pixels / found.hulls.pixels)


def feret_diameter_max(found: Measurement) -> HostArray:
    """Greatest distance between two points of the outline of the convex hull's pixels."""
    from equilabel.measuring.cpu.hulls import feret_diameters

    measure = feret_diameters
    _, starts, corners = found.hulls
    return np.asarray(measure(starts, corners, tuple(found.spacing.tolist())))


HULL_ROWS = (
    Property(
        "area_convex",
        "Area (volume) of the convex hull.",
        POSITION,
        ranks=BOTH,
        unit=SIZE,
        needs=("hull",),
        formula=area_convex,
    ),
    Property(
        "feret_diameter_max",
        "Greatest distance of two points of the convex hull.",
        SHAPE,
        ranks=BOTH,
        unit=LENGTH,
        needs=("corners",),
        formula=feret_diameter_max,
    ),
    Property(
        "solidity",
        "Ratio of the object's pixels to those of its convex hull.",
        SHAPE,
        ranks=BOTH,
        needs=("hull",),
        formula=solidity,
    ),
)
