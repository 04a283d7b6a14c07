"""Foreground of an image: smooth it, find a threshold, binarize."""

from .binarization import Threshold, binarize, find_threshold
from .criteria import NoThresholdError
from .foreground import ThresholdedImage, apply_threshold, from_mask
from .levels import THRESHOLDS
from .smoothing import smooth

__all__ = [
    "THRESHOLDS",
    "NoThresholdError",
    "Threshold",
    "ThresholdedImage",
    "apply_threshold",
    "binarize",
    "find_threshold",
    "from_mask",
    "smooth",
]
