"""Gray values of color images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from equilabel.array_types import Array

COLORS = ("luminance", "red", "green", "blue")
LUMINANCE = (0.2125, 0.7154, 0.0721)  # weights of red, green and blue in scikit-image


def gray(pixels: Array, color: str) -> Array:
    """Return a channel of an (..., 3 or 4) color image, or its luminance as float32.

    `pixels` is a NumPy array, or a Dask array that is not computed.

    >>> pixels = np.array([[[10, 20, 30]]], np.uint8)
    >>> gray(pixels, "green"), gray(pixels, "luminance").round(2)
    (array([[20]], dtype=uint8), array([[18.6]], dtype=float32))
    """
    if color in COLORS[1:]:
        return pixels[..., COLORS.index(color) - 1]
    weights = np.array(LUMINANCE, np.float32)
    return pixels[..., :3].astype(np.float32) @ weights
