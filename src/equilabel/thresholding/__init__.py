"""Foreground of an image: smooth it, find a threshold, binarize."""

from .binarization import Threshold, binarize, find_threshold
from .checks import check_block
from .criteria import NoThresholdError
from .foreground import ThresholdedImage, apply_threshold, from_mask
from .lengths import widths_in_pixels
from .levels import THRESHOLDS
from .smoothing import smooth

__all__ = [
    "THRESHOLDS",
    "NoThresholdError",
    "Threshold",
    "ThresholdedImage",
    "apply_threshold",
    "binarize",
    "check_block",
    "find_threshold",
    "from_mask",
    "smooth",
    "widths_in_pixels",
]
