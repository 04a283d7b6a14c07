"""The histogram of a layer, and an estimate of the threshold that a run will find."""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import equilabel
from equilabel.array_types import HostArray
from equilabel.storage.colors import gray

from .choices import Choices
from .planes import Plane
from .sources import Source

BINS = 128
SAMPLE = 2**21  # most pixels that a histogram is computed of
EXACT = 2**24  # most pixels in all of which a threshold is found
PLACES = 3  # blocks of a sample along each axis
SIDES = {1: 2**18, 2: 448, 3: 64}  # of a block, by the number of axes of space
SIDE = 24  # for more axes


class Histogram(NamedTuple):
    """Least and greatest gray value, pixels per bin between them, and whether all are integers.

    There are no bins where no pixel is finite.
    """

    low: float
    high: float
    counts: HostArray
    whole: bool

    @property
    def flat(self) -> bool:
        """Whether all values are equal, so that no threshold separates them."""
        return not self.low < self.high


class ThresholdEstimate(NamedTuple):
    """The threshold that a run will find, as far as it is known before.

    It is None if it is local, or if there is none: `problem` says why. If it is not `exact`, it
    was found in a part of the image.
    """

    threshold: float | None
    exact: bool = True
    problem: str = ""


def compute_histogram(pixels: HostArray) -> Histogram:
    """Compute the range and the histogram of an image, of a sample if it is large."""
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


def sample(pixels: HostArray, most: int = SAMPLE) -> HostArray:
    """Return every n-th pixel along each axis, so that at most so many remain."""
    step = 1
    while np.prod([-(-length // step) for length in pixels.shape], dtype=np.int64) > most:
        step += 1
    return pixels[(slice(None, None, step),) * pixels.ndim]


def estimate_threshold(plane: Plane) -> tuple[Histogram, ThresholdEstimate]:
    """Compute the histogram of the layer that a plane is of, and its threshold.

    If it is not in memory, only the plane is read.
    """
    source, choices = plane.source, plane.choices
    exact = not source.lazy and math.prod(source.shape) <= EXACT
    shown = pixels = _take_pixels(plane, exact)
    method: Any = choices.threshold
    found: Any = None
    try:
        if choices.sigma or choices.background:
            pixels = _prepare(plane, shown, exact)
            shown = pixels if choices.background else shown
        if isinstance(choices.threshold, str) and method != "local":
            _, found = equilabel.binarize(pixels, method, return_threshold=True)
    except ValueError as error:
        return compute_histogram(shown), ThresholdEstimate(None, exact, str(error))
    known = isinstance(found, float) and np.isfinite(found)
    return compute_histogram(shown), ThresholdEstimate(found if known else None, exact)


def _prepare(plane: Plane, pixels: HostArray, exact: bool) -> HostArray:
    """Return the gray values that a threshold is found in, after the first steps of a run."""
    source, choices = plane.source, plane.choices
    if exact:
        arrangement = source.arrangement(choices.roles)
        return choices.prepare(source, pixels, [*arrangement.times[:1], *arrangement.space])
    return plane.prepare(pixels) if source.lazy else _prepared_sample(source, choices)


def _take_pixels(plane: Plane, exact: bool) -> HostArray:
    """Return the gray values a threshold is found in: all of them, a plane, or a sample."""
    source, choices = plane.source, plane.choices
    has_channels = "channel" in choices.roles
    if exact:
        pixels = source.arrangement(choices.roles).arrange(source.read(choices.color))
        return pixels[..., choices.channel] if has_channels else pixels
    if source.lazy:
        return plane.read()
    pixels = source.data[..., :3] if source.rgb else source.data
    if has_channels:
        pixels = pixels.take(choices.channel, choices.roles.index("channel"))
    if not source.rgb:
        return sample(pixels)
    colors = np.stack([sample(pixels[..., part]) for part in range(3)], axis=-1)
    return np.asarray(gray(colors, choices.color))


def _prepared_sample(source: Source, choices: Choices) -> HostArray:
    """Return gray values of blocks that are spread over an image, after the first steps of a run.

    Its background is subtracted, and it is smoothed. Blocks are no wider than three times their
    side, so that a very wide background is cut.
    """
    arrangement, axes = source.arrangement(choices.roles), range(len(source.shape))
    sigma, radius = (choices.lengths(source, name, axes) for name in ("sigma", "background"))
    side = SIDES.get(len(arrangement.space), SIDE)
    cuts = []  # of each axis, blocks with their margins, and without
    for axis, length in enumerate(source.shape):
        margin = round(3 * sigma[axis] + min(2 * radius[axis], side))
        one = side if axis in arrangement.space else 1
        cuts.append([_cut(length, one, margin, place) for place in range(PLACES)])
    if arrangement.channel is not None:
        cuts[arrangement.channel] = [(slice(choices.channel, choices.channel + 1), slice(None))]
    values = []
    for block in product(*cuts):
        pixels = np.asarray(source.data[tuple(outer for outer, _ in block)])
        pixels = gray(pixels, choices.color) if source.rgb else pixels
        smooth = choices.prepare(source, pixels, axes)
        values.append(smooth[tuple(inner for _, inner in block)].ravel())
    return np.concatenate(values)


def _cut(length: int, side: int, margin: int, place: int) -> tuple[slice, slice]:
    """Return a block with a margin around it, and the block within that."""
    start = max(0, length - side) * place // (PLACES - 1)
    stop = min(length, start + side)
    first = max(0, start - margin)
    return slice(first, min(length, stop + margin)), slice(start - first, stop - first)
