"""What can be measured: one table for the functions, the command line, the plugin and the docs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Property:
    """One property of labels.

    Attributes
    ----------
    name : str
        The word to pass in ``properties=``.
    summary : str
        What it is, in one sentence.
    ranks : tuple of int
        Numbers of spatial axes for which it is defined; empty for any.
    intensity : bool
        Whether it needs an intensity image.
    source : {"skimage", "equilabel"}
        Whose definition it is.
    place : {"kernel", "host"}
        "kernel": from counts that a kernel makes for all labels at once; "host": by scikit-image
        on the CPU, one bounding box after the other.
    needs : tuple of str
        Groups of `equilabel.kernels.layout.Layout` that it follows from, beside the places.
    """

    name: str
    summary: str
    ranks: tuple[int, ...] = ()
    intensity: bool = False
    source: Literal["skimage", "equilabel"] = "skimage"
    place: Literal["kernel", "host"] = "kernel"
    needs: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether it follows from counts that a kernel makes."""
        return self.place == "kernel"


FLAT, DEEP, BOTH = (2,), (3,), (2, 3)
OURS: Literal["equilabel"] = "equilabel"
HOST: Literal["host"] = "host"

PROPERTIES: dict[str, Property] = {
    row.name: row
    for row in (
        Property("label", "Number of the object."),
        Property("frame", "Image of the stack in which the object is.", source=OURS),
        Property("num_pixels", "Number of pixels."),
        Property("area", "Pixels times the area (volume) of one."),
        Property("volume", "The area of 3D objects by its other name.", DEEP, source=OURS),
        Property("bbox", "First pixel along each axis, then last + 1 along each."),
        Property("area_bbox", "Area (volume) of the bounding box."),
        Property("extent", "Pixels per pixel of the bounding box."),
        Property("centroid", "Mean coordinate along each axis."),
        Property("centroid_local", "Mean coordinate from the corner of the bounding box."),
        Property("equivalent_diameter_area", "Diameter of the disk (ball) of the same area."),
        Property("touches_border", "Whether a pixel lies at the border of the image.", source=OURS),
        Property(
            "perimeter",
            "Length of the line through the centers of border pixels (Benkrid, Crookes 2000).",
            FLAT,
            needs=("outline",),
        ),
        Property(
            "perimeter_crofton",
            "Length of the outline from intercepts in four directions (Crofton's formula).",
            FLAT,
            needs=("all",),
        ),
        Property(
            "perimeter_edges",
            "Length of the pixel edges that border on something else (Kalentev et al. 2011).",
            FLAT,
            source=OURS,
            needs=("faces",),
        ),
        Property(
            "circularity",
            "4 pi area / perimeter_crofton ** 2: 1 for a disk, less for other shapes (Cox 1927).",
            FLAT,
            source=OURS,
            needs=("all",),
        ),
        Property(
            "surface_area_faces",
            "Area of the voxel faces that border on something else (Kalentev et al. 2011).",
            DEEP,
            source=OURS,
            needs=("faces",),
        ),
        Property(
            "surface_area_crofton",
            "Area of the surface from intercepts in 13 directions (Lehmann, Legland 2012).",
            DEEP,
            source=OURS,
            needs=("all",),
        ),
        Property(
            "sphericity",
            "Surface of the ball of the same volume per surface_area_crofton (Wadell 1935).",
            DEEP,
            source=OURS,
            needs=("all",),
        ),
        Property(
            "euler_number",
            "Objects less holes in 2D, plus cavities less tunnels in 3D; corners connect.",
            BOTH,
            needs=("euler_full",),
        ),
        Property(
            "euler_number_faces",
            "Euler number if pixels connect through faces alone.",
            BOTH,
            source=OURS,
            needs=("euler_face",),
        ),
        Property(
            "inertia_tensor",
            "Mean product of distances from the centroid, as a tensor of inertia.",
            (),
            needs=("seconds",),
        ),
        Property(
            "inertia_tensor_eigvals",
            "Eigenvalues of the tensor of inertia, greatest first.",
            (),
            needs=("seconds",),
        ),
        Property(
            "axis_major_length",
            "Longest axis of the ellipse (ellipsoid) with the same second moments.",
            BOTH,
            needs=("seconds",),
        ),
        Property(
            "axis_minor_length",
            "Shortest axis of the ellipse (ellipsoid) with the same second moments.",
            BOTH,
            needs=("seconds",),
        ),
        Property(
            "eccentricity",
            "Focal distance per major axis of the ellipse with the same second moments.",
            FLAT,
            needs=("seconds",),
        ),
        Property(
            "zingg_elongation",
            "Middle per longest axis of the ellipsoid with the same second moments (Zingg 1935).",
            DEEP,
            source=OURS,
            needs=("seconds",),
        ),
        Property(
            "zingg_flatness",
            "Shortest per middle axis of the ellipsoid with the same second moments (Zingg 1935).",
            DEEP,
            source=OURS,
            needs=("seconds",),
        ),
        Property(
            "orientation",
            "Angle between the first axis and the major axis, -pi/2 to pi/2.",
            FLAT,
            needs=("seconds",),
        ),
        Property("moments", "Sums of powers of coordinates in the bounding box.", BOTH),
        Property("moments_central", "Sums of powers of distances from the centroid.", BOTH),
        Property("moments_normalized", "Central moments, free of scale.", BOTH),
        Property("moments_hu", "Hu's seven invariants to shifts, scale and rotation.", FLAT),
        Property("intensity_mean", "Mean value.", intensity=True),
        Property("intensity_min", "Least value.", intensity=True),
        Property("intensity_max", "Greatest value.", intensity=True),
        Property("intensity_std", "Standard deviation of the values.", intensity=True),
        Property("intensity_sum", "Sum of the values.", intensity=True, source=OURS),
        Property("centroid_weighted", "Mean coordinate weighted by values.", BOTH, intensity=True),
        Property(
            "centroid_weighted_local",
            "Mean coordinate weighted by values, from the corner of the bounding box.",
            BOTH,
            intensity=True,
        ),
        Property(
            "moments_weighted",
            "Sums of values times powers of coordinates in the bounding box.",
            BOTH,
            intensity=True,
        ),
        Property(
            "moments_weighted_central",
            "Sums of values times powers of distances from the weighted centroid.",
            BOTH,
            intensity=True,
        ),
        Property(
            "moments_weighted_normalized",
            "Weighted central moments, free of scale.",
            BOTH,
            intensity=True,
        ),
        Property("moments_weighted_hu", "Hu's seven invariants of the values.", FLAT, True),
        Property("area_convex", "Area (volume) of the convex hull.", BOTH, place=HOST),
        Property("area_filled", "Area (volume) with holes filled.", BOTH, place=HOST),
        Property("coords", "Coordinates of the pixels.", BOTH, place=HOST),
        Property("coords_scaled", "Coordinates of the pixels times the spacing.", BOTH, place=HOST),
        Property(
            "feret_diameter_max",
            "Greatest distance of two points of the convex hull.",
            BOTH,
            place=HOST,
        ),
        Property("image", "Mask of the object in its bounding box.", BOTH, place=HOST),
        Property("image_convex", "Mask of the convex hull in the bounding box.", BOTH, place=HOST),
        Property("image_filled", "Mask with holes filled in the bounding box.", BOTH, place=HOST),
        Property(
            "image_intensity", "Values of the object in its bounding box.", BOTH, True, place=HOST
        ),
        Property("intensity_median", "Median value.", BOTH, True, place=HOST),
        Property("slice", "Slices of the bounding box.", BOTH, place=HOST),
        Property("solidity", "Pixels per pixel of the convex hull.", BOTH, place=HOST),
    )
}
