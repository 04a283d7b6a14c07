"""`binarize`: an image to a mask of its foreground."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from equilabel.arguments import check_flag
from equilabel.devices import is_on_cuda, library, resolve, threads, using
from equilabel.domains.grid import Foreground
from equilabel.labeling import label

from .checks import check_block, check_number, check_threshold, reject_unused
from .filters import (
    as_pixels,
    each_piece,
    extremes,
    gaussian,
    per_axis,
    smoothed,
    warn_of_wide_blur,
    widths_in_pixels,
)
from .thresholds import find_threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Compare
    from equilabel.quantities import Lengths


# ---- The foreground of an image: its pixels and the threshold they are compared with


class ThresholdedImage(NamedTuple):
    """Pixels (gray values or a mask) and the comparison that is true for foreground.

    The number in `foreground` has the type of the pixels. No mask is computed until `mask` is
    called.
    """

    pixels: Array
    foreground: Foreground

    def mask(self) -> Array:
        """Return the foreground as an array of bool."""
        if self.pixels.dtype == np.bool_:
            return self.pixels
        if is_on_cuda(self.pixels):
            return self.foreground.mask(self.pixels)
        mask, compare = np.empty(self.pixels.shape, np.bool_), self.foreground.mask
        each_piece(lambda out, pixels: np.copyto(out, compare(pixels)), mask, self.pixels)
        return mask


def from_mask(mask: Array) -> ThresholdedImage:
    """Wrap a mask as a thresholded image."""
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
    offset: Offset = 0.0,
    stacked: bool = False,
) -> tuple[ThresholdedImage, float | tuple[float, float] | None]:
    """Smooth an image and find its threshold; arguments and threshold as for `binarize`.

    The result holds a mask if no single number tells foreground from background: for a local
    threshold and hysteresis.
    """
    pixels = as_pixels(image, stacked=stacked)
    level = check_threshold(threshold)
    scale: Any = {"spacing": spacing, "unit": unit, "stacked": stacked}
    block, shift = check_local(level, block_size, offset, pixels.ndim, **scale)
    widths = widths_in_pixels(sigma, pixels.ndim, **scale)
    warn_of_wide_blur(sigma, widths, pixels.shape)
    pixels, span = smoothed(pixels, widths)
    pixels = comparable(pixels)
    if level == "local":
        return from_mask(_local(pixels, block, shift, dark=dark, stacked=stacked)), None
    if isinstance(level, tuple):
        return from_mask(_hysteresis(pixels, *level, dark=dark, stacked=stacked)), level
    if level == "per_object":
        from .per_object import threshold_objects

        how: Any = {"dark": dark, "stacked": stacked, "spacing": None}
        if spacing is not None:
            apart = per_axis("spacing", spacing, pixels.ndim, stacked=stacked)
            how["spacing"] = apart[stacked:]
        mask, found = threshold_objects(pixels, span, **how)
        return from_mask(mask), found
    constant = False
    if isinstance(level, str):
        level, constant = find_threshold(pixels, level, span)
    return compare_with(pixels, level, dark=dark, strict=constant), float(level)


def comparable(pixels: HostArray) -> HostArray:
    """Convert float16 to float32, because float16 would round thresholds."""
    return pixels.astype(np.float32) if pixels.dtype == np.float16 else pixels


def compare_with(
    pixels: HostArray, level: float, *, dark: bool, strict: bool = False
) -> ThresholdedImage:
    """Select pixels above a level; if dark, not above it; if dark and strict, below it."""
    if pixels.dtype == np.bool_:
        pixels = pixels.view(np.uint8)
    if pixels.size == 0:
        return from_mask(np.zeros_like(pixels, dtype=np.bool_))
    if pixels.dtype.kind == "f":
        with np.errstate(over="ignore"):
            level = pixels.dtype.type(level)
        return ThresholdedImage(pixels, Foreground(_operator(dark, strict), level, values=False))
    # Comparing integers with an integer is exact beyond 2^53, and fast.
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


def check_local(
    threshold: Any, block_size: Any, offset: Any, axes: int, **scale: Any
) -> tuple[tuple[float, ...], float | None]:
    """Return the sides of the block of a local threshold, and its offset; no sides for others.

    The offset is None if it follows from the noise.
    """
    if threshold == "local":
        auto = isinstance(offset, str) and offset == "auto"
        shift = None if auto else check_number("offset", offset)
        return tuple(check_block(block_size, axes, **scale)), shift
    reject_unused(threshold, block_size=(block_size, None), offset=(offset, 0.0))
    return (), 0.0


def _local(
    pixels: HostArray, block: Sequence[float], shift: float | None, *, dark: bool, stacked: bool
) -> Array:
    """Compare each pixel with the mean of its block; without a shift, it follows from the noise."""
    shifts = {}
    for number, image in enumerate(pixels if stacked else pixels[np.newaxis]):
        lowest, highest, _ = extremes(image) if image.size else (0, 0, True)
        if lowest < highest:
            shifts[number] = -CONTRAST * _noise(image) if shift is None else shift
    how: Any = {"widths": widths_of_block(block), "dark": dark, "stacked": stacked}
    return compare_with_means(pixels, shifts=shifts, **how)


def widths_of_block(block: Sequence[float]) -> list[float]:
    """Return the standard deviations of a Gaussian that has 99 % of its weight in a block."""
    return [(side - 1) / 6 for side in block]


def compare_with_means(
    pixels: Array,
    first: int = 0,
    *,
    widths: Sequence[float],
    shifts: Mapping[int, float],
    dark: bool,
    stacked: bool,
) -> Array:
    """Return the foreground by comparing pixels with the Gaussian mean around them.

    `widths` are those of the Gaussian, in pixels, 0 along the axis of a stack, whose first image
    here is `first`. Of each image in `shifts`, so much is subtracted from the mean (dark: added);
    others have no foreground: their pixels are equal.
    """
    mask = library(pixels).zeros(pixels.shape, np.bool_)
    for place in range(len(pixels)) if stacked else (...,):
        image = first + place if isinstance(place, int) else 0
        if image in shifts:
            shift = -shifts[image] if dark else shifts[image]
            mask[place] = _compare_locally(pixels[place], widths[stacked:], shift, dark=dark)
    return mask


def _compare_locally(part: Array, widths: Sequence[float], shift: float, *, dark: bool) -> Array:
    """Compare each pixel of an image with the Gaussian mean around it, less `shift`."""
    dtype = np.dtype(np.float32 if part.dtype == np.float32 else np.float64)
    values = gaussian(part, dtype, widths, mode="reflect").values
    np.add(values, -shift, out=values)
    threads.check()
    with np.errstate(all="ignore"):
        mask = part < values if dark else part > values
    if part.dtype.kind == "f":
        mask |= part == (-np.inf if dark else np.inf)
    return mask


CONTRAST = 3.0  # standard deviations of the noise by which foreground differs: docs/guide.md
MEDIAN = 0.6745 * math.sqrt(2)  # of absolute differences of normal noise, in its deviations
LAG, SAMPLED = 4, 2**21  # pixels between those that are compared; and how many are, for each axis


def _noise(part: Array) -> float:
    """Estimate the noise of an image from the differences of pixels that are near each other."""
    found, step = [], -(-part.size // SAMPLED)
    for axis, side in enumerate(part.shape):
        lag, before = min(LAG, side - 1), (slice(None),) * axis
        if lag > 0:
            ends = (part[(*before, slice(lag, None))], part[(*before, slice(None, -lag))])
            found.append(differences(*ends, slice(None, None, step)))
    return noise_of(found)


def differences(one: Array, other: Array, picked: Any) -> Array:
    """Return the finite absolute differences of two images, of some pixels in raster order."""
    xp = library(one)
    with np.errstate(invalid="ignore"):
        near, far = (end.ravel()[picked].astype(np.float64) for end in (one, other))
        apart = xp.abs(near - far)
    return apart[xp.isfinite(apart)]


def noise_of(found: Sequence[Array]) -> float:
    """Return the noise of an image from the differences of its pixels along each axis.

    It follows from their median, so that edges of objects do not matter; those of neighbors, which
    smoothing makes alike, are not used.
    """
    if not sum(each.size for each in found):
        return 0.0
    xp = library(found[0])
    return float(xp.median(xp.concatenate(found))) / MEDIAN


# ---- Binarizing an image, or finding its threshold by one of seven methods

Offset: TypeAlias = "float | Literal['auto']"
Threshold = (
    float
    | tuple[float, float]
    | Literal["otsu", "li", "triangle", "yen", "isodata", "mean", "minimum", "local", "per_object"]
)


class _Options(TypedDict, total=False):
    """Arguments of `binarize` that do not change what it returns."""

    sigma: Lengths
    spacing: float | Sequence[float] | None
    unit: str | None
    dark: bool
    block_size: Lengths | None
    offset: Offset
    stacked: bool


Levels: TypeAlias = "float | tuple[float, float] | None"


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    return_threshold: Literal[False] = ...,
    **options: Unpack[_Options],
) -> NDArray[np.bool_]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    return_threshold: Literal[True],
    **options: Unpack[_Options],
) -> tuple[NDArray[np.bool_], Levels]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    return_threshold: bool,
    **options: Unpack[_Options],
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], Levels]: ...


def binarize(
    image: ArrayLike,
    threshold: Threshold = "otsu",
    *,
    sigma: Lengths = 0.0,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: Offset = 0.0,
    stacked: bool = False,
    return_threshold: bool = False,
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], float | tuple[float, float] | None]:
    """Separate the foreground of an image from its background by a threshold.

    Parameters
    ----------
    image : (M, N[, ..., P]) array of bool, integer or float
        Image to binarize, of one axis or more.
    threshold : str, float or (low, high)
        A method that finds one threshold for the whole image: "otsu", "li", "triangle", "yen",
        "isodata", "mean", "minimum". Or a number. Or two numbers for hysteresis: foreground is the
        pixels above `low` that are connected to pixels above `high` through faces, by pixels above
        `low`. Or "local": the threshold of each pixel is the Gaussian mean of the block around it,
        less `offset`. Or "per_object": each object has its own threshold, two thirds of the way
        from the background to its mean, so that dim objects are found beside bright ones.
    sigma : float, str, or a sequence of them
        Standard deviation of the Gaussian that smooths the image first, in pixels or with a
        unit, "0.3um"; see `smooth`. Default 0: no smoothing.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Lengths with a unit are converted with it.
    unit : str, optional
        Unit of `spacing`: "um", "nm", ...
    dark : bool
        Whether objects are darker than the background: pixels at or below the threshold are
        foreground. Hysteresis keeps pixels up to `high` that are connected to pixels up to `low`. A
        local threshold is raised by `offset`, and pixels below it are foreground.
    block_size : int, str, or a sequence of them, optional
        For "local": side of the block, larger than the objects. An odd number of pixels, or a
        length with a unit, "10um", which is rounded to the nearest odd number of pixels.
    offset : float or "auto"
        For "local": subtracted from the mean of the block. With a negative offset, foreground must
        differ more from its surroundings. "auto": it must differ by three times the noise, which
        is estimated from the differences of pixels that are near each other, so that an empty
        background has no objects.
    stacked : bool
        Whether the first axis counts independent images. They are smoothed separately, and
        hysteresis and local thresholds do not cross this axis; a method still finds one threshold
        for all images.
    return_threshold : bool
        Whether to return the threshold, too.

    Returns
    -------
    mask : array of bool, same shape as `image`
        True for foreground.
    threshold : float, (low, high) or None
        Only with ``return_threshold=True``. Of "per_object" it is the level above which objects are
        searched; None for a local threshold; NaN if no pixel is finite.

    Raises
    ------
    TypeError
        If the image is not of a real type, or a number is required and something else is given.
    ValueError
        If an argument is out of range, or the method finds no threshold ("minimum" needs a
        histogram with two peaks).

    Notes
    -----
    "per_object" searches objects above Li's threshold, split at their necks with a tolerance of 0.5
    pixels; and dim ones, above a level halfway between it and the background (at least 4 standard
    deviations of the background above it) that have a third to three times the usual size and are
    mostly below Li's threshold. The background is the median of the pixels up to this threshold.
    Gray values that span more than 65,536 are rounded to so many levels.

    Other thresholds equal those of ``skimage.filters.threshold_*`` to the last bit. Some cases that
    scikit-image does not handle are defined here. NaN and infinities are left out of the histogram;
    NaN is never foreground, and an infinite pixel is above (or below) any threshold. float16 is
    treated as float32. Integers that span more than 2^24 values are counted in 65,536 bins. Floats
    are scaled to 0 to 1 first if their sums overflow, or if they are too close together for 256
    bins. If all finite pixels are equal, a method finds no foreground, bright or dark. A mask
    (image of bool) is returned as it is by every method; its complement is returned if `dark`.

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
