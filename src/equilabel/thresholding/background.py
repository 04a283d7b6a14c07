"""Subtraction of an uneven background: the white top-hat of SciPy, or CuPy's twin of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import threads
from equilabel.devices import filters, is_on_cuda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import HostArray


def subtract_background(
    pixels: HostArray, radii: Sequence[float], *, dark: bool = False
) -> HostArray:
    """Subtract the background of an image: all that is wider than a box.

    The background is the opening of the image: its minimum in a box around each pixel, then the
    maximum of the minima (the white top-hat). For objects darker than the background it is the
    closing.

    Parameters
    ----------
    pixels : (M, N[, ...]) array of bool, integer or float
    radii : sequence of float
        Half the width of the box along each axis, in pixels: it reaches as many whole pixels to
        either side. 0 along axes that do not belong together, such as time.
    dark : bool
        Whether objects are darker than the background.

    Returns
    -------
    array
        0 in the background, above it in objects (dark: below). Of the type of `pixels`; dark
        objects in unsigned images get a signed type that holds them (uint64: float64). Pixels that
        are not finite stay as they are, and do not contribute to the background.

    Notes
    -----
    Beyond its border the image is not considered: boxes end there.

    Examples
    --------
    >>> image = np.array([[5, 6, 30, 8, 9, 9]], dtype=np.uint8)
    >>> subtract_background(image, (0, 1))
    array([[ 0,  0, 22,  0,  0,  0]], dtype=uint8)
    """
    sides = [2 * int(radius) + 1 for radius in radii]
    if pixels.size == 0 or pixels.dtype == np.bool_:
        return pixels
    least, most = ("maximum", "minimum") if dark else ("minimum", "maximum")
    if dark and pixels.dtype.kind == "u":
        signed = {1: np.int16, 2: np.int32, 4: np.int64, 8: np.float64}
        pixels = pixels.astype(signed[pixels.dtype.itemsize])
    if pixels.dtype.kind != "f":
        return pixels - _extreme(most, _extreme(least, pixels, sides), sides)
    finite = np.isfinite(pixels)
    far = pixels.dtype.type(-np.inf if dark else np.inf)
    inner = _extreme(least, np.where(finite, pixels, far), sides)
    level = _extreme(most, np.where(np.isfinite(inner), inner, -far), sides)
    return np.where(finite, pixels - np.where(finite, level, 0), pixels)


def _extreme(name: str, values: HostArray, sides: Sequence[int]) -> HostArray:
    """Return the minimum or the maximum in a box around each pixel, one axis after the other."""
    work: Any = getattr(filters(values), f"{name}_filter1d")
    for axis, side in enumerate(sides):
        if side > 1 and values.shape[axis] > 1:
            reach = min(side, 2 * values.shape[axis] - 1)  # what lies beyond is not considered
            values = _filter_axis(work, values, axis, reach)
    return values


def _filter_axis(work: Any, values: HostArray, axis: int, side: int) -> HostArray:
    """Filter along one axis, in threads that divide the longest other one."""
    others = [a for a in range(values.ndim) if a != axis]
    if not others or is_on_cuda(values):
        filtered: HostArray = work(values, side, axis, mode="nearest")
        return filtered
    longest = max(others, key=lambda a: values.shape[a])
    out = np.empty_like(values)
    lines, results = np.moveaxis(values, longest, 0), np.moveaxis(out, longest, 0)

    def filter_piece(start: int, stop: int) -> None:
        piece, place = (np.moveaxis(each[start:stop], 0, longest) for each in (lines, results))
        work(piece, side, axis, output=place, mode="nearest")

    threads.each(filter_piece, threads.ranges(len(lines), values.size))
    return out
