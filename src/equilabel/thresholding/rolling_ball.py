"""The background of an image below which a ball rolls, by scikit-image."""

from __future__ import annotations

import inspect
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

GRAY_VALUES = 255  # that the image is taken to span: those of 8 bits


def find_level(pixels: HostArray, radii: Sequence[float], *, dark: bool = False) -> HostArray:
    """Return the background of an image by the rolling ball, see `subtract_background`.

    Parameters
    ----------
    pixels : (M, N[, ...]) array of integer or float
        Pixels that are not finite do not hold the ball up.
    radii : sequence of float
        Of the ball along each axis, in pixels.
    dark : bool
        Whether the ball rolls above the image.

    Returns
    -------
    array
        Nowhere above `pixels` (dark: below). Of integers, whole numbers: those further from the
        pixels.

    Examples
    --------
    >>> image = np.array([[0, 9, 9, 255, 9, 9]], dtype=np.uint8)
    >>> find_level(image, (0, 2))
    array([[0, 0, 2, 9, 9, 9]], dtype=uint8)
    """
    from skimage.restoration import rolling_ball

    upright = pixels.astype(np.float64)
    if dark:
        np.negative(upright, out=upright)
    finite = np.isfinite(upright)
    if not finite.any():
        return pixels
    within = upright[finite]
    kernel = _ball(radii, float(within.max() - within.min()) / GRAY_VALUES)
    upright[~finite] = np.inf  # as beyond the border
    known = inspect.signature(rolling_ball).parameters
    most = "workers" if "workers" in known else "num_threads"  # the name before 0.26
    options: dict[str, Any] = {most: threads.available()}
    level: NDArray[np.float64] = rolling_ball(upright, kernel=kernel, **options)
    if pixels.dtype.kind != "f":
        np.floor(level, out=level)
    level = np.where(finite, level, 0)
    found: HostArray = (-level if dark else level).astype(pixels.dtype)
    return found


def _ball(radii: Sequence[float], scale: float) -> NDArray[np.float64]:
    """Return how high the upper half of an ellipsoid is above its equator; inf outside of it.

    Parameters
    ----------
    radii : sequence of float
    scale : float
        Gray values to a pixel: the ball is as high as its largest radius, times this.

    Examples
    --------
    >>> _ball((0, 5), 2.0)[0, 5:].round(1)
    array([10. ,  9.8,  9.2,  8. ,  6. ,  0. ])
    """
    largest = max(radii)
    square = np.zeros((1,) * len(radii))
    for axis, radius in enumerate(radii):
        reach = ceil(radius)
        steps = np.arange(-reach, reach + 1) * (largest / radius if radius else 0.0)
        square = square + (steps**2).reshape([-1 if a == axis else 1 for a in range(len(radii))])
    return np.where(
        square <= largest**2, scale * np.sqrt(np.maximum(largest**2 - square, 0)), np.inf
    )
