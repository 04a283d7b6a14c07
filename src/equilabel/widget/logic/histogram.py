"""The histogram of a layer, and an estimate of the threshold that a run will find."""

import math
from typing import Any, NamedTuple

import numpy as np

import equilabel
from equilabel.array_types import HostArray
from equilabel.colors import gray

from .choices import Choices
from .planes import Plane
from .sources import Source

BINS = 128
SAMPLE = 2**21  # most pixels of a histogram
EXACT = 2**24  # most pixels for a threshold
SAMPLED = "The level was found in a sample of the image. A run uses all pixels."
PLACES = 3  # blocks of a sample along each axis, if pixels need their neighbors


class Histogram(NamedTuple):
    """Smallest and largest gray value, pixels per bin between them, and whether all are integers.

    Without a finite pixel there are no bins.
    """

    low: float
    high: float
    counts: HostArray
    whole: bool

    @property
    def flat(self) -> bool:
        """Whether all values are equal, so that no threshold separates them."""
        return not self.low < self.high


Estimate = tuple[Histogram, float | None, str]
"""A histogram, the threshold that a run will find, and a remark on it.

The threshold is None if it is local or unknown.
"""


def compute_histogram(pixels: HostArray) -> Histogram:
    """Compute the range and the histogram of an image, or of a sample if the image is large."""
    some = sample(pixels)
    whole = some.dtype.kind in "bui"
    values = some.astype(np.float64).ravel()
    if not whole:
        values = values[np.isfinite(values)]
    if not values.size:
        return Histogram(0.0, 0.0, np.zeros(0, np.int64), whole)
    low, high = float(values.min()), float(values.max())
    if not low < high:
        return Histogram(low, high, np.array([values.size]), whole)
    counts, _ = np.histogram(values, bins=BINS, range=(low, high))
    return Histogram(low, high, counts.astype(np.int64), whole)


def sample(
    pixels: HostArray, most: int = SAMPLE, places: int = 0, ndim: int | None = None
) -> HostArray:
    """Return up to `most` pixels, evenly spread, or in blocks at several places along each axis.

    Blocks are side by side in a new image. Axes after the first `ndim` are complete.
    """
    shape = pixels.shape[:ndim]
    sides = list(shape)
    while math.prod(sides) > most:
        longest = sides.index(max(sides))
        sides[longest] -= max(1, sides[longest] // 8)
    for axis, (length, side) in enumerate(zip(shape, sides, strict=True)):
        if side < length:
            count = min(places or side, side)
            starts = np.linspace(0, length - side // count, count).astype(np.int64)
            pixels = pixels.take((starts[:, None] + np.arange(side // count)).ravel(), axis)
    return pixels


def estimate_threshold(plane: Plane) -> Estimate:
    """Compute the histogram of the layer of a plane, and its threshold.

    If the layer is not in memory, only the plane is read.
    """
    source, choices = plane.source, plane.choices
    filtered = bool(choices.sigma or choices.background)
    if source.lazy:
        pixels, exact, axes, stride = plane.read(), False, plane.axes, plane.stride
    else:
        pixels, exact = _take(source, choices, filtered)
        axes, stride = list(range(len(source.shape))), 1
    shown = pixels
    found: Any = None
    method: Any = choices.threshold
    try:
        if filtered:
            pixels = choices.prepare(source, pixels, axes, stride)
            shown = pixels if choices.background else shown
        if isinstance(choices.threshold, str) and method != "local":
            _, found = equilabel.binarize(pixels, method, return_threshold=True)
    except ValueError as error:
        return compute_histogram(shown), None, str(error)
    known = isinstance(found, float) and np.isfinite(found)
    remark = SAMPLED if known and not exact else ""
    return compute_histogram(shown), found if known else None, remark


def _take(source: Source, choices: Choices, filtered: bool) -> tuple[HostArray, bool]:
    """Return the gray values for a threshold, and whether these are all pixels."""
    pixels = source.data
    if "channel" in source.roles:
        before = (slice(None),) * source.roles.index("channel")
        pixels = pixels[(*before, slice(choices.channel, choices.channel + 1))]
    some = sample(pixels, EXACT, PLACES * filtered, len(source.shape))
    exact = some.size == pixels.size
    return np.asarray(gray(some, choices.color)) if source.rgb else some, exact
