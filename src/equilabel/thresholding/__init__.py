"""From gray values to foreground: smooth, find a threshold, binarize."""

from .binarizing import Threshold, binarize, find_threshold
from .criteria import NoThresholdError
from .levels import METHODS
from .smoothing import smooth

__all__ = ["METHODS", "NoThresholdError", "Threshold", "binarize", "find_threshold", "smooth"]
