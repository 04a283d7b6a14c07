"""Which statistics the forms offer, each with a sentence. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statistic:
    """A property of `equilabel.regionprops_table` to offer.

    Attributes
    ----------
    name : str
        As `regionprops_table` knows it.
    sentence : str
        What it is.
    usual : bool
        Whether it is measured unless it is switched off.
    ranks : tuple of int
        Numbers of spatial axes for which it is defined; empty for all.
    needs : str
        "image": gray values; "frames": a stack; "square": pixels as long as wide; or nothing.
    slow : bool
        Whether each object is measured by itself, which takes a millisecond or so for each.
    """

    name: str
    sentence: str
    usual: bool = False
    ranks: tuple[int, ...] = ()
    needs: str = ""
    slow: bool = False


STATISTICS: tuple[Statistic, ...] = (
    Statistic("frame", "Which image of the stack it is in.", usual=True, needs="frames"),
    Statistic("num_pixels", "Number of pixels.", usual=True),
    Statistic("area", "Area, or volume in 3D, in the unit of the layer.", usual=True),
    Statistic("centroid", "Mean position along each axis.", usual=True),
    Statistic("bbox", "Bounding box in pixels: first along each axis, then last + 1."),
    Statistic("area_bbox", "Area or volume of the bounding box."),
    Statistic("extent", "Share of the bounding box that it fills."),
    Statistic(
        "equivalent_diameter_area", "Diameter of the disk or ball of the same size.", usual=True
    ),
    Statistic(
        "perimeter",
        "Length of the outline, through the centers of border pixels.",
        usual=True,
        ranks=(2,),
        needs="square",
    ),
    Statistic("perimeter_edges", "Length of the exposed pixel edges.", ranks=(2,)),
    Statistic("surface_area_faces", "Area of the exposed voxel faces.", usual=True, ranks=(3,)),
    Statistic("intensity_mean", "Mean gray value.", usual=True, needs="image"),
    Statistic("intensity_min", "Least gray value.", usual=True, needs="image"),
    Statistic("intensity_max", "Greatest gray value.", usual=True, needs="image"),
    Statistic("intensity_std", "Standard deviation of gray values.", usual=True, needs="image"),
    Statistic(
        "axis_major_length", "Length of the ellipse of the same moments.", ranks=(2, 3), slow=True
    ),
    Statistic(
        "axis_minor_length", "Width of the ellipse of the same moments.", ranks=(2, 3), slow=True
    ),
    Statistic("eccentricity", "0 for a circle, near 1 for a line.", ranks=(2,), slow=True),
    Statistic(
        "orientation", "Angle of the long axis to the rows, in radians.", ranks=(2,), slow=True
    ),
    Statistic("solidity", "Share of the convex hull that it fills.", ranks=(2,), slow=True),
    Statistic("euler_number", "Parts less holes.", ranks=(2, 3), slow=True),
)


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
        In the order of `STATISTICS`.

    Examples
    --------
    >>> [each.name for each in offered((4, 1, 1), image=False) if each.usual][-1]
    'surface_area_faces'
    >>> "perimeter" in [each.name for each in offered((2, 1))]
    False
    """
    has = {
        "": True,
        "image": image,
        "frames": stacked,
        "square": len(set(spacing)) == 1,
    }
    rank = len(spacing)
    return [
        each for each in STATISTICS if has[each.needs] and (not each.ranks or rank in each.ranks)
    ]
