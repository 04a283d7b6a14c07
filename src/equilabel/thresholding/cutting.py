"""Cuts: an image, and what tells its foreground from its background."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import library, resolve
from equilabel.grid import Foreground
from equilabel.labeling import label

from .checks import check_block, check_number, check_threshold, reject_unused
from .levels import find_level
from .smoothing import as_pixels, extremes, gaussian, smooth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.grid import Compare


class Cut(NamedTuple):
    """An image and the pixels of it that are foreground, which need not be a mask yet.

    Attributes
    ----------
    pixels : array
        Gray values, or a mask.
    foreground : Foreground
        How foreground compares with a level of the type of `pixels`.
    """

    pixels: Any
    foreground: Foreground

    def mask(self) -> Any:
        """Return the foreground as an array of bool."""
        if self.pixels.dtype == np.bool_:
            return self.pixels
        return self.foreground.mask(self.pixels)


def masked(mask: Any) -> Cut:
    """Return the cut of a mask."""
    return Cut(mask, Foreground("!=", np.False_, values=False))


def find_cut(
    image: ArrayLike,
    threshold: Any,
    *,
    sigma: float | Sequence[float] = 0.0,
    spacing: float | Sequence[float] | None = None,
    dark: bool = False,
    block_size: int | Sequence[int] | None = None,
    offset: float = 0.0,
    stacked: bool = False,
) -> tuple[Cut, float | tuple[float, float] | None]:
    """Smooth an image and find what tells its foreground; arguments as for `binarize`.

    Returns
    -------
    cut : Cut
        Compared already where a single level does not tell foreground.
    threshold : float, (low, high) or None
        As `binarize` returns it.
    """
    pixels = as_pixels(image, stacked=stacked)
    level = check_threshold(threshold)
    if level == "local":
        block = check_block(block_size, pixels.ndim, stacked=stacked)
        shift = check_number("offset", offset)
    else:
        reject_unused(threshold, block_size=(block_size, None), offset=(offset, 0.0))
    pixels = comparable(smooth(pixels, sigma, spacing=spacing, stacked=stacked))
    if level == "local":
        return masked(_local(pixels, block, shift, dark=dark, stacked=stacked)), None
    if isinstance(level, tuple):
        return masked(_hysteresis(pixels, *level, dark=dark, stacked=stacked)), level
    constant = False
    if isinstance(level, str):
        level, constant = find_level(pixels, level)
    return _split(pixels, level, dark=dark, strict=constant), float(level)


def comparable(pixels: NDArray[Any]) -> NDArray[Any]:
    """Widen float16, in which thresholds would be rounded."""
    return pixels.astype(np.float32) if pixels.dtype == np.float16 else pixels


def _split(pixels: NDArray[Any], level: float, *, dark: bool, strict: bool = False) -> Cut:
    """Find the pixels above a level, or if dark those up to it; below it if that is strict."""
    if pixels.dtype == np.bool_:
        pixels = pixels.view(np.uint8)
    if pixels.size == 0:
        return masked(np.zeros_like(pixels, dtype=np.bool_))
    if pixels.dtype.kind == "f":
        with np.errstate(over="ignore"):
            level = pixels.dtype.type(level)
        return Cut(pixels, Foreground(_compare(dark, strict), level, values=False))
    # Between integers lies nothing: the level can be one, exact beyond 2^53, and as fast as can be.
    limits = np.iinfo(pixels.dtype)
    if level < limits.min or (level == limits.min and dark and strict):
        return masked(np.full_like(pixels, not dark, dtype=np.bool_))
    if level >= limits.max and not (dark and strict):
        return masked(np.full_like(pixels, dark, dtype=np.bool_))
    whole = pixels.dtype.type(math.floor(level) - (dark and strict))
    return Cut(pixels, Foreground(_compare(dark, strict=False), whole, values=False))


def _compare(dark: bool, strict: bool) -> Compare:
    """Return how foreground compares with a level."""
    if not dark:
        return ">"
    return "<" if strict else "<="


def _hysteresis(pixels: NDArray[Any], low: float, high: float, *, dark: bool, stacked: bool) -> Any:
    """Keep the weak pixels that touch strong ones by way of weak ones."""
    weak = _split(pixels, high if dark else low, dark=dark).mask()
    strong = _split(pixels, low if dark else high, dark=dark).mask()
    where = resolve("auto", weak)  # the mask stays where it is
    labels, count = label(weak, return_num=True, connectivity=1, stacked=stacked, device=where)
    kept = library(labels).zeros(count + 1, dtype=np.bool_)
    kept[labels[strong]] = True
    return kept[labels]


def _local(
    pixels: NDArray[Any], block: Sequence[float], shift: float, *, dark: bool, stacked: bool
) -> Any:
    """Compare each pixel with the Gaussian mean of its block."""
    widths = [(side - 1) / 6 for side in block]  # the block holds 99 % of the Gaussian
    mask = library(pixels).zeros(pixels.shape, dtype=np.bool_)
    for number in range(len(pixels)) if stacked else (...,):
        part = pixels[number]
        if part.size == 0:
            continue
        lowest, highest, _ = extremes(part)
        if not lowest < highest:
            continue
        values = part.astype(np.float32 if part.dtype == np.float32 else np.float64)
        values = gaussian(values, widths[stacked:], mode="reflect")
        np.add(values, shift if dark else -shift, out=values)
        with np.errstate(all="ignore"):
            mask[number] = part < values if dark else part > values
        if part.dtype.kind == "f":
            mask[number] |= part == (-np.inf if dark else np.inf)
    return mask
