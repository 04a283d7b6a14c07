"""`binarize`: an image to a mask of its foreground."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from equilabel.arguments import check_flag, shown
from equilabel.devices import fetch, library, resolve, threads, using
from equilabel.domains.grid import Foreground
from equilabel.labeling import label
from equilabel.measuring import count_labels, make_request

from .checks import check_block, check_number, check_threshold
from .filters import (
    are_finite,
    as_pixels,
    distances_of,
    each_piece,
    extremes,
    gaussian,
    smoothed,
    warn_of_wide_blur,
    widths_in_pixels,
)
from .splitting import split_touching
from .thresholds import (
    ThresholdedImage,
    count_integers,
    descend,
    find_threshold,
    from_mask,
    is_half,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Compare
    from equilabel.quantities import Lengths


def apply_threshold(
    image: ArrayLike,
    threshold: Any,
    *,
    sigma: Lengths,
    spacing: float | Sequence[float] | None,
    unit: str | None,
    dark: bool,
    block_size: Lengths | None,
    offset: Offset,
    stacked: bool,
) -> tuple[ThresholdedImage, float | tuple[float, float] | None]:
    """Smooth an image and find its threshold; arguments and threshold as for `binarize`."""
    pixels = as_pixels(image, stacked=stacked)
    level = check_threshold(threshold)
    scale: Any = {"spacing": spacing, "unit": unit, "stacked": stacked}
    block, shift = check_local(level, block_size, offset, pixels.ndim, **scale)
    widths = widths_in_pixels(sigma, pixels.ndim, **scale)
    warn_of_wide_blur(sigma, widths, pixels.shape)
    pixels, span = smoothed(pixels, widths)
    pixels = comparable(pixels, span)
    if level == "local":
        return from_mask(_local(pixels, block, shift, dark=dark, stacked=stacked)), None
    if isinstance(level, tuple):
        return from_mask(_hysteresis(pixels, *level, dark=dark, stacked=stacked)), level
    if level == "per_object":
        apart = distances_of(spacing, pixels.ndim, stacked)
        how: Any = {"dark": dark, "stacked": stacked, "spacing": apart}
        mask, found = threshold_objects(pixels, span, **how)
        return from_mask(mask), found
    constant = False
    if isinstance(level, str):
        level, constant = find_threshold(pixels, level, span)
    return compare_with(pixels, level, dark=dark, strict=constant), float(level)


def comparable(pixels: HostArray, span: tuple[Any, ...] | None = None) -> HostArray:
    """Convert float16 to float32, because float16 would round thresholds, and infinities to NaN.

    `span` is that of `Smoothed`.
    """
    if pixels.dtype == np.float16:
        pixels = pixels.astype(np.float32)
    if (span is not None and span[2]) or are_finite(pixels):
        return pixels
    return np.where(np.isfinite(pixels), pixels, pixels.dtype.type(np.nan))


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
        below: Compare = "<" if strict else "<="
        return ThresholdedImage(pixels, Foreground(below if dark else ">", level, values=False))
    # Comparing integers with an integer is exact beyond 2^53, and fast.
    limits = np.iinfo(pixels.dtype)
    if level < limits.min or (level == limits.min and dark and strict):
        return from_mask(np.full_like(pixels, not dark, dtype=np.bool_))
    if level >= limits.max and not (dark and strict):
        return from_mask(np.full_like(pixels, dark, dtype=np.bool_))
    whole = pixels.dtype.type(math.floor(level) - (dark and strict))
    return ThresholdedImage(pixels, Foreground("<=" if dark else ">", whole, values=False))


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
    unused = not (isinstance(offset, Real) and offset == 0)
    if block_size is not None or unused:
        name, value = ("offset", offset) if block_size is None else ("block_size", block_size)
        message = (
            f"{name} must be left out unless threshold='local'; got {shown(value)} and "
            f"threshold={shown(threshold)}. Leave it out, or pass 'local'."
        )
        raise ValueError(message)
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

    `first` is the first image of a stack here. Of each image in `shifts`, so much is subtracted
    from the mean (dark: added); others have no foreground: their pixels are equal.
    """
    mask = library(pixels).zeros(pixels.shape, np.bool_)
    dtype = np.dtype(np.float32 if pixels.dtype == np.float32 else np.float64)
    for place in range(len(pixels)) if stacked else (...,):
        image = first + place if isinstance(place, int) else 0
        if image not in shifts:
            continue
        part = pixels[place]
        level = gaussian(part, dtype, widths[stacked:], mode="reflect").values
        np.add(level, shifts[image] if dark else -shifts[image], out=level)
        threads.check()
        with np.errstate(all="ignore"):
            mask[place] = part < level if dark else part > level
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
    """Return the noise of an image from the median of differences of pixels along each axis.

    Edges of objects do not matter then; neighbors, which smoothing makes alike, are not compared.
    """
    if not sum(each.size for each in found):
        return 0.0
    xp = library(found[0])
    return float(xp.median(xp.concatenate(found))) / MEDIAN


# ---- A threshold for each object, so that dim ones are found beside bright ones
# All of it is computed in 65,536 gray values: sums are exact, and every device finds the same.

SHARE = 2 / 3  # of the way from the background to the mean of an object
NECK = 0.5  # pixels: the tolerance at which objects are split before their means are taken
TOP = 2**16 - 1  # largest gray value
# Dim objects: their level is halfway from the background to Li's, and so many standard deviations
# of the background above it; of a part and of its component at most so much is above Li's level;
# and their size is that of other objects, up to a factor.
HALFWAY, NOISE, BRIGHT, MIXED, ALIKE = 0.5, 4.0, 0.7, 0.8, 3.0
DEVIATION = 1.4826  # standard deviation of normal noise, by its median absolute deviation


def threshold_objects(
    pixels: Array,
    span: tuple[Any, Any, bool] | None,
    *,
    dark: bool,
    stacked: bool,
    spacing: Sequence[float] | None,
) -> tuple[Array, float]:
    """Return the foreground, and the level above which objects are searched.

    Objects are the components above Li's level, split at their necks, and dim ones of the same size
    above a lower level. `span` is what `extremes` returns, if it is known.
    """
    xp = library(pixels)
    if pixels.dtype == np.bool_:
        return pixels ^ dark, 0.5
    lowest, highest, *_ = span or (extremes(pixels) if pixels.size else (math.inf, -math.inf))
    if not lowest < highest:
        level = float(lowest) if lowest == highest else math.nan
        return xp.zeros(pixels.shape, np.bool_), level
    scale = Scale.between(lowest, highest, dark)
    gray = xp.empty(pixels.shape, np.uint16)
    each_piece(scale.convert, pixels, gray)
    levels = Levels.of(*count_integers(gray)[:2])
    mask = compare_with(gray, levels.li, dark=False).mask()
    how: Any = {"spacing": spacing, "stacked": stacked}
    objects = split_touching(mask, tolerance=NECK, **how)
    objects = _with_dim_ones(objects, gray, mask, levels, how)
    numbers, _, means = _measured(objects, gray, stacked)
    own = np.full(int(numbers.max(initial=0)) + 1, TOP, np.uint16)
    own[numbers] = levels.own(means)
    own = xp.asarray(own)
    each_piece(lambda at, some, out: np.greater(some, own[at], out=out), objects, gray, mask)
    return mask, scale.value_of(levels.li)


class Levels(NamedTuple):
    """Gray values of an image that decide where objects are."""

    background: int  # the median up to Li's level
    dim: int  # above it dim objects are searched
    li: int

    @classmethod
    def of(cls, counts: HostArray, first: int) -> Levels:
        """Find the levels in the histogram of an image that has several values, from `first`."""
        level = min(first + _find_li(counts), TOP - 1)
        below = counts[: max(level - first, 0) + 1]
        background = _median(below)
        apart = np.abs(np.arange(len(below)) - background)
        noise = DEVIATION * _median(np.bincount(apart, below))
        background += first
        dim = background + max(HALFWAY * (level - background), NOISE * noise)
        return cls(background, math.floor(min(dim, level)), level)

    def own(self, means: HostArray) -> HostArray:
        """Return the levels of objects of some means; they are less than `TOP`."""
        return np.asarray(self.background + SHARE * (means - self.background)).astype(np.uint16)


def _find_li(counts: HostArray) -> int:
    """Return the last place of the background in a histogram, by Li's criterion; sums are exact."""
    total, weighted = np.cumsum(counts), np.cumsum(counts * np.arange(len(counts)))

    def means(threshold: float) -> tuple[float, float]:
        at = min(int(threshold), len(counts) - 2)
        above = (weighted[-1] - weighted[at]) / (total[-1] - total[at])
        return weighted[at] / total[at], above

    return int(descend(weighted[-1] / total[-1], is_half, means))


def _median(counts: HostArray) -> int:
    """Return the place of the median in a histogram."""
    total = np.cumsum(counts)
    return int(np.searchsorted(total, total[-1] / 2))


def _measured(labels: Array, values: Array, stacked: bool) -> tuple[HostArray, ...]:
    """Return the labels that occur, their numbers of pixels, and means of `values`."""
    request = make_request(("area", "intensity_mean"), values, labels.shape, None, stacked=stacked)
    counts = count_labels(labels, request.values, request.plan)
    found = request.columns(counts, labels)
    columns = (found[name][name] for name in ("area", "intensity_mean"))
    return (fetch(counts.labels), *map(fetch, columns))


def are_dim(sizes: HostArray, shares: HostArray, others: HostArray) -> HostArray:
    """Return which parts are dim objects, from their pixels and the share above Li's level.

    `others` are the pixels of the objects above it, one or more.
    """
    ordered = np.sort(others)
    usual = ordered[_median(ordered)]
    alike = (sizes * ALIKE >= usual) & (sizes <= usual * ALIKE)
    return np.asarray((shares < BRIGHT) & alike)


def _with_dim_ones(objects: Array, gray: Array, mask: Array, levels: Levels, how: Any) -> Array:
    """Add dim objects, those of the usual size that are mostly not in `mask`, above Li's level.

    What was found in them gives way. The usual size is that of the object of the median pixel.
    """
    xp, stacked = library(gray), how["stacked"]
    bright = mask.view(np.uint8)
    lower = compare_with(gray, levels.dim, dark=False).mask()
    components = label(lower, stacked=stacked, device=resolve("auto", lower))
    numbers, _, shares = _measured(components, bright, stacked)
    chosen = np.zeros(len(numbers) + 1, np.bool_)
    chosen[numbers] = shares < MIXED
    known, sizes, _ = _measured(objects, bright, stacked)
    if not chosen.any() or not len(sizes):
        return objects
    chosen = xp.asarray(chosen)
    each_piece(lambda at, out: xp.copyto(out, chosen[at]), components, lower)
    parts = split_touching(lower, tolerance=NECK, **how)
    numbers, own, shares = _measured(parts, bright, stacked)
    dim = are_dim(own, shares, sizes)
    renamed = np.zeros(len(numbers) + 1, objects.dtype)
    renamed[numbers[dim]] = known.max() + numbers[dim]
    renamed = xp.asarray(renamed)

    def replace(places: Array, out: Array) -> None:
        new = renamed[places]
        xp.copyto(out, new, where=new > 0)

    each_piece(replace, parts, objects)
    return objects


class Scale(NamedTuple):
    """How gray values of an image become numbers from 0 to `TOP`."""

    zero: Any  # the value that becomes 0
    factor: Any
    whole: bool  # whether differences of integers are kept as they are

    @classmethod
    def between(cls, lowest: Any, highest: Any, dark: bool) -> Scale:
        """Make the scale for an image of these finite values; `dark` exchanges the ends."""
        zero, sign = (highest, -1) if dark else (lowest, 1)
        if np.result_type(lowest).kind in "ui" and int(highest) - int(lowest) <= TOP:
            return cls(zero, sign, whole=True)
        kind = np.float32 if np.result_type(lowest) == np.float32 else np.float64
        half = float(highest) / 2 - float(lowest) / 2  # the whole may be more than floats hold
        factor = min(TOP / half, float(np.finfo(kind).max)) if half else 1.0
        return cls(kind(zero), kind(sign * factor), whole=False)

    def value_of(self, gray: int) -> float:
        """Return the value of the image that becomes a gray value."""
        return float(self.zero) + gray / float(self.factor) * (1 if self.whole else 2)

    def convert(self, pixels: Array, out: Array) -> None:
        """Write the gray values of some pixels; those of NaN are 0."""
        if self.whole:  # differences are right modulo 2^8 and so on
            kind = f"u{pixels.dtype.itemsize}"
            values, zero = pixels.view(kind), np.asarray(self.zero, pixels.dtype).view(kind)[()]
            out[...] = values - zero if self.factor > 0 else zero - values
            return
        with np.errstate(all="ignore"):
            half = self.zero.dtype.type(0.5)
            values = pixels.astype(self.zero.dtype) * half - self.zero * half
            values = np.rint(values * self.factor)
            values[np.isnan(values)] = 0
            out[...] = np.clip(values, 0, TOP)


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
) -> tuple[NDArray[np.bool_], float | tuple[float, float] | None]: ...


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
    spacing, unit
        As for `smooth`: lengths with a unit are converted with them.
    dark : bool
        Whether objects are darker than the background: pixels at or below the threshold are
        foreground. Hysteresis keeps pixels up to `high` that are connected to pixels up to `low`. A
        local threshold is raised by `offset`, and pixels below it are foreground.
    block_size : int, str, or a sequence of them, optional
        For "local": side of the block, larger than the objects. An odd number of pixels, or a
        length with a unit, "10um", which is rounded to the nearest odd number of pixels.
    offset : float or "auto"
        For "local": subtracted from the mean of the block. With a negative offset, foreground must
        differ more from its surroundings. "auto": it must differ by three times the noise, as
        estimated from pixels that are near each other; an empty background has no objects then.
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
    TypeError, ValueError
        If an argument is of another type or out of range, or the method finds no threshold
        ("minimum" needs a histogram with two peaks).

    See Also
    --------
    smooth, subtract_background, segment

    Notes
    -----
    "per_object" searches objects above Li's threshold, split at their necks with a tolerance of 0.5
    pixels; and dim ones, above a level halfway between it and the background (at least 4 standard
    deviations of the background above it) that have a third to three times the usual size and are
    mostly below Li's threshold. The background is the median of the pixels up to this threshold.
    Gray values that span more than 65,536 are rounded to so many levels.

    Other thresholds equal those of ``skimage.filters.threshold_*`` to the last bit. Some cases that
    scikit-image does not handle are defined here. NaN and infinities are never foreground, and
    left out of the histogram. float16 is treated as float32. Integers that span more than 2^24
    values are counted in 65,536 bins. Floats are scaled to 0 to 1 first if their sums overflow, or
    if they are too close together for 256 bins. If all finite pixels are equal, a method finds no
    foreground, bright or dark. A mask (image of bool) is returned as it is by every method; its
    complement is returned if `dark`.

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
        how: Any = {"sigma": sigma, "spacing": spacing, "unit": unit, "dark": dark}
        how |= {"block_size": block_size, "offset": offset, "stacked": stacked}
        foreground, found = apply_threshold(pixels, threshold, **how)
        mask = foreground.mask()
    return (mask, found) if return_threshold else mask
