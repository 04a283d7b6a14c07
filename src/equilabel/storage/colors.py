"""Gray values of color images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from equilabel.array_types import Array

COLORS = ("luminance", "red", "green", "blue")
LUMINANCE = (0.2125, 0.7154, 0.0721)  # of red, green and blue, as scikit-image weighs them


def gray(pixels: Array, color: str) -> Array:
    """Return a channel of a color image, or its luminance.

    Parameters
    ----------
    pixels : (..., 3 or 4) array
        Of NumPy, or of Dask, which is not computed.
    color : {"luminance", "red", "green", "blue"}

    Returns
    -------
    (...) array
        A channel, or the luminance in float32, in the range of the colors.

    Examples
    --------
    >>> pixels = np.array([[[10, 20, 30]]], np.uint8)
    >>> gray(pixels, "green"), gray(pixels, "luminance").round(2)
    (array([[20]], dtype=uint8), array([[18.6]], dtype=float32))
    """
    if color in COLORS[1:]:
        return pixels[..., COLORS.index(color) - 1]
    weights = np.array(LUMINANCE, np.float32)
    return pixels[..., :3].astype(np.float32) @ weights
