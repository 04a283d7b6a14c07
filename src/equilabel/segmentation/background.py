"""`subtract_background`: a top-hat or a rolling ball."""

from __future__ import annotations

import inspect
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel.arguments import check_choice, check_flag, shown
from equilabel.devices import fetch, library, threads

from .smoothing import as_pixels, filter_axis, widths_in_pixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray
    from equilabel.quantities import Lengths


# ---- The background by scikit-image's rolling ball

GRAY_VALUES = 255  # range to which images are scaled: that of 8 bits


def background_of_ball(
    pixels: HostArray, radii: Sequence[float], *, dark: bool = False
) -> HostArray:
    """Return the background of an image by the rolling ball, see `subtract_background`.

    `radii` of the ball are in pixels along each axis; a first axis of radius 0 counts independent
    images. The background is nowhere above `pixels` (dark: below); for integers it is rounded away
    from the pixels. NaN and infinities do not stop the ball.

    >>> image = np.array([[0, 9, 9, 255, 9, 9]], dtype=np.uint8)
    >>> background_of_ball(image, (0, 2))
    array([[0, 0, 2, 9, 9, 9]], dtype=uint8)
    """
    from skimage.restoration import rolling_ball

    if radii[0] == 0 and pixels.ndim > 1:
        return np.stack([background_of_ball(image, radii[1:], dark=dark) for image in pixels])
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
    most = "workers" if "workers" in known else "num_threads"  # its name before scikit-image 0.26
    options: dict[str, Any] = {most: threads.available()}
    level: NDArray[np.float64] = rolling_ball(upright, kernel=kernel, **options)
    if pixels.dtype.kind != "f":
        np.floor(level, out=level)
    level = np.where(finite, level, 0)
    found: HostArray = (-level if dark else level).astype(pixels.dtype)
    return found


def _ball(radii: Sequence[float], scale: float) -> NDArray[np.float64]:
    """Return the height of the upper half of an ellipsoid above its equator; inf outside of it.

    The ball is as high as its largest radius times `scale`, in gray values per pixel.

    >>> _ball((0, 5), 2.0)[0, 5:].round(1)
    array([10. ,  9.8,  9.2,  8. ,  6. ,  0. ])
    """
    largest = max(radii)
    square = np.zeros((1,) * len(radii))
    for axis, radius in enumerate(radii):
        reach = ceil(radius)
        places = np.arange(-reach, reach + 1) * (largest / radius if radius else 0.0)
        square = square + (places**2).reshape([-1 if a == axis else 1 for a in range(len(radii))])
    return np.where(
        square <= largest**2, scale * np.sqrt(np.maximum(largest**2 - square, 0)), np.inf
    )


# ---- Subtraction of an uneven background

BackgroundMethod = Literal["top_hat", "rolling_ball"]
METHODS = ("top_hat", "rolling_ball")


def check_background_method(method: object, background: object) -> None:
    """Raise ValueError if the method is unknown, or needs a radius that is not given."""
    check_choice("background_method", method, METHODS, remedy="Pass 'top_hat' if unsure.")
    if method != "top_hat" and background is None:
        message = (
            "background must be given with background_method='rolling_ball': it is the radius of "
            "the ball; got None. Pass one wider than objects, such as '50px'."
        )
        raise ValueError(message)


def subtract_background(
    image: ArrayLike,
    radius: Lengths,
    *,
    dark: bool = False,
    method: BackgroundMethod = "top_hat",
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
) -> HostArray:
    """Subtract the background of an image: everything that is wider than a box, or than a ball.

    With the top-hat, the background is the morphological opening of the image: the minimum in a box
    around each pixel, then the maximum of these minima. For dark objects it is the closing.

    With the rolling ball, gray values are heights, and a ball rolls below the image (dark: above
    it); the background is the surface that the ball can reach. As in ImageJ, one gray value of an
    8-bit image is as high as a pixel is wide. Images of other types are scaled so that their range
    is 255 gray values, and so have the same background.

    Parameters
    ----------
    image : (M, N[, ...]) array of bool, integer or float
        Image with an uneven background.
    radius : float, str, or a sequence of them
        Half the width of the box, or the radius of the ball, for all axes or for each: a number of
        pixels, or a length with a unit. Choose it larger than your objects, because anything wider
        counts as background. The box is rounded down to whole pixels.
    dark : bool
        Whether objects are darker than the background.
    method : {"top_hat", "rolling_ball"}
        The rolling ball is computed on the CPU even for images on a GPU, and its time grows with
        the square (in 3D the cube) of the radius.
    spacing, unit, stacked
        As for `smooth`.

    Returns
    -------
    array
        0 in the background, positive in objects (dark: negative). Of the type of `image`; with dark
        objects, unsigned types become signed types that hold the result (uint64: float64). NaN and
        infinite pixels are not changed, and do not contribute to the background.

    Raises
    ------
    TypeError, ValueError
        As for `smooth`, and if the radius is less than a pixel along all axes.

    Notes
    -----
    Pixels beyond the border do not exist: boxes end there, and the ball can sink.

    Examples
    --------
    >>> image = np.array([[5, 6, 30, 8, 9, 9]], dtype=np.uint8)
    >>> subtract_background(image, (0, 1))
    array([[ 0,  0, 22,  0,  0,  0]], dtype=uint8)
    """
    dark, stacked = check_flag("dark", dark), check_flag("stacked", stacked)
    check_choice("method", method, METHODS, remedy="Pass 'top_hat' if unsure.")
    pixels = as_pixels(image, stacked=stacked)
    scale: Any = {"spacing": spacing, "unit": unit, "stacked": stacked}
    radii = widths_in_pixels(radius, pixels.ndim, name="radius", **scale)
    sides = [2 * int(each) + 1 for each in radii]
    if max(sides, default=3) == 1:
        message = (
            f"radius must be 1 pixel or more, and wider than objects; got {shown(radius)}. "
            "Pass a larger one, such as '50px'."
        )
        raise ValueError(message)
    if pixels.size == 0 or pixels.dtype == np.bool_:
        return pixels
    least, most = ("maximum", "minimum") if dark else ("minimum", "maximum")
    if dark and pixels.dtype.kind == "u":
        signed = {1: np.int16, 2: np.int32, 4: np.int64, 8: np.float64}
        pixels = pixels.astype(signed[pixels.dtype.itemsize])
    if method == "rolling_ball":
        host: HostArray = fetch(pixels)
        level: HostArray = library(pixels).asarray(background_of_ball(host, radii, dark=dark))
        return pixels - level
    if pixels.dtype.kind != "f":
        return pixels - _extreme(most, _extreme(least, pixels, sides), sides)
    finite = np.isfinite(pixels)
    far = pixels.dtype.type(-np.inf if dark else np.inf)
    inner = _extreme(least, np.where(finite, pixels, far), sides)
    level = _extreme(most, np.where(np.isfinite(inner), inner, -far), sides)
    return np.where(finite, pixels - np.where(finite, level, 0), pixels)


def _extreme(name: str, values: HostArray, sides: Sequence[int]) -> HostArray:
    """Return the minimum or the maximum in a box around each pixel, one axis after the other."""
    if values.dtype == np.float16:  # SciPy's filters do not accept it
        return _extreme(name, values.astype(np.float32), sides).astype(np.float16)
    for axis, side in enumerate(sides):
        if side > 1 and values.shape[axis] > 1:
            reach = min(side, 2 * values.shape[axis] - 1)  # a larger box gives the same
            found = library(values).empty_like(values)
            filter_axis(f"{name}_filter1d", values, reach, axis, "nearest", out=found)
            values = found
    return values
