"""What is done to a mask and to components: fill holes, split what touches, drop objects."""

from .holes import fill_holes
from .selection import drop_components, select_components
from .splitting import split_components, split_touching

__all__ = [
    "drop_components",
    "fill_holes",
    "select_components",
    "split_components",
    "split_touching",
]
