"""Formulas from convex hulls, as scikit-image defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import passes

from .property import BOTH, LENGTH, POSITION, SHAPE, SIZE, Property

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .measurement import Measurement


def area_convex(found: Measurement) -> HostArray:
    """Area (volume) of the pixels of the convex hull."""
    return found.hulls.pixels * found.pixel_size


def solidity(found: Measurement) -> HostArray:
    """Ratio of the object's pixels to those of its convex hull."""
    return np.asarray(found.pixels / found.hulls.pixels)


def feret_diameter_max(found: Measurement) -> HostArray:
    """Greatest distance of two points of the outline of the pixels of the convex hull."""
    measure = passes("hulls", "cpu").feret_diameters
    _, starts, corners = found.hulls
    return np.asarray(measure(starts, corners, tuple(found.spacing.tolist())))


ROWS = (
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
