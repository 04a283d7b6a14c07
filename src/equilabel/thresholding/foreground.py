"""The foreground of an image: gray values and the threshold they are compared with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel import threads
from equilabel.devices import library, resolve
from equilabel.grid import Foreground
from equilabel.labeling import label

from .checks import check_block, check_number, check_threshold, reject_unused
from .levels import find_level
from .smoothing import as_pixels, converted, extremes, gaussian, smooth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import Array, HostArray
    from equilabel.grid import Compare
    from equilabel.quantities import Lengths


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
