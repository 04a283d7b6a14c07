"""`binarize`: which pixels are foreground."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from equilabel.arguments import check_choice, check_flag
from equilabel.devices import library, resolve, threads, using
from equilabel.domains.grid import Foreground
from equilabel.labeling import label

from .checks import check_block, check_number, check_threshold, reject_unused
from .smoothing import as_pixels, converted, extremes, gaussian, smooth
from .thresholds import THRESHOLDS, find_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Compare
    from equilabel.quantities import Lengths


# ---- The foreground of an image: gray values and the threshold they are compared with


class ThresholdedImage(NamedTuple):
    """An image and the threshold its pixels are compared with, before a mask is computed.

    Attributes
    ----------
    pixels : array
        Gray values, or a mask.
    foreground : Foreground
        The comparison that foreground pixels fulfill, with a number of the type of `pixels`.
    """

    pixels: Array
    foreground: Foreground

    def mask(self) -> Array:
        """Return the foreground as an array of bool."""
        if self.pixels.dtype == np.bool_:
            return self.pixels
        return self.foreground.mask(self.pixels)


def from_mask(mask: Array) -> ThresholdedImage:
    """Return a mask as an image whose threshold has been applied already."""
    return ThresholdedImage(mask, Foreground("!=", np.False_, values=False))


def apply_threshold(
    image: ArrayLike,
    threshold: Any,
    *,
    sigma: Lengths = 0.0,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: float = 0.0,
    stacked: bool = False,
) -> tuple[ThresholdedImage, float | tuple[float, float] | None]:
    """Smooth an image and find its threshold; arguments as for `binarize`.

    Returns
    -------
    foreground : ThresholdedImage
        A mask where foreground is not what compares with a single number: a local threshold,
        hysteresis.
    threshold : float, (low, high) or None
        As `binarize` returns it.
    """
    pixels = as_pixels(image, stacked=stacked)
    level = check_threshold(threshold)
    if level == "local":
        block = check_block(block_size, pixels.ndim, spacing=spacing, unit=unit, stacked=stacked)
        shift = check_number("offset", offset)
    else:
        reject_unused(threshold, block_size=(block_size, None), offset=(offset, 0.0))
    pixels = comparable(smooth(pixels, sigma, spacing=spacing, unit=unit, stacked=stacked))
    if level == "local":
        return from_mask(_local(pixels, block, shift, dark=dark, stacked=stacked)), None
    if isinstance(level, tuple):
        return from_mask(_hysteresis(pixels, *level, dark=dark, stacked=stacked)), level
    constant = False
    if isinstance(level, str):
        level, constant = find_level(pixels, level)
    return compare_with(pixels, level, dark=dark, strict=constant), float(level)


def comparable(pixels: HostArray) -> HostArray:
    """Convert float16 to float32, as thresholds would be rounded."""
    return pixels.astype(np.float32) if pixels.dtype == np.float16 else pixels


def compare_with(
    pixels: HostArray, level: float, *, dark: bool, strict: bool = False
) -> ThresholdedImage:
    """Compare pixels with a level: above it; if dark, up to it; if dark and strict, below it."""
    if pixels.dtype == np.bool_:
        pixels = pixels.view(np.uint8)
    if pixels.size == 0:
        return from_mask(np.zeros_like(pixels, dtype=np.bool_))
    if pixels.dtype.kind == "f":
        with np.errstate(over="ignore"):
            level = pixels.dtype.type(level)
        return ThresholdedImage(pixels, Foreground(_operator(dark, strict), level, values=False))
    # Integers are compared with an integer: it is exact beyond 2^53, and fast.
    limits = np.iinfo(pixels.dtype)
    if level < limits.min or (level == limits.min and dark and strict):
        return from_mask(np.full_like(pixels, not dark, dtype=np.bool_))
    if level >= limits.max and not (dark and strict):
        return from_mask(np.full_like(pixels, dark, dtype=np.bool_))
    whole = pixels.dtype.type(math.floor(level) - (dark and strict))
    return ThresholdedImage(pixels, Foreground(_operator(dark, strict=False), whole, values=False))


def _operator(dark: bool, strict: bool) -> Compare:
    """Return the comparison of foreground with a level."""
    if not dark:
        return ">"
    return "<" if strict else "<="


def _hysteresis(pixels: HostArray, low: float, high: float, *, dark: bool, stacked: bool) -> Array:
    """Keep pixels above the low threshold that are connected to pixels above the high one."""
    weak = compare_with(pixels, high if dark else low, dark=dark).mask()
    strong = compare_with(pixels, low if dark else high, dark=dark).mask()
    where = resolve("auto", weak)  # the mask stays where it is
    threads.check()
    labels, count = label(weak, return_num=True, connectivity=1, stacked=stacked, device=where)
    kept = library(labels).zeros(count + 1, dtype=np.bool_)
    kept[labels[strong]] = True
    return kept[labels]


def _local(
    pixels: HostArray, block: Sequence[float], shift: float, *, dark: bool, stacked: bool
) -> Array:
    """Compare each pixel with the mean of its block; no foreground where all pixels are equal."""
    widths = widths_of_block(block)[stacked:]
    mask = library(pixels).zeros(pixels.shape, dtype=np.bool_)
    for number in range(len(pixels)) if stacked else (...,):
        part = pixels[number]
        if part.size == 0:
            continue
        lowest, highest, _ = extremes(part)
        if lowest < highest:
            mask[number] = compare_locally(part, widths, shift, dark=dark)
    return mask


def widths_of_block(block: Sequence[float]) -> list[float]:
    """Return the standard deviations of a Gaussian of which a block holds 99 %."""
    return [(side - 1) / 6 for side in block]


def compare_locally(part: Array, widths: Sequence[float], shift: float, *, dark: bool) -> Array:
    """Compare each pixel of an image with the Gaussian mean around it, less a number.

    Parameters
    ----------
    part : array of integer or float
    widths : sequence of float
        Standard deviation of the Gaussian along each axis, in pixels.
    shift : float
        Subtracted from the mean; added if `dark`.
    dark : bool
    """
    values = converted(part, np.dtype(np.float32 if part.dtype == np.float32 else np.float64))
    values = gaussian(values, widths, mode="reflect")
    np.add(values, shift if dark else -shift, out=values)
    threads.check()
    with np.errstate(all="ignore"):
        mask = part < values if dark else part > values
    if part.dtype.kind == "f":
        mask |= part == (-np.inf if dark else np.inf)
    return mask


# ---- Binarize an image, or find its threshold by one of seven methods

Threshold = (
    float
    | tuple[float, float]
    | Literal["otsu", "li", "triangle", "yen", "isodata", "mean", "minimum", "local"]
)


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: Lengths = ...,
    spacing: float | Sequence[float] | None = ...,
    unit: str | None = ...,
    dark: bool = ...,
    block_size: Lengths | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: Literal[False] = ...,
) -> NDArray[np.bool_]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: Lengths = ...,
    spacing: float | Sequence[float] | None = ...,
    unit: str | None = ...,
    dark: bool = ...,
    block_size: Lengths | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: Literal[True],
) -> tuple[NDArray[np.bool_], float | tuple[float, float] | None]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: Lengths = ...,
    spacing: float | Sequence[float] | None = ...,
    unit: str | None = ...,
    dark: bool = ...,
    block_size: Lengths | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: bool,
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], float | tuple[float, float] | None]: ...


def binarize(
    image: ArrayLike,
    threshold: Threshold = "otsu",
    *,
    sigma: Lengths = 0.0,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: float = 0.0,
    stacked: bool = False,
    return_threshold: bool = False,
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], float | tuple[float, float] | None]:
    """Separate the foreground of an image from its background by a threshold.

    Parameters
    ----------
    image : (M, N[, ..., P]) array of bool, integer or float
        One axis or more.
    threshold : str, float or (low, high)
        A method, which finds one threshold for the whole image: "otsu", "li", "triangle", "yen",
        "isodata", "mean", "minimum". A number. Two numbers, for hysteresis: pixels above `low`
        that touch pixels above `high` by way of others above `low`, across faces. Or "local":
        the Gaussian mean of the block around each pixel, less `offset`.
    sigma : float, str, or a sequence of them
        Standard deviation of the Gaussian that smooths the image first, in pixels or with a
        unit, "0.3um"; see `smooth`. Default 0: none.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Lengths with a unit are converted with it.
    unit : str, optional
        Unit of `spacing`: "um", "nm", ...
    dark : bool
        Whether objects are darker than the background: foreground is then what is *not* above
        the threshold. The hysteresis is mirrored: pixels up to `high` that touch pixels up to
        `low`. A local threshold is raised by `offset`, and pixels below it are foreground.
    block_size : int, str, or a sequence of them, optional
        For "local": side of the block, larger than the objects: an odd number of pixels, or a
        length with a unit, "10um", of which the nearest odd number is taken.
    offset : float
        For "local": subtracted from the mean of the block. With a negative offset, foreground has
        to differ more from its block.
    stacked : bool
        Whether the first axis counts independent images. Neither smoothing nor hysteresis nor
        local thresholds cross it; a method still finds one threshold for all images.
    return_threshold : bool
        Whether to return the threshold, too.

    Returns
    -------
    mask : array of bool, same shape as `image`
    threshold : float, (low, high) or None
        Only with ``return_threshold=True``. None where local; NaN where no pixel is finite.

    Raises
    ------
    TypeError
        If the image is not of a real type, or a number is not a number.
    ValueError
        If an argument is out of range, or the method finds no threshold ("minimum" asks for a
        histogram with two peaks).

    Notes
    -----
    Thresholds equal those of ``skimage.filters.threshold_*``; see `find_threshold`. NaN is never
    foreground. An infinite pixel counts as brighter (or darker) than any threshold. Where all
    finite pixels are equal, a method finds no foreground, dark or bright. A mask (image of bool)
    stays itself under every method, or becomes its complement if `dark`.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[10, 12, 90, 95], [11, 10, 40, 13]])
    >>> binarize(image).astype(int)
    array([[0, 0, 1, 1],
           [0, 0, 0, 0]])
    >>> binarize(image, (20, 80)).astype(int)
    array([[0, 0, 1, 1],
           [0, 0, 1, 0]])
    >>> mask, threshold = binarize(image, "mean", dark=True, return_threshold=True)
    >>> threshold
    35.125
    >>> mask.astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 1]])
    """
    dark, stacked = check_flag("dark", dark), check_flag("stacked", stacked)
    return_threshold = check_flag("return_threshold", return_threshold)
    pixels = as_pixels(image, stacked=stacked)
    with using(resolve("auto", pixels)):
        foreground, found = apply_threshold(
            pixels,
            threshold,
            sigma=sigma,
            spacing=spacing,
            unit=unit,
            dark=dark,
            block_size=block_size,
            offset=offset,
            stacked=stacked,
        )
        mask = foreground.mask()
    return (mask, found) if return_threshold else mask


def find_threshold(image: ArrayLike, method: str = "otsu") -> float:
    """Find the threshold that separates the foreground of an image from its background.

    Parameters
    ----------
    image : array of bool, integer or float
        One axis or more.
    method : {"otsu", "li", "triangle", "yen", "isodata", "mean", "minimum"}

    Returns
    -------
    float
        Foreground is what exceeds it. NaN where no pixel is finite; the value of the pixels
        where they are all equal; 0.5 for an image of bool.

    Raises
    ------
    TypeError
        If the image is not of a real type.
    ValueError
        If there is no such method, or "minimum" does not find two peaks in the histogram.

    Notes
    -----
    Equal to ``skimage.filters.threshold_<method>`` to the last bit, with what that refuses or
    loses defined: NaN and infinities are left out; float16 is treated as float32; signed
    integers do not overflow; integers that span more than 2^24 values are counted in 65,536
    steps, those beyond 2^53 from their lowest; floats whose sums overflow, or that are too close
    together for 256 bins, are scaled to 0 to 1 first.

    Examples
    --------
    >>> find_threshold([[1, 2, 2, 9], [1, 8, 9, 9]])
    2.0
    >>> find_threshold([0.0, 1.0, float("nan"), 5.0], "mean")
    2.0
    """
    check_choice("method", method, THRESHOLDS, remedy="Pass 'otsu' if unsure.")
    return float(find_level(comparable(as_pixels(image)), method)[0])
