"""All properties: one table for the functions, the command line, the plugin and the docs."""

from __future__ import annotations

from functools import partial

import numpy as np

from . import moments, sizes
from .counts import Formula, Step
from .measurement import BOTH, GRAY, LENGTH, OURS, PIXEL, POSITION, SHAPE, VALUE, Property

_gray = partial(Property, group=GRAY, intensity=True, unit=VALUE, needs=("values",))

INTENSITY_ROWS = (
    _gray(
        "intensity_mean",
        "Mean value.",
        formula=lambda m: m.channels(m.means),
        step=Step(Formula.VALUE_MEAN),
    ),
    _gray(
        "intensity_min",
        "Minimum of the values.",
        formula=lambda m: m.channels(m.values.lows.astype(np.float64)),
        step=Step(Formula.VALUE_LOW),
    ),
    _gray(
        "intensity_max",
        "Maximum of the values.",
        formula=lambda m: m.channels(m.values.highs.astype(np.float64)),
        step=Step(Formula.VALUE_HIGH),
    ),
    _gray(
        "intensity_median",
        "Median value.",
        ranks=BOTH,
        needs=("median",),
        formula=lambda m: m.channels(m.medians),
        step=None,
    ),
    _gray(
        "intensity_std",
        "Standard deviation of the values.",
        needs=("values", "deviations"),
        formula=lambda m: m.channels(np.sqrt(m.variances)),
        step=Step(Formula.VALUE_STD),
    ),
    _gray(
        "intensity_sum",
        "Sum of the values.",
        source=OURS,
        formula=lambda m: m.channels(m.values.sums),
        step=Step(Formula.VALUE_SUM),
    ),
)

_row = partial(Property, ranks=BOTH, step=None)

BY_SCIKIT_IMAGE = (
    _row("coords", "Coordinates of the pixels.", POSITION, unit=PIXEL),
    _row("coords_scaled", "Coordinates of the pixels times the spacing.", POSITION, unit=LENGTH),
    _row("image", "Mask of the object in its bounding box.", SHAPE),
    _row("image_convex", "Mask of the convex hull in the bounding box.", SHAPE),
    _row("image_filled", "Mask with holes filled in the bounding box.", SHAPE),
    _row(
        "image_intensity",
        "Values of the object in its bounding box.",
        GRAY,
        intensity=True,
        unit=VALUE,
    ),
    _row("slice", "Slices of the bounding box.", POSITION, unit=PIXEL),
)

PROPERTIES: dict[str, Property] = {
    row.name: row
    for row in (
        *sizes.ROWS,
        *sizes.OUTLINE_ROWS,
        *sizes.HULL_ROWS,
        *moments.INERTIA_ROWS,
        *moments.ROWS,
        *INTENSITY_ROWS,
        *BY_SCIKIT_IMAGE,
    )
}
