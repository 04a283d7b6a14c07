"""Lengths and sizes, given in pixels or with a unit, as numbers of pixels.

A plain number counts pixels; text may name a unit: "2", "2px", "0.3um", "5 µm²". Lengths are those
along an axis, such as the width of a Gaussian. Sizes are what an object has: pixels, or an area of
an image of two axes and a volume of one of three. Physical ones need the pixel size and its unit.
"""

from .blur import questions_asked, wide_blur, without_questions
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
    "decimals_for",
    "derived_unit",
    "describe_pixels",
    "known_unit",
    "length_in_pixels",
    "odd",
    "parse",
    "pixel_of",
    "questions_asked",
    "size_in_pixels",
    "wide_blur",
    "without_questions",
]
