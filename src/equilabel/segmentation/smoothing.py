"""`smooth`: a Gaussian filter whose width is in pixels or has a unit."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel.arguments import as_host_array, check_flag, is_sequence, shown
from equilabel.booleans import normalize_bools
from equilabel.devices import fetch, filters, is_on_cuda, take, threads
from equilabel.quantities import WIDEST, blur_warnings_enabled, length_in_pixels, wide_blur

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.quantities import Lengths

    Border = Literal["nearest", "reflect"]


# ---- Widths of filters along the axes of an image, in pixels


def widths_in_pixels(
    sigma: Lengths,
    ndim: int,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
    name: str = "sigma",
) -> list[float]:
    """Return the width of a filter in pixels along each of `ndim` axes, 0 along that of a stack.

    Arguments and errors as for `smooth`; `name` is what errors call `sigma`.
    """
    sizes = per_axis("spacing", 1.0 if spacing is None else spacing, ndim, stacked=stacked)
    if not all(0 < value < np.inf for value in sizes):
        message = (
            f"spacing must be positive and finite; got {shown(spacing)}. "
            "Leave it out where pixels have no known size."
        )
        raise ValueError(message)
    if stacked and is_sequence(sigma) and len(sigma) == ndim:  # type: ignore[arg-type]
        sigma = sigma[1:]  # type: ignore[index]
    known = None if spacing is None else sizes[stacked:]
    inner = ndim - stacked
    widths = length_in_pixels(name, sigma, inner, spacing=known, unit=unit, most=WIDEST)
    return [0.0] * stacked + list(widths)


def warn_of_wide_blur(sigma: Lengths, widths: Sequence[float], shape: Sequence[int]) -> None:
    """Warn if a Gaussian is so wide that it blurs objects together."""
    found = wide_blur(widths, shape)
    if found is None or not blur_warnings_enabled():
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


def per_axis(
    name: str, value: object, ndim: int, *, stacked: bool, fill: float | None = None
) -> list[float]:
    """Return one number for each axis of an image, from one number or a sequence.

    A sequence may leave out the axis of a stack, which always gets `fill`, by default 1. Errors
    call the value `name`: TypeError if it is not numeric, ValueError if its length does not match.
    """
    inner = ndim - stacked
    given = as_host_array(name, value)
    if given.dtype.kind not in "buif":
        message = f"{name} must be a number, or one for each axis; got {shown(value)}."
        raise TypeError(message)
    numbers = given.astype(np.float64)
    if numbers.ndim == 0:
        numbers = np.full(inner, numbers)
    elif stacked and numbers.shape == (ndim,):
        numbers = numbers[1:]
    if numbers.shape != (inner,):
        message = (
            f"{name} must be a number, or one for each of {inner} axes; got {shown(value)}. "
            "Give one number for all axes, or as many as there are."
        )
        raise ValueError(message)
    return [1.0 if fill is None else fill] * stacked + [float(number) for number in numbers]


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
    TypeError
        If the image is not of a real type, or a number is required and something else is given.
    ValueError
        If `sigma` is negative or more than 1000 pixels, `spacing` is not positive, a sequence does
        not have one entry for each axis, or `sigma` has a unit and `spacing` has none.

    Warns
    -----
    UserWarning
        If the blur is wider than a tenth of the image: its full width at half maximum, 2.355
        `sigma`. There is no warning up to 2 pixels.

    Notes
    -----
    Equal to ``skimage.filters.gaussian(image, sigma, preserve_range=True)`` except for rounding:
    beyond its border, the image is continued by its last pixel. NaN and infinite pixels are not
    changed, and do not contribute to their neighbors. A constant image stays constant to the last
    bit.

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
    if pixels.size == 0 or not any(widths):
        return pixels
    wide = pixels.dtype.itemsize > (4 if pixels.dtype.kind == "f" else 2)
    values = converted(pixels, np.dtype(np.float64 if wide else np.float32))
    lowest, highest, _ = extremes(pixels)
    threads.check()
    if not lowest < highest:
        return values
    return gaussian(values, widths, mode="nearest")


def gaussian(values: HostArray, widths: Sequence[float], *, mode: Border) -> HostArray:
    """Smooth an array of float32 or float64 in place; NaN and infinities are left out.

    `widths` are the standard deviations along each axis, in pixels; `mode` continues the image
    beyond its border as in `scipy.ndimage`. Equal to `scipy.ndimage.gaussian_filter` for finite
    pixels.
    """
    if _all_finite(values):
        return _filter(values, widths, mode)
    finite = np.isfinite(values)
    share = finite.astype(values.dtype)
    known = _filter(np.where(finite, values, 0), widths, mode)
    share = _filter(share, widths, mode)
    values[finite] = known[finite] / share[finite]
    return values


def converted(pixels: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """Copy pixels as another type, in threads if there are many."""
    if is_on_cuda(pixels):
        return pixels.astype(dtype)
    out = np.empty_like(pixels, dtype)
    cuts = threads.ranges(len(pixels), pixels.size, fine=True)
    threads.each(np.copyto, [(out[a:b], pixels[a:b]) for a, b in cuts])
    return out


def as_pixels(image: ArrayLike, *, stacked: bool = False) -> HostArray:
    """Return an image as an array of bool, integers or floats in native byte order, on its device.

    Copied only if necessary. Raises TypeError for other types, such as complex numbers, and
    ValueError if there are too few axes.
    """
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
    """Return the smallest and the largest finite pixel, and whether all pixels are finite.

    `pixels` must not be empty. Without a finite pixel these are infinity and minus infinity.
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


def _all_finite(values: HostArray) -> bool:
    if is_on_cuda(values):
        return bool(np.isfinite(values).all())
    cuts = threads.ranges(len(values), values.size, fine=True)
    return all(threads.each(lambda a, b: bool(np.isfinite(values[a:b]).all()), cuts))


def _filter(values: HostArray, widths: Sequence[float], mode: Border) -> HostArray:
    for axis, width in enumerate(widths):
        if width >= NARROWEST and (mode == "reflect" or values.shape[axis] > 1):
            filter_axis("gaussian_filter1d", values, width, axis, mode, out=values)
    return values


def filter_axis(
    name: str, values: HostArray, width: float, axis: int, mode: Border, *, out: HostArray
) -> None:
    """Filter along one axis into `out`, which may be `values`, in threads that divide another axis.

    `name` is that of a filter in `scipy.ndimage`.
    """
    work: Any = getattr(filters(values), name)
    others = [a for a in range(values.ndim) if a != axis]
    if not others or is_on_cuda(values):
        work(values, width, axis, output=out, mode=mode)
        return
    longest = max(others, key=lambda a: values.shape[a])

    def filter_piece(start: int, stop: int) -> None:
        index = (*[slice(None)] * longest, slice(start, stop))
        work(values[index], width, axis, output=out[index], mode=mode)

    threads.each(filter_piece, threads.ranges(values.shape[longest], values.size, fine=True))
