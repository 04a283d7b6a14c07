"""Foreground of an image: smooth it, find a threshold, binarize."""

from .background import BackgroundMethod, check_background_method, subtract_background
from .binarization import Threshold, binarize, find_threshold
from .checks import check_block
from .criteria import NoThresholdError
from .foreground import ThresholdedImage, apply_threshold, from_mask
from .lengths import widths_in_pixels
from .levels import THRESHOLDS
from .morphology import close_mask, open_mask
from .smoothing import as_pixels, smooth

__all__ = [
    "THRESHOLDS",
    "BackgroundMethod",
    "NoThresholdError",
    "Threshold",
    "ThresholdedImage",
    "apply_threshold",
    "as_pixels",
    "binarize",
    "check_background_method",
    "check_block",
    "close_mask",
    "find_threshold",
    "from_mask",
    "open_mask",
    "smooth",
    "subtract_background",
    "widths_in_pixels",
]
