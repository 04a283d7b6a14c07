"""Statistics of `equilabel.PROPERTIES` that the forms offer, and those ticked by default."""

from typing import NamedTuple

import equilabel

# The label is always measured; a table of numbers cannot hold arrays.
NOT_OFFERED = (
    *("label", "coords", "coords_scaled", "slice"),
    *("image", "image_convex", "image_filled", "image_intensity"),
)
SQUARE = "perimeter"  # defined for square pixels
ORDER = ("Usual", "Size and position", "Shape", "Gray values", "Moments")


class Statistic(NamedTuple):
    """A property that can be measured; if it is slow, object by object."""

    name: str
    summary: str
    group: str
    usual: bool
    slow: bool


def offered(
    spacing: tuple[float, ...], *, stacked: bool = False, image: bool = True
) -> list[Statistic]:
    """List the statistics that are defined for images of such pixels, with frames, or gray values.

    Group by group, the usual ones first, those that are slow last in their group.
    """
    rank = len(spacing)
    default = equilabel.default_properties(rank, spacing, stacked)
    found = []
    for name, row in equilabel.PROPERTIES.items():
        if (
            name in NOT_OFFERED
            or (row.ranks and rank not in row.ranks)
            or (row.intensity and not image)
            or (name == "frame" and not stacked)
            or (name == SQUARE and len(set(spacing)) > 1)
        ):
            continue
        usual = name in default
        group = "Usual" if usual else row.group
        found.append(Statistic(name, row.summary, group, usual, not row.counted))
    return sorted(found, key=lambda each: (ORDER.index(each.group), each.slow))
