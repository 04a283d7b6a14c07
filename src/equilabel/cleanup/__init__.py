"""What is done to a mask and to components: fill holes, split what touches, drop objects."""

from .holes import fill_holes
from .selection import drop_components, select_components
from .shapes import shape_properties
from .splitting import TOLERANCE, split_components, split_touching, tolerance_in_pixels

__all__ = [
    "TOLERANCE",
    "drop_components",
    "fill_holes",
    "select_components",
    "shape_properties",
    "split_components",
    "split_touching",
    "tolerance_in_pixels",
]
