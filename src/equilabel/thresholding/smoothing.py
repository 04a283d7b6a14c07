"""Gaussian smoothing in physical units, before an image is binarized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel import threads
from equilabel.devices import fetch, filters, is_on_cuda, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray

    Border = Literal["nearest", "reflect"]

# Standard deviations in pixels. A kernel reaches four times as far to either side.
LARGEST = 1000.0
NARROWEST = 0.125  # below, the kernel is a single pixel


def smooth(
    image: ArrayLike,
    sigma: float | Sequence[float],
    *,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
) -> HostArray:
    """Smooth an image with a Gaussian whose width is given in physical units.

    Parameters
    ----------
    image : (M, N[, ..., P]) array of bool, integer or float
        Image to smooth.
    sigma : float or sequence of float
        Standard deviation, for all axes or for each, in the unit of `spacing`. Gray values stay
        what they are where it is 0.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Default 1: `sigma` counts pixels.
    stacked : bool
        Whether the first axis counts independent images: nothing is smoothed along it, and
        sequences may leave it out.

    Returns
    -------
    array of the same shape
        `image` itself where there is nothing to smooth. Otherwise float32 of bool, integers up
        to 16 bits, float16 and float32, and float64 of wider types. The range of gray values
        is kept.

    Raises
    ------
    TypeError
        If the image is not of a real type, or a number is not a number.
    ValueError
        If `sigma` is negative or beyond 1000 pixels, `spacing` not positive, or a sequence has
        not one entry per axis.

    Notes
    -----
    Equal to ``skimage.filters.gaussian(image, sigma / spacing, preserve_range=True)`` but for
    rounding: beyond its border an image is continued by its last pixel. Pixels that are NaN or
    infinite are not changed, and do not contribute to their neighbors. A constant image stays
    constant to the last bit.

    Examples
    --------
    >>> image = np.array([[0, 0, 8, 0, 0]], dtype=np.uint8)
    >>> smooth(image, 1.0).round(2)
    array([[0.43, 1.94, 3.19, 1.94, 0.43]], dtype=float32)
    >>> smooth(image, 1.0, spacing=2.0).round(2)
    array([[0.  , 0.85, 6.29, 0.85, 0.  ]], dtype=float32)
    """
    pixels = as_pixels(image, stacked=stacked)
    sigmas = per_axis("sigma", sigma, pixels.ndim, stacked=stacked, fill=0.0)
    if not all(0 <= value < np.inf for value in sigmas):
        message = f"sigma must be 0 or more, and finite; got {sigma!r}. Pass 0 for no smoothing."
        raise ValueError(message)
    sizes = per_axis("spacing", 1.0 if spacing is None else spacing, pixels.ndim, stacked=stacked)
    if not all(0 < value < np.inf for value in sizes):
        message = (
            f"spacing must be positive and finite; got {spacing!r}. "
            "Leave it out where pixels have no known size."
        )
        raise ValueError(message)
    widths = [value / size for value, size in zip(sigmas, sizes, strict=True)]
    if max(widths) > LARGEST:
        message = (
            f"sigma must be at most {LARGEST:g} pixels; got {max(widths):g}. "
            "Give it in the unit of spacing."
        )
        raise ValueError(message)
    if pixels.size == 0 or not any(widths):
        return pixels
    wide = pixels.dtype.itemsize > (4 if pixels.dtype.kind == "f" else 2)
    values = pixels.astype(np.float64 if wide else np.float32)
    lowest, highest, _ = extremes(pixels)
    if not lowest < highest:
        return values
    return gaussian(values, widths, mode="nearest")


def gaussian(values: HostArray, widths: Sequence[float], *, mode: Border) -> HostArray:
    """Smooth in place; pixels that are not finite are left out.

    Parameters
    ----------
    values : array of float32 or float64
        Overwritten.
    widths : sequence of float
        Standard deviation per axis, in pixels.
    mode : {"nearest", "reflect"}
        How the image is continued beyond its border, as in `scipy.ndimage`.

    Returns
    -------
    array
        `values`; equal to `scipy.ndimage.gaussian_filter` where all are finite.
    """
    finite = np.isfinite(values)
    if finite.all():
        return _filter(values, widths, mode)
    share = finite.astype(values.dtype)
    known = _filter(np.where(finite, values, 0), widths, mode)
    share = _filter(share, widths, mode)
    values[finite] = known[finite] / share[finite]
    return values


def as_pixels(image: ArrayLike, *, stacked: bool = False) -> HostArray:
    """Return an image as an array of real numbers in native byte order.

    Parameters
    ----------
    image : array_like
    stacked : bool
        Whether the first axis counts independent images.

    Returns
    -------
    array of bool, integer or float
        Of NumPy, or of CuPy where a GPU holds it. Not copied where it need not be.

    Raises
    ------
    TypeError
        If the pixels are anything else, such as complex numbers.
    ValueError
        If there are too few axes.
    """
    pixels: HostArray = take(image)
    if pixels.dtype.kind not in "buif" or pixels.dtype.itemsize > 8:
        message = (
            f"image must be bool, integer or float of up to 64 bits; got {pixels.dtype}. "
            "Convert it first, complex numbers for instance with np.abs."
        )
        raise TypeError(message)
    if pixels.ndim < 1 + stacked:
        message = (
            f"image must have at least {1 + stacked} axes where stacked={stacked}; "
            f"got {pixels.ndim}. Add axes with np.atleast_{1 + stacked}d."
        )
        raise ValueError(message)
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def extremes(pixels: HostArray) -> tuple[Any, Any, bool]:
    """Find the smallest and the largest finite pixel.

    Parameters
    ----------
    pixels : array of bool, integer or float
        Not empty.

    Returns
    -------
    lowest, highest : scalars of the type of `pixels`
        Infinity and minus infinity where no pixel is finite.
    finite : bool
        Whether all are.
    """
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


def per_axis(
    name: str, value: object, ndim: int, *, stacked: bool, fill: float | None = None
) -> list[float]:
    """Return a number for each axis of an image, from one number or a sequence.

    Parameters
    ----------
    name : str
        What to call it in an error.
    value : float or sequence of float
    ndim : int
        Axes of the image.
    stacked : bool
        Whether the first axis counts independent images; a sequence may leave it out.
    fill : float, optional
        What the stacked axis gets, whatever was given for it. Default 1.

    Returns
    -------
    list of float
        `ndim` numbers.

    Raises
    ------
    TypeError
        If they are no numbers.
    ValueError
        If there are too few or too many.
    """
    inner = ndim - stacked
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{name} must be a number, or one for each axis; got {value!r}."
        raise TypeError(message) from None
    if numbers.ndim == 0:
        numbers = np.full(inner, numbers)
    elif stacked and numbers.shape == (ndim,):
        numbers = numbers[1:]
    if numbers.shape != (inner,):
        message = (
            f"{name} must be a number, or one for each of {inner} axes; got {value!r}. "
            "Give one number for all axes, or as many as there are."
        )
        raise ValueError(message)
    return [1.0 if fill is None else fill] * stacked + [float(number) for number in numbers]


def _filter(values: HostArray, widths: Sequence[float], mode: Border) -> HostArray:
    for axis, width in enumerate(widths):
        if width >= NARROWEST and (mode == "reflect" or values.shape[axis] > 1):
            _filter_axis(values, axis, width, mode)
    return values


def _filter_axis(values: HostArray, axis: int, width: float, mode: Border) -> None:
    """Smooth in place along one axis, in threads that divide another axis."""
    gaussian_filter1d = filters(values).gaussian_filter1d

    def work(piece: HostArray) -> None:
        gaussian_filter1d(piece, width, axis, output=piece, mode=mode)

    others = [a for a in range(values.ndim) if a != axis]
    if not others or is_on_cuda(values):
        work(values)
        return
    longest = max(others, key=lambda a: values.shape[a])
    lines = np.moveaxis(values, longest, 0)
    cuts = threads.ranges(len(lines), values.size)
    pieces = [np.moveaxis(lines[start:stop], 0, longest) for start, stop in cuts]
    threads.each(work, [(piece,) for piece in pieces])
