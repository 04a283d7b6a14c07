"""Statistics of `equilabel.PROPERTIES` that the forms offer, and those ticked by default."""

from __future__ import annotations

from dataclasses import dataclass

import equilabel

# The label is always measured; a table of numbers cannot hold arrays.
NOT_OFFERED = (
    *("label", "coords", "coords_scaled", "slice"),
    *("image", "image_convex", "image_filled", "image_intensity"),
)

# Measured by `equilabel.segment` by default; which outline depends on the pixels.
USUAL = (
    *("frame", "area", "bbox", "centroid", "equivalent_diameter_area"),
    *("perimeter", "perimeter_crofton", "surface_area_crofton"),
    *("intensity_mean", "intensity_min", "intensity_max", "intensity_std"),
)
SQUARE = "perimeter"  # defined for square pixels

ORDER = ("Usual", "Size and position", "Shape", "Gray values", "Moments")


@dataclass(frozen=True)
class Statistic:
    """A property that can be measured.

    Attributes
    ----------
    name : str
        As `equilabel.regionprops_table` knows it.
    summary : str
        What it is.
    group : str
        Title of its group.
    usual : bool
        Whether it is measured by default.
    slow : bool
        Whether objects are measured one by one, which takes about a millisecond each.
    """

    name: str
    summary: str
    group: str
    usual: bool
    slow: bool


def offered(
    spacing: tuple[float, ...], *, stacked: bool = False, image: bool = True
) -> list[Statistic]:
    """List the statistics that are defined for an image.

    Parameters
    ----------
    spacing : tuple of float
        Distance of pixels along each axis of space.
    stacked : bool
        Whether there are frames.
    image : bool
        Whether there are gray values.

    Returns
    -------
    list of Statistic
        Group by group, the usual ones first, those that are slow last in their group.

    Examples
    --------
    >>> [each.name for each in offered((4, 1, 1), image=False) if each.usual][-1]
    'surface_area_crofton'
    >>> "perimeter" in [each.name for each in offered((2, 1))]
    False
    """
    rank = len(spacing)
    square = len(set(spacing)) == 1
    found = []
    for row in equilabel.PROPERTIES.values():
        name = row.name
        if (
            name in NOT_OFFERED
            or (row.ranks and rank not in row.ranks)
            or (row.intensity and not image)
            or (name == "frame" and not stacked)
            or (name == SQUARE and not square)
        ):
            continue
        usual = name in USUAL and not (name == "perimeter_crofton" and square)
        group = "Usual" if usual else row.group
        found.append(Statistic(name, row.summary, group, usual, not row.counted))
    return sorted(found, key=lambda each: (ORDER.index(each.group), each.slow))
