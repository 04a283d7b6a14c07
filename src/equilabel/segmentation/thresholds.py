"""Histograms of gray values, and the thresholds that scikit-image finds in them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import fetch, is_on_cuda, library, passes
from equilabel.domains.grid import Foreground

from .filters import each_piece, extremes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    Counts = NDArray[np.int64]
    Criterion = Callable[[Counts, HostArray], float]


# ---- The foreground of an image: its pixels and the threshold they are compared with


class ThresholdedImage(NamedTuple):
    """Pixels and the comparison, with a number of their type, that is true for foreground."""

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


# ---- Histograms of gray values: exact for integers, in 256 bins for floats

WIDEST = 2**24  # largest number of gray values that are counted one by one
COARSE = 2**16  # bins if there are more
BINS = 256
PIECE = 2**20  # pixels that are copied at once


def count_integers(
    pixels: HostArray, span: tuple[int, int] | None = None
) -> tuple[NDArray[np.int64], int, int]:
    """Return counts of gray values of integers, (V,) int64, the first value, and the bin width.

    The width is more than 1 if values span more than 2^24. `pixels` must not be empty. `span` is
    the smallest and the largest value of the whole image if these are the pixels of a part.
    """
    if pixels.dtype.itemsize <= 2:
        counts, first = _count_narrow(pixels)
        if span is not None:
            behind = span[1] - first - len(counts) + 1
            return np.pad(counts, (first - span[0], behind)), span[0], 1
        return counts, first, 1
    first, last = span or (int(pixels.min()), int(pixels.max()))
    width = 1 if last - first < WIDEST else -(-(last - first + 1) // COARSE)
    xp = library(pixels)
    counts = xp.zeros((last - first) // width + 1, dtype=np.int64)
    flat = pixels.ravel(order="K")
    for start in range(0, flat.size, PIECE):
        # The difference is right modulo 2^64, and less than 2^64.
        offset = flat[start : start + PIECE].astype(np.uint64) - np.uint64(first % 2**64)
        if width > 1:
            offset //= np.uint64(width)
        counts += xp.bincount(offset.astype(np.intp), minlength=counts.size)
    return fetch(counts), first, width


def count_floats(
    pixels: HostArray, lowest: float, highest: float
) -> tuple[NDArray[np.int64], HostArray]:
    """Return counts and centers of 256 bins of equal width, as `numpy.histogram` does.

    `lowest` and `highest` are those of the finite pixels and differ. Raises FloatingPointError if
    their type has no 257 different edges between them.
    """
    edges, centers = bins_between(pixels.dtype, lowest, highest)
    return fetch(_passes(pixels).count_bins(pixels.ravel(order="K"), edges)), centers


def bins_between(
    dtype: np.dtype[Any], lowest: float, highest: float
) -> tuple[HostArray, HostArray]:
    """Return edges and centers of 256 bins as NumPy, or raise the error of `count_floats`."""
    with np.errstate(all="ignore"):
        edges = np.linspace(dtype.type(lowest), dtype.type(highest), BINS + 1, dtype=dtype)
        centers = (edges[:-1] + edges[1:]) / 2
        if not (edges[1:] > edges[:-1]).all() or not np.isfinite(centers).all():
            raise FloatingPointError
    return edges, centers


def _count_narrow(pixels: HostArray) -> tuple[NDArray[np.int64], int]:
    """Return counts of all values of a type of up to 16 bits that occur, and the first value."""
    bits = 8 * pixels.dtype.itemsize
    flat = pixels.ravel(order="K").view(f"u{pixels.dtype.itemsize}")
    counts, lowest = fetch(_passes(flat).count_values(flat, 2**bits)), 0
    if pixels.dtype.kind == "i":  # seen as unsigned, the negative ones come last
        counts, lowest = np.roll(counts, 2 ** (bits - 1)), -(2 ** (bits - 1))
    found = np.flatnonzero(counts)
    return counts[found[0] : found[-1] + 1], lowest + int(found[0])


def _passes(pixels: HostArray) -> Any:
    """Return the passes of the device; on all of them means are the same, to the last bit."""
    return passes("segmentation.histogram", "cuda" if is_on_cuda(pixels) else "cpu")


# ---- Criteria for thresholds of a histogram, equal to those of scikit-image to the last bit
# Each takes counts, (V,) int64, and gray values, (V,) and ascending: two or more, and the counts of
# the first and the last are not 0. Foreground is above the value that each returns. Otsu and Yen
# are computed by scikit-image; its isodata fails if float32 is not precise enough, its minimum
# takes 25 times as long for 65,536 values, and its triangle and Li take no histogram.

SOME = 2**16  # pixels of a sample
ROUNDS = 10_000  # of smoothing, after which the search for two peaks fails


class NoThresholdError(ValueError, RuntimeError):
    """Raised if a criterion finds no threshold in an image."""


def by_skimage(name: str, counts: Counts, values: HostArray) -> float:
    """Return the threshold of a criterion of scikit-image that takes a histogram."""
    from skimage import filters

    return _item(getattr(filters, f"threshold_{name}")(hist=(counts, values)))


def isodata(counts: Counts, values: HostArray) -> float:
    """Return the lowest threshold halfway between the means of the two classes.

    T. W. Ridler and S. Calvard, IEEE Trans. Sys., Man., Cyber. 8 (1978) 630-632.
    """
    for precision in (np.float32, np.float64):  # the second where scikit-image finds no threshold
        weights = counts.astype(precision)
        below = np.cumsum(weights)
        above = below[-1] - below
        total = np.cumsum(weights * values)
        lower = total[:-1] / below[:-1]
        higher = (total[-1] - total[:-1]) / above[:-1]
        distance = (lower + higher) / 2.0 - values[:-1]
        found = np.flatnonzero((distance >= 0) & (distance < values[1] - values[0]))
        if len(found):
            return _item(values[found[0]])
    return _item(values[np.abs(distance).argmin()])


def triangle(counts: Counts, values: HostArray) -> float:
    """Return the value farthest below the line from the peak to the end of the longer tail.

    G. W. Zack, W. E. Rogers and S. A. Latt, J. Histochem. Cytochem. 25 (1977) 741-753.
    """
    peak = int(np.argmax(counts))
    flipped = peak < len(counts) - 1 - peak  # the longer tail is on the right
    if flipped:
        counts, values = counts[::-1], values[::-1]
        peak = len(counts) - 1 - peak
    height, width = counts[peak], peak
    norm = np.sqrt(height**2 + width**2)
    distance = height / norm * np.arange(width) - width / norm * counts[:width]
    return _item(values[np.argmax(distance)])


def minimum(counts: Counts, values: HostArray) -> float:
    """Return the minimum between the two peaks of a histogram, smoothed until it has only two.

    J. M. S. Prewitt and M. L. Mendelsohn, Ann. N. Y. Acad. Sci. 128 (1966) 1035-1053.
    """
    from scipy.ndimage import uniform_filter1d

    smooth = counts.astype(np.float32)
    for _ in range(ROUNDS - 1):
        smooth = uniform_filter1d(smooth, 3)
        changes = np.diff(smooth)
        moves = np.flatnonzero(changes)
        falls = changes[moves] < 0
        peaks = moves[falls & ~np.append(False, falls)[:-1]]  # that of a plateau is at its end
        if len(peaks) < 3:
            break
    if len(peaks) != 2:
        message = (
            "threshold='minimum' needs an image whose histogram has two peaks; "
            f"got one with {len(peaks)}. Pass another method, such as 'otsu', or a number."
        )
        raise NoThresholdError(message)
    first, last = peaks
    return _item(values[first + np.argmin(smooth[first : last + 1])])


def li(counts: Counts, values: HostArray) -> float:
    """Return Li's threshold, which minimizes the cross entropy of an image and its class means.

    C. H. Li and P. K. S. Tam, Pattern Recognit. Lett. 19 (1998) 771-776.
    """
    offsets = values - values[0]
    weights = counts.astype(np.float32)

    def means(threshold: float) -> tuple[float, float]:
        above = offsets > threshold
        return (
            np.average(offsets[~above], weights=weights[~above]),
            np.average(offsets[above], weights=weights[above]),
        )

    start = int(np.dot(counts, offsets)) / int(counts.sum())
    return _item(descend(start, is_half, means) + values[0])


def is_half(change: float) -> bool:
    """Return whether a threshold of whole numbers has changed by too little to go on."""
    return bool(change <= 0.5)


def li_of_floats(pixels: HostArray) -> float:
    """Return Li's threshold of (P,) floats, without a histogram; `pixels` are overwritten.

    They are finite, in raster order of the image, and not all equal.
    """
    lowest, mean = fetch(pixels.min())[()], _passes(pixels).mean
    pixels -= lowest

    def tolerance(number: int = 1) -> Any:
        """Return half of the least gap between every so many pixels."""
        gaps = np.diff(np.sort(pixels[::number]))
        gaps = gaps[gaps > 0]
        return fetch(gaps.min())[()] / 2 if gaps.size else np.inf

    bound = tolerance(max(1, pixels.size // SOME))  # at least as large: all are rarely sorted

    def means(threshold: float) -> tuple[float, float]:
        dark, bright = _passes(pixels).separate(pixels, threshold)
        if not bright.size:  # the threshold was rounded up to the brightest pixel
            return mean(pixels), pixels.dtype.type(0)
        return mean(dark), mean(bright)

    def is_near(change: float) -> bool:
        return change == 0 or (change <= bound and bool(change <= tolerance()))

    return _item(descend(mean(pixels), is_near, means) + lowest)


def descend(
    start: float, is_near: Callable[[float], bool], means: Callable[[float], tuple[float, float]]
) -> float:
    """Iterate Li's threshold from a positive one until it changes by little, or repeats.

    `means` takes a threshold and returns the mean of the pixels up to it and of those above it.
    """
    following, seen = start, set()
    while following not in seen:
        seen.add(following)
        current = following
        dark, bright = means(current)
        if dark == 0 or bright == 0:
            break
        following = (dark - bright) / (np.log(dark) - np.log(bright))
        if is_near(abs(following - current)):
            break
    return following


CRITERIA: dict[str, Criterion] = {
    "otsu": partial(by_skimage, "otsu"),  # N. Otsu, IEEE Trans. Sys., Man., Cyber. 9 (1979) 62-66
    "li": li,
    "triangle": triangle,
    "yen": partial(by_skimage, "yen"),  # Yen et al., IEEE Trans. Image Process. 4 (1995) 370-378
    "isodata": isodata,
    "minimum": minimum,
}


def _item(number: Any) -> float:
    """Convert a NumPy number to a Python number, which compares in the type of the image."""
    item: float = number.item() if hasattr(number, "item") else number
    return item


# ---- The threshold of an image of any type by a method

THRESHOLDS: tuple[str, ...] = ("otsu", "li", "triangle", "yen", "isodata", "mean", "minimum")
EXACT = 2**53  # not every larger integer is a float


def find_threshold(
    pixels: HostArray, method: str, span: tuple[Any, ...] | None = None
) -> tuple[float, bool]:
    """Return the threshold of an image by a method, and whether all finite pixels are equal to it.

    `span` is that of `Smoothed`. The threshold is NaN if no pixel is finite, and 0.5 for bool.
    """
    if pixels.dtype == np.bool_:
        return 0.5, False
    if pixels.size == 0:
        return math.nan, False
    with np.errstate(all="ignore"):
        if pixels.dtype.kind == "f":
            return _find_in_floats(pixels, method, span or extremes(pixels))
        return _find_in_integers(pixels, method)


def _find_in_integers(pixels: HostArray, method: str) -> tuple[float, bool]:
    counts, first, width = count_integers(pixels)
    if len(counts) == 1 and width == 1:
        return first, True
    if method != "mean":
        return level_of_integers(counts, first, width, method), False
    if pixels.dtype.itemsize > 2:
        return sum_of_integers(pixels) / pixels.size, False
    total = int(np.dot(counts, np.arange(len(counts)))) + first * pixels.size
    return total / pixels.size, False


def sum_of_integers(pixels: HostArray) -> int:
    """Return the exact sum of gray values."""
    wide = np.uint64 if pixels.dtype.kind == "u" else np.int64  # for up to 2^32 pixels
    if pixels.dtype.itemsize < 8:
        return int(pixels.sum(dtype=wide))
    high, low = pixels >> 32, pixels & 0xFFFFFFFF
    return (int(high.sum(dtype=wide)) << 32) + int(low.sum(dtype=np.uint64))


def level_of_integers(counts: NDArray[np.int64], first: int, width: int, method: str) -> float:
    """Return the threshold of integers from the histogram of `count_integers`."""
    criterion = CRITERIA[method]
    last = first + (len(counts) - 1) * width
    if width == 1 and first >= -EXACT and last <= EXACT:
        return criterion(counts, np.arange(first, last + 1))
    level = math.floor(criterion(counts, np.arange(len(counts))))
    return first + (level + 1) * width - 1


def _find_in_floats(pixels: HostArray, method: str, span: tuple[Any, ...]) -> tuple[float, bool]:
    lowest, highest, finite = span
    if lowest > highest:
        return math.nan, False
    if lowest == highest:
        return float(lowest), True
    try:
        with np.errstate(over="raise"):
            return _apply(pixels, method, lowest, highest, finite=finite), False
    except FloatingPointError:
        scale = UnitScale.between(lowest, highest)
    ends = np.float64(0), np.float64(1)
    share = _apply(scale.shares(pixels), method, *ends, finite=finite)
    return scale.level(share, pixels.dtype), False


class UnitScale(NamedTuple):
    """A scale from 0 to 1 for gray values too large or too close together for their type."""

    low: float
    high: float
    half: float  # of gray values that `low` and `high` are, so that their distance is finite

    @classmethod
    def between(cls, lowest: Any, highest: Any) -> UnitScale:
        """Make the scale of finite pixels, from their ends."""
        low, high = np.float64(lowest), np.float64(highest)
        half = 0.5 if np.isinf(high - low) else 1.0
        return cls(half * low, half * high, half)

    def shares(self, pixels: HostArray) -> HostArray:
        """Return gray values on the scale, as float64."""
        shares: HostArray = (pixels.astype(np.float64) * self.half - self.low) / (
            self.high - self.low
        )
        return shares

    def level(self, share: float, dtype: np.dtype[Any]) -> float:
        """Return the gray value of a share, less than the greatest one of their type."""
        level = (self.low * (1 - share) + self.high * share) / self.half
        lowest, highest = self.low / self.half, self.high / self.half
        below = np.nextafter(dtype.type(highest), dtype.type(-np.inf))
        return float(np.clip(level, lowest, below))


def _apply(pixels: HostArray, method: str, lowest: Any, highest: Any, *, finite: bool) -> float:
    if method == "mean":
        return float(_passes(pixels).mean(pixels if finite else pixels[np.isfinite(pixels)]))
    if method == "li":
        return li_of_floats(pixels.flatten() if finite else pixels[np.isfinite(pixels)])
    return CRITERIA[method](*count_floats(pixels, lowest, highest))
