"""A threshold for each object, so that dim ones are found beside bright ones.

All of it is computed in 65,536 gray values: sums are exact, and every device finds the same pixels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import fetch, library, resolve
from equilabel.labeling import label
from equilabel.measuring import count_labels, make_request

from .filters import each_piece, extremes
from .splitting import split_touching
from .thresholds import count_integers, descend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array, HostArray

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
    above a lower level. Of each, the pixels are foreground that are above ``background + SHARE *
    (mean - background)``: its own mean, and the median of all pixels up to Li's level. `span` is
    what `extremes` returns, if it is known.
    """
    xp = library(pixels)
    if pixels.dtype == np.bool_:
        return pixels ^ dark, 0.5
    mask = xp.zeros(pixels.shape, np.bool_)
    if pixels.size == 0:
        return mask, math.nan
    lowest, highest, *_ = span or extremes(pixels)
    if not lowest < highest:
        return mask, float(lowest) if lowest == highest else math.nan
    scale = Scale.between(lowest, highest, dark)
    gray = xp.empty(pixels.shape, np.uint16)
    each_piece(scale.convert, pixels, gray)
    levels = Levels.of(*count_integers(gray)[:2])
    each_piece(_above(levels.li), gray, mask)
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
        found: HostArray = (self.background + SHARE * (means - self.background)).astype(np.uint16)
        return found


def _find_li(counts: HostArray) -> int:
    """Return the last place of the background in a histogram, by Li's criterion.

    Sums are exact, and added once: `thresholds.li`, which takes them as scikit-image does, needs
    2 ms for each of its rounds.
    """
    total, weighted = np.cumsum(counts), np.cumsum(counts * np.arange(len(counts)))

    def means(threshold: float) -> tuple[float, float]:
        at = min(int(threshold), len(counts) - 2)
        above = (weighted[-1] - weighted[at]) / (total[-1] - total[at])
        return weighted[at] / total[at], above

    return int(descend(weighted[-1] / total[-1], 0.5, means))


def _median(counts: HostArray) -> int:
    """Return the place of the median in a histogram."""
    total = np.cumsum(counts)
    return int(np.searchsorted(total, total[-1] / 2))


def _above(level: int) -> Callable[[Array, Array], Array]:
    """Make a function that writes which gray values are above a level."""
    return lambda gray, out: np.greater(gray, np.uint16(level), out=out)


def _measured(labels: Array, values: Array, stacked: bool) -> tuple[HostArray, ...]:
    """Return the labels that occur, their numbers of pixels, and means of `values`."""
    request = make_request(("area", "intensity_mean"), values, labels.shape, None, stacked=stacked)
    counts = count_labels(labels, request.values, request.plan)
    found = request.columns(counts, labels)
    columns = (found[name][name] for name in ("area", "intensity_mean"))
    return (fetch(counts.labels), *map(fetch, columns))


def are_dim(sizes: HostArray, shares: HostArray, others: HostArray) -> HostArray:
    """Return which parts are dim objects, from their pixels and the share above Li's level.

    `others` are the numbers of pixels of the objects above it, one or more.
    """
    ordered = np.sort(others)
    usual = ordered[_median(ordered)]
    found: HostArray = (shares < BRIGHT) & (sizes * ALIKE >= usual) & (sizes <= usual * ALIKE)
    return found


def _with_dim_ones(objects: Array, gray: Array, mask: Array, levels: Levels, how: Any) -> Array:
    """Add dim objects: those of the usual size that are mostly below Li's level.

    What was found in them gives way. `mask` are the pixels above Li's level; the usual size is that
    of the object of the median pixel.
    """
    xp, stacked = library(gray), how["stacked"]
    bright = mask.view(np.uint8)
    lower = xp.empty_like(mask)
    each_piece(_above(levels.dim), gray, lower)
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
