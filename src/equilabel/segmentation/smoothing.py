"""`smooth`: a Gaussian filter, with lengths in pixels or units."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel.arguments import as_host_array, check_flag, is_sequence, shown
from equilabel.booleans import normalize_bools
from equilabel.devices import fetch, filters, is_on_cuda, take, threads
from equilabel.quantities import WIDEST, length_in_pixels, questions_asked, wide_blur

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.quantities import Lengths

    Border = Literal["nearest", "reflect"]


# ---- Widths of Gaussians and other filters along the axes of an image, in pixels


def widths_in_pixels(
    sigma: Lengths,
    ndim: int,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
    name: str = "sigma",
) -> list[float]:
    """Return the width of a filter in pixels along each axis, 0 along that of a stack.

    Parameters
    ----------
    ndim : int
        Number of axes of the image.
    sigma, spacing, unit, stacked
        As for `smooth`.
    name : str
        What to call `sigma` in an error.

    Raises
    ------
    TypeError, ValueError
        As `smooth`.
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


def question(sigma: Lengths, widths: Sequence[float], shape: Sequence[int]) -> None:
    """Warn if a Gaussian is so wide that it blurs objects together, rather than noise."""
    found = wide_blur(widths, shape)
    if found is None or not questions_asked():
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


# ---- Gaussian smoothing before an image is binarized, by pixels or by a physical length

NARROWEST = 0.125  # pixels; below, the kernel is a single pixel


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
        axes. Text may name a unit, "0.3um": the same length in all directions. Gray values stay
        what they are where it is 0.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Only a `sigma` with a unit depends on it.
    unit : str, optional
        Unit of `spacing`: "um", "nm", ...
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
        If `sigma` is negative or beyond 1000 pixels, `spacing` not positive, a sequence has
        not one entry per axis, or `sigma` has a unit and `spacing` has none.

    Warns
    -----
    UserWarning
        If the blur is wider than a tenth of the image: its full width at half maximum, 2.355
        `sigma`. Up to 2 pixels are never too many.

    Notes
    -----
    Equal to ``skimage.filters.gaussian(image, sigma, preserve_range=True)`` but for rounding:
    beyond its border an image is continued by its last pixel. Pixels that are NaN or infinite are
    not changed, and do not contribute to their neighbors. A constant image stays constant to the
    last bit.

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
    question(sigma, widths, pixels.shape)
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
    if _all_finite(values):
        return _filter(values, widths, mode)
    finite = np.isfinite(values)
    share = finite.astype(values.dtype)
    known = _filter(np.where(finite, values, 0), widths, mode)
    share = _filter(share, widths, mode)
    values[finite] = known[finite] / share[finite]
    return values


def converted(pixels: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """Copy pixels as another type, in threads where they are many."""
    if is_on_cuda(pixels):
        return pixels.astype(dtype)
    out = np.empty_like(pixels, dtype)
    cuts = threads.ranges(len(pixels), pixels.size, fine=True)
    threads.each(np.copyto, [(out[a:b], pixels[a:b]) for a, b in cuts])
    return out


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
    pixels: HostArray = normalize_bools(take(image))
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


def _all_finite(values: HostArray) -> bool:
    if is_on_cuda(values):
        return bool(np.isfinite(values).all())
    cuts = threads.ranges(len(values), values.size, fine=True)
    return all(threads.each(lambda a, b: bool(np.isfinite(values[a:b]).all()), cuts))


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
    cuts = threads.ranges(len(lines), values.size, fine=True)
    pieces = [np.moveaxis(lines[start:stop], 0, longest) for start, stop in cuts]
    threads.each(work, [(piece,) for piece in pieces])
