"""Cuts: an image, and what tells its foreground from its background."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel.devices import library, resolve
from equilabel.labeling import label

from .checks import check_block, check_number, check_threshold, reject_unused
from .levels import find_level
from .smoothing import as_pixels, extremes, gaussian, smooth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Cut:
    """An image and the pixels of it that are foreground, which need not be a mask yet.

    Attributes
    ----------
    pixels : array
        Gray values; the mask itself where `compare` is "is".
    level : number
        Of the type of `pixels`.
    compare : {"is", ">", "<=", "<"}
        How foreground compares with `level`; NaN never does.
    """

    pixels: Any
    level: Any
    compare: Literal["is", ">", "<=", "<"]

    def mask(self) -> Any:
        """Return the foreground as an array of bool."""
        if self.compare == "is":
            return self.pixels
        compare = {">": np.greater, "<=": np.less_equal, "<": np.less}[self.compare]
        with np.errstate(all="ignore"):
            return compare(self.pixels, self.level)


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
        return Cut(_local(pixels, block, shift, dark=dark, stacked=stacked), None, "is"), None
    if isinstance(level, tuple):
        return Cut(_hysteresis(pixels, *level, dark=dark, stacked=stacked), None, "is"), level
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
    if pixels.size == 0 or pixels.dtype.kind == "f":
        return Cut(pixels, level, ("<" if strict else "<=") if dark else ">")
    # Between integers lies nothing: the level can be one, exact beyond 2^53, and as fast as can be.
    limits = np.iinfo(pixels.dtype)
    if level < limits.min or (level == limits.min and dark and strict):
        return Cut(np.full_like(pixels, not dark, dtype=np.bool_), None, "is")
    if level >= limits.max and not (dark and strict):
        return Cut(np.full_like(pixels, dark, dtype=np.bool_), None, "is")
    whole = pixels.dtype.type(math.floor(level) - (dark and strict))
    return Cut(pixels, whole, "<=" if dark else ">")


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
