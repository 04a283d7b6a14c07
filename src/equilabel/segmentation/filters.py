"""Filters before the threshold: smoothing, and subtraction of the background."""

from __future__ import annotations

import inspect
import warnings
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from equilabel.arguments import check_choice, check_flag, is_sequence, normalize_bools, shown
from equilabel.devices import fetch, filters, is_on_cuda, library, passes, take, threads
from equilabel.measuring import check_spacing
from equilabel.quantities import WIDEST, blur_warnings, length_in_pixels, parse, wide_blur

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.quantities import Length, Lengths

    Border = Literal["nearest", "reflect"]
    from numpy.typing import NDArray

# ---- Widths of filters along the axes of an image, in pixels


def distances_of(
    spacing: float | Sequence[float] | None, ndim: int, stacked: bool
) -> tuple[float, ...] | None:
    """Return the spacing along the spatial axes, without that of a stack, or None."""
    if stacked and is_sequence(spacing) and len(spacing) == ndim:  # type: ignore[arg-type]
        spacing = spacing[1:]  # type: ignore[index]
    return None if spacing is None else check_spacing(spacing, ndim - stacked)


def widths_in_pixels(
    sigma: Lengths,
    ndim: int,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
    name: str = "sigma",
    most: float = WIDEST,
) -> list[float]:
    """Return the width of a filter in pixels along each of `ndim` axes, 0 along that of a stack."""
    known = distances_of(spacing, ndim, stacked)
    if stacked and is_sequence(sigma) and len(sigma) == ndim:  # type: ignore[arg-type]
        sigma = sigma[1:]  # type: ignore[index]
    inner = ndim - stacked
    widths = length_in_pixels(name, sigma, inner, spacing=known, unit=unit, most=most)
    return [0.0] * stacked + list(widths)


def in_finest_pixels(
    name: str, length: Length, spacing: Sequence[float] | None, unit: str | None
) -> float:
    """Return one length in pixels of the smallest spacing; raise the errors of `parse`.

    >>> in_finest_pixels("grow", "2um", (1.0, 0.5), "um")
    4.0
    """
    parse(name, length)  # one, not one for each axis
    finest = None if spacing is None else (min(spacing),)
    return length_in_pixels(name, length, 1, spacing=finest, unit=unit)[0]


def warn_of_wide_blur(sigma: Lengths, widths: Sequence[float], shape: Sequence[int]) -> None:
    """Warn if a Gaussian is so wide that it blurs objects together."""
    found = wide_blur(widths, shape)
    if found is None or not blur_warnings.get():
        return
    width, blur, side = found
    given = f"sigma={shown(sigma)}"
    if isinstance(sigma, str):
        given += f" is {width:.3g} pixels and"
    message = (
        f"{given} blurs the image over {blur} pixels, more than a tenth of its {side}. "
        "Pass a smaller sigma, such as '2px', unless this is meant."
    )
    warnings.warn(message, UserWarning, stacklevel=3)


def check_wide(name: str, radius: Lengths, radii: Sequence[float]) -> None:
    """Raise ValueError if the radius of a background, `radii` in pixels, is less than one."""
    if max(radii) < 1:
        message = (
            f"{name} must be 1 pixel or more, and wider than objects; got {shown(radius)}, "
            f"{max(radii):g} pixels. Pass a larger one, such as '50px'."
        )
        raise ValueError(message)


# ---- Gaussian smoothing

NARROWEST = 0.125  # pixels; narrower kernels are a single pixel


def smooth(
    image: ArrayLike,
    sigma: Lengths,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
) -> HostArray:
    """Smooth an image with a Gaussian whose width is given in pixels or as a length.

    Parameters
    ----------
    image : (M, N[, ..., P]) array of bool, integer or float
        Image to smooth.
    sigma : float, str, or a sequence of them
        Standard deviation, for all axes or for each. A number counts pixels, the same along all
        axes. Text may have a unit, "0.3um": the same length in all directions. With 0 the image is
        not smoothed.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Only a `sigma` with a unit depends on it.
    unit : str, optional
        Unit of `spacing`: "um", "nm", ...
    stacked : bool
        Whether the first axis counts independent images: it is not smoothed along this axis, and
        sequences may leave it out.

    Returns
    -------
    array of the same shape
        `image` itself if there is nothing to smooth. Otherwise float32 for bool, integers up
        to 16 bits, float16 and float32, and float64 for wider types. Gray values are not rescaled.

    Raises
    ------
    TypeError, ValueError
        If the image is not of a real type, `sigma` is negative or more than 1000 pixels, `spacing`
        is not positive, a sequence does not have one entry for each axis, or `sigma` has a unit and
        `spacing` has none.

    Warns
    -----
    UserWarning
        If the blur (2.355 `sigma`) is more than 2 pixels, and more than a tenth of the image.

    See Also
    --------
    subtract_background, binarize

    Notes
    -----
    Equal to ``skimage.filters.gaussian(image, sigma, preserve_range=True)`` except for rounding:
    beyond its border, the image is continued by its last pixel. NaN and infinite pixels are not
    changed, and do not contribute to their neighbors. A constant image stays constant to the last
    bit; a frame that is constant in a stack that is not may be rounded.

    Examples
    --------
    >>> image = np.array([[0, 0, 8, 0, 0]], dtype=np.uint8)
    >>> smooth(image, 1.0).round(2)
    array([[0.43, 1.94, 3.19, 1.94, 0.43]], dtype=float32)
    >>> smooth(image, "1um", spacing=2.0, unit="um").round(2)
    array([[0.  , 0.85, 6.29, 0.85, 0.  ]], dtype=float32)
    """
    stacked = check_flag("stacked", stacked)
    pixels = as_pixels(image, stacked=stacked)
    widths = widths_in_pixels(sigma, pixels.ndim, spacing=spacing, unit=unit, stacked=stacked)
    warn_of_wide_blur(sigma, widths, pixels.shape)
    return smoothed(pixels, widths).values


class Smoothed(NamedTuple):
    """An image, and what is known of its values."""

    values: HostArray
    span: tuple[Any, ...] | None = None  # as of `extremes`


def smoothed(pixels: HostArray, widths: Sequence[float]) -> Smoothed:
    """Smooth pixels as `smooth` does."""
    if pixels.size == 0 or not any(widths):
        return Smoothed(pixels)
    dtype = smooth_type(pixels.dtype)
    found = gaussian(pixels, dtype, widths, mode="nearest")
    lowest, highest, *_ = found.span or extremes(pixels)
    if not lowest < highest:  # rarely, the image is not constant, but its smoothed values are
        threads.check()
        lowest, highest, _ = extremes(pixels)
        if not lowest < highest:
            return Smoothed(pixels.astype(dtype))
    return found


def smooth_type(dtype: Any) -> np.dtype[Any]:
    """Return the type of an image after smoothing."""
    wide = dtype.itemsize > (4 if dtype.kind == "f" else 2)
    return np.dtype(np.float64 if wide else np.float32)


def gaussian(pixels: HostArray, dtype: Any, widths: Sequence[float], *, mode: Border) -> Smoothed:
    """Smooth pixels as float32 or float64; NaN and infinities are left out.

    `mode` continues the image beyond its border. Finite pixels are smoothed as by
    `scipy.ndimage.gaussian_filter`, to the last bit.
    """
    if are_finite(pixels):
        return _filter(pixels, dtype, widths, mode)
    finite = np.isfinite(pixels)
    share = _filter(finite, dtype, widths, mode).values
    values = _filter(np.where(finite, pixels, 0), dtype, widths, mode).values
    values = np.where(finite, values / np.where(finite, share, 1), pixels).astype(dtype)
    return Smoothed(values)


def are_finite(pixels: HostArray) -> bool:
    """Return whether no pixel is NaN or infinite."""
    return pixels.dtype.kind != "f" or all(each_piece(lambda some: np.isfinite(some).all(), pixels))


def _filter(pixels: HostArray, dtype: Any, widths: Sequence[float], mode: Border) -> Smoothed:
    """Smooth finite pixels."""
    used = used_widths(widths, pixels.shape, mode)
    if not is_on_cuda(pixels) and any(used[:-3]):  # kernels know three axes; SciPy's sums are equal
        first = [*used[:-3], 0, 0, 0]
        pixels = filters(pixels).gaussian_filter(pixels.astype(dtype), first, mode=mode)
        used[:-3] = [0.0] * len(used[:-3])
    work = passes("segmentation.smoothing", "cuda" if is_on_cuda(pixels) else "cpu")
    values, ends = work.smooth(pixels, dtype, list(map(weights_of, used)), mode == "nearest")
    return Smoothed(values, (*ends, True))


def used_widths(widths: Sequence[float], shape: Sequence[int], mode: Border) -> list[float]:
    """Return the width of a Gaussian along each axis, 0 where it changes nothing."""
    alone = 1 if mode == "nearest" else 0  # an axis of this length is not smoothed
    return [
        0.0 if width < NARROWEST or side <= alone else width
        for width, side in zip(widths, shape, strict=True)
    ]


def weights_of(width: float) -> NDArray[np.float64]:
    """Return the weights of a Gaussian from its middle outwards, as SciPy computes them."""
    reach = int(4 * width + 0.5)
    if not reach:
        return np.ones(1)
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 / (width * width) * places**2)
    return np.ascontiguousarray((weights / weights.sum())[reach:])


def each_piece(work: Callable[..., Any], *images: HostArray) -> list[Any]:
    """Call a function for some rows of all images at a time: on a CPU in threads."""
    if is_on_cuda(images[0]):
        return [work(*images)]
    cuts = threads.ranges(len(images[0]), images[0].size, fine=True)
    return threads.each(work, [tuple(image[a:b] for image in images) for a, b in cuts])


def as_pixels(image: ArrayLike, *, stacked: bool = False) -> HostArray:
    """Return an image as bool, integers or floats in native byte order, on its device; or raise."""
    pixels: HostArray = normalize_bools(take(image))
    if pixels.dtype.kind not in "buif" or pixels.dtype.itemsize > 8:
        message = (
            f"image must be bool, integer or float of up to 64 bits; got {pixels.dtype}. "
            "Convert it first, complex numbers for instance with np.abs."
        )
        raise TypeError(message)
    check_axes(pixels.ndim - stacked, stacked=stacked)
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def check_axes(rank: int, *, stacked: bool) -> None:
    """Raise ValueError if an image has no spatial axis."""
    if rank < 1:
        message = (
            f"image must have at least {1 + stacked} axes where stacked={stacked}; "
            f"got {rank + stacked}. Add axes with np.atleast_{1 + stacked}d."
        )
        raise ValueError(message)


def extremes(pixels: HostArray) -> tuple[Any, Any, bool]:
    """Return the smallest and the largest finite pixel (inf, -inf: none), and whether all are."""
    with np.errstate(invalid="ignore"):
        lowest, highest = fetch(pixels.min())[()], fetch(pixels.max())[()]
        if np.isfinite(lowest) and np.isfinite(highest):
            return lowest, highest, True
    finite = np.isfinite(pixels)
    far = pixels.dtype.type(np.inf)
    return (
        fetch(np.where(finite, pixels, far).min())[()],
        fetch(np.where(finite, pixels, -far).max())[()],
        False,
    )


# ---- The background by scikit-image's rolling ball

GRAY_VALUES = 255  # range to which images are scaled: that of 8 bits


def background_of_ball(
    pixels: HostArray, radii: Sequence[float], *, dark: bool = False
) -> HostArray:
    """Return the background of an image by the rolling ball, see `subtract_background`.

    A first axis of radius 0 counts independent images. The background of integers is rounded away
    from the pixels. NaN and infinities do not stop the ball.
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

    It is as high as its largest radius times `scale`, in gray values per pixel.
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
    around each pixel, then the maximum of these minima. For dark objects it is the closing. With
    the rolling ball, gray values are heights, and a ball rolls below the image (dark: above it);
    the background is the surface that the ball can reach. As in ImageJ, one gray value is as high
    as a pixel is wide, after the image has been scaled to a range of 255 gray values.

    Parameters
    ----------
    image : (M, N[, ...]) array of bool, integer or float
        Image with an uneven background.
    radius : float, str, or a sequence of them
        Half the width of the box, rounded down to whole pixels, or the radius of the ball, for all
        axes or for each: a number of pixels, or a length with a unit. Choose it larger than your
        objects.
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
        0 in the background, positive in objects (dark: negative). Of the type of `image`, but for
        integers the unsigned type of its size; with dark objects the signed type of twice its size
        (64 bits: float64). NaN and infinite pixels are not changed, and do not contribute to the
        background.

    Raises
    ------
    TypeError, ValueError
        As for `smooth`, and if the radius is less than a pixel along all axes.

    See Also
    --------
    smooth, binarize

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
    check_wide("radius", radius, radii)
    if pixels.size == 0 or pixels.dtype == np.bool_:
        return pixels
    least, most = ("maximum", "minimum") if dark else ("minimum", "maximum")
    if dark and pixels.dtype.kind in "iu":
        wide = {1: np.int16, 2: np.int32, 4: np.int64, 8: np.float64}
        pixels = pixels.astype(wide[pixels.dtype.itemsize])
    if method == "rolling_ball":
        host: HostArray = fetch(pixels)
        level: HostArray = library(pixels).asarray(background_of_ball(host, radii, dark=dark))
        return _difference(pixels, level, dark)
    if pixels.dtype.kind != "f":
        return _difference(pixels, _extreme(most, _extreme(least, pixels, sides), sides), dark)
    finite = np.isfinite(pixels)
    far = pixels.dtype.type(-np.inf if dark else np.inf)
    inner = _extreme(least, np.where(finite, pixels, far), sides)
    level = _extreme(most, np.where(np.isfinite(inner), inner, -far), sides)
    with np.errstate(over="ignore"):
        return np.where(finite, pixels - np.where(finite, level, 0), pixels)


def _difference(pixels: HostArray, level: HostArray, dark: bool) -> HostArray:
    """Subtract a background; that of bright integers is at most the pixels: exact modulo 2^bits."""
    if dark or pixels.dtype.kind != "i":
        return pixels - level
    unsigned = np.dtype(f"u{pixels.dtype.itemsize}")
    found: HostArray = pixels.astype(unsigned) - level.astype(unsigned)
    return found


def _extreme(name: str, values: HostArray, sides: Sequence[int]) -> HostArray:
    """Return the minimum or the maximum in a box around each pixel, one axis after the other."""
    if values.dtype == np.float16:  # SciPy's filters do not accept it
        return _extreme(name, values.astype(np.float32), sides).astype(np.float16)
    from .cpu.smoothing import filter_extremes

    on_cuda = is_on_cuda(values)
    values = values if on_cuda else np.ascontiguousarray(values)
    for axis, side in enumerate(sides):
        reach = min(side // 2, values.shape[axis] - 1)  # a larger box gives the same
        if reach > 0 and on_cuda:
            filter_axis = getattr(filters(values), f"{name}_filter1d")
            values = filter_axis(values, 2 * reach + 1, axis, mode="nearest")
        elif reach > 0:
            values = filter_extremes(values, axis, reach, largest=name == "maximum")
    return values
