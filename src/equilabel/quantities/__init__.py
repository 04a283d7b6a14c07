"""Convert lengths and sizes, given in pixels or with a unit, to numbers of pixels.

A plain number counts pixels; text may name a unit: "2", "2px", "0.3um", "5 µm²". A length is
measured along an axis, such as the width of a Gaussian; a size is that of an object, an area (2D)
or a volume (3D). Both need the pixel size if they have a unit.
"""

from .blur import blur_warnings_enabled, wide_blur, without_blur_warnings
from .derived import derived_unit
from .display import decimals_for, describe_pixels, odd, pixel_of
from .pixels import WIDEST, Length, Lengths, Size, length_in_pixels, size_in_pixels
from .quantity import KINDS, Quantity, known_unit, parse

__all__ = [
    "KINDS",
    "WIDEST",
    "Length",
    "Lengths",
    "Quantity",
    "Size",
    "blur_warnings_enabled",
    "decimals_for",
    "derived_unit",
    "describe_pixels",
    "known_unit",
    "length_in_pixels",
    "odd",
    "parse",
    "pixel_of",
    "size_in_pixels",
    "wide_blur",
    "without_blur_warnings",
]
