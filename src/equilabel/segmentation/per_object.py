"""A threshold for each object, so that dim ones are found beside bright ones.

All of it is computed in 65,536 gray values: sums are exact, and every device finds the same pixels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import fetch, is_on_cuda, library, threads
from equilabel.measuring import count_labels, make_request

from .filters import extremes
from .splitting import split_touching
from .thresholds import count_integers, li

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array

SHARE = 2 / 3  # of the way from the background to the mean of an object
NECK = 0.5  # pixels: the tolerance at which objects are split before their means are taken
TOP = 2**16 - 1  # largest gray value


def threshold_objects(
    pixels: Array,
    span: tuple[Any, Any, bool] | None,
    *,
    dark: bool,
    stacked: bool,
    spacing: Sequence[float] | None,
) -> tuple[Array, float]:
    """Return the foreground, and the level above which objects are searched.

    Objects are the components above Li's level, split at their necks. Of each, the pixels are
    foreground that are above ``background + SHARE * (mean - background)``: its own mean, and the
    median of all pixels up to Li's level. `span` is what `extremes` returns, if it is known.
    """
    xp = library(pixels)
    if pixels.dtype == np.bool_:
        return pixels ^ dark, 0.5
    nothing = xp.zeros(pixels.shape, np.bool_)
    if pixels.size == 0:
        return nothing, math.nan
    lowest, highest, _ = span or extremes(pixels)
    if not lowest < highest:
        return nothing, float(lowest) if lowest == highest else math.nan
    scale = Scale.between(lowest, highest, dark)
    gray = xp.empty(pixels.shape, np.uint16)
    each_piece(scale.convert, pixels, gray)
    counts, first, _ = count_integers(gray)
    level = min(first + math.floor(li(counts, np.arange(len(counts)))), TOP - 1)
    up_to = np.cumsum(counts[: max(level - first, 0) + 1])
    background = first + int(np.searchsorted(up_to, up_to[-1] / 2))
    mask = nothing
    each_piece(lambda some, out: np.greater(some, np.uint16(level), out=out), gray, mask)
    labels = split_touching(mask, tolerance=NECK, spacing=spacing, stacked=stacked)
    request = make_request(("intensity_mean",), gray, gray.shape, None, stacked=stacked)
    found = request.columns(count_labels(labels, request.values, request.plan), labels)
    means = fetch(found["intensity_mean"]["intensity_mean"])
    levels = xp.asarray(np.append(TOP, background + SHARE * (means - background)).astype(np.uint16))

    def compare(numbers: Array, some: Array, out: Array) -> None:
        np.greater(some, levels[numbers], out=out)

    each_piece(compare, labels, gray, mask)
    return mask, scale.value_of(level)


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


def each_piece(work: Callable[..., Any], *images: Array) -> None:
    """Call a function for some rows of all images at a time: on a CPU in threads."""
    if is_on_cuda(images[0]):
        work(*images)
        return
    cuts = threads.ranges(len(images[0]), images[0].size, fine=True)
    threads.each(work, [tuple(image[a:b] for image in images) for a, b in cuts])
