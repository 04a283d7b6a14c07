"""Statistics of `equilabel.PROPERTIES` that the forms offer, and those ticked by default."""

from typing import Any

import equilabel

from .sources import Source

# The label is always measured; a table of numbers cannot hold arrays.
NOT_OFFERED = (
    *("label", "coords", "coords_scaled", "slice"),
    *("image", "image_convex", "image_filled", "image_intensity"),
)
SQUARE = "perimeter"  # defined for square pixels
TICKED = "Usual"  # the group of those that are ticked
GROUPS = (TICKED, "Size and position", "Shape", "Gray values", "Moments")


def offered(source: Source, *, image: bool = True) -> dict[str, list[Any]]:
    """List by groups the properties that are defined for a layer; of gray values with an `image`.

    What is computed object by object, and so is slow, comes last in its group.
    """
    spacing, stacked = source.pixel_size[0], "time" in source.roles
    rank = len(spacing)
    usual = equilabel.default_properties(rank, spacing, stacked)
    groups: dict[str, list[Any]] = {group: [] for group in GROUPS}
    for name, row in equilabel.PROPERTIES.items():
        if (
            name in NOT_OFFERED
            or (row.ranks and rank not in row.ranks)
            or (row.intensity and not image)
            or (name == "frame" and not stacked)
            or (name == SQUARE and len(set(spacing)) > 1)
        ):
            continue
        groups[TICKED if name in usual else row.group].append(row)
    return {group: sorted(rows, key=lambda row: not row.counted) for group, rows in groups.items()}
