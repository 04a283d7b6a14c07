"""All properties: one table for the functions, the command line, the plugin and the docs."""

from __future__ import annotations

from . import intensities, moments, perimeters, sizes
from .property import BOTH, GRAY, LENGTH, PIXEL, POSITION, SHAPE, VALUE, Property

BY_SCIKIT_IMAGE = (
    Property("coords", "Coordinates of the pixels.", POSITION, ranks=BOTH, unit=PIXEL),
    Property(
        "coords_scaled",
        "Coordinates of the pixels times the spacing.",
        POSITION,
        ranks=BOTH,
        unit=LENGTH,
    ),
    Property("image", "Mask of the object in its bounding box.", SHAPE, ranks=BOTH),
    Property("image_convex", "Mask of the convex hull in the bounding box.", SHAPE, ranks=BOTH),
    Property("image_filled", "Mask with holes filled in the bounding box.", SHAPE, ranks=BOTH),
    Property(
        "image_intensity",
        "Values of the object in its bounding box.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        unit=VALUE,
    ),
    Property("slice", "Slices of the bounding box.", POSITION, ranks=BOTH, unit=PIXEL),
)

PROPERTIES: dict[str, Property] = {
    row.name: row
    for row in (
        *sizes.ROWS,
        *perimeters.ROWS,
        *sizes.HULL_ROWS,
        *moments.INERTIA_ROWS,
        *moments.ROWS,
        *intensities.ROWS,
        *BY_SCIKIT_IMAGE,
    )
}
