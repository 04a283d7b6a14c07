"""Properties of size and position, and of convex hulls: scikit-image's definitions, and ours."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .layout import AXES, Formula, Step
from .property import BOTH, DEEP, LENGTH, OURS, PIXEL, POSITION, SHAPE, SIZE, Property, parts

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .layout import Layout
    from .measurement import Measurement
    from .property import Parts


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
        "solidity",
        "Ratio of the object's pixels to those of its convex hull.",
        SHAPE,
        formula=lambda m: np.asarray(m.pixels / m.hulls.pixels),
    ),
)
