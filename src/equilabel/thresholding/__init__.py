"""From gray values to foreground: smooth, find a threshold, binarize."""

from .binarizing import Threshold, binarize, find_threshold
from .criteria import NoThresholdError
from .cutting import Cut, find_cut, masked
from .levels import METHODS
from .smoothing import smooth

__all__ = [
    "METHODS",
    "Cut",
    "NoThresholdError",
    "Threshold",
    "binarize",
    "find_cut",
    "find_threshold",
    "masked",
    "smooth",
]
