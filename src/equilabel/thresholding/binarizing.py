"""From gray values to foreground: find a threshold, and binarize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .levels import METHODS, find_level
from .smoothing import LARGEST, as_pixels, extremes, gaussian, per_axis, smooth

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


Threshold = (
    float
    | tuple[float, float]
    | Literal["otsu", "li", "triangle", "yen", "isodata", "mean", "minimum", "local"]
)


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: float | Sequence[float] = ...,
    spacing: float | Sequence[float] | None = ...,
    dark: bool = ...,
    block_size: int | Sequence[int] | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: Literal[False] = ...,
) -> NDArray[np.bool_]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: float | Sequence[float] = ...,
    spacing: float | Sequence[float] | None = ...,
    dark: bool = ...,
    block_size: int | Sequence[int] | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: Literal[True],
) -> tuple[NDArray[np.bool_], float | tuple[float, float] | None]: ...


def binarize(
    image: ArrayLike,
    threshold: Threshold = "otsu",
    *,
    sigma: float | Sequence[float] = 0.0,
    spacing: float | Sequence[float] | None = None,
    dark: bool = False,
    block_size: int | Sequence[int] | None = None,
    offset: float = 0.0,
    stacked: bool = False,
    return_threshold: bool = False,
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], float | tuple[float, float] | None]:
    """Tell foreground from background by gray value.

    Parameters
    ----------
    image : (M, N[, ..., P]) array of bool, integer or float
        One axis or more.
    threshold : str, float or (low, high)
        A method, which finds one threshold for the whole image: "otsu", "li", "triangle", "yen",
        "isodata", "mean", "minimum". A number. Two numbers, for hysteresis: pixels above `low`
        that touch pixels above `high` by way of others above `low`, across faces. Or "local":
        the Gaussian mean of the block around each pixel, less `offset`.
    sigma : float or sequence of float
        Standard deviation of the Gaussian that smooths the image first, in the unit of
        `spacing`; see `smooth`. Default 0: none.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Default 1.
    dark : bool
        Whether objects are darker than the background: foreground is then what is *not* above
        the threshold. The hysteresis is mirrored: pixels up to `high` that touch pixels up to
        `low`. A local threshold is raised by `offset`, and pixels below it are foreground.
    block_size : int or sequence of int, optional
        For "local": side of the block in pixels, odd, larger than the objects.
    offset : float
        For "local": how far a pixel has to stand out from its block. Negative asks for more.
    stacked : bool
        Whether the first axis counts independent images. Neither smoothing nor hysteresis nor
        local thresholds cross it; a method still finds one threshold for all images.
    return_threshold : bool
        Whether to return the threshold, too.

    Returns
    -------
    mask : array of bool, same shape as `image`
    threshold : float, (low, high) or None
        Only with ``return_threshold=True``. None where local; NaN where no pixel is finite.

    Raises
    ------
    TypeError
        If the image is not real, or a number is no number.
    ValueError
        If an argument is out of range, or the method finds no threshold ("minimum" asks for a
        histogram with two peaks).

    Notes
    -----
    Thresholds equal those of ``skimage.filters.threshold_*``; see `find_threshold`. NaN is never
    foreground. An infinite pixel counts as brighter (or darker) than any threshold. Where all
    finite pixels are equal, a method finds no foreground, dark or bright. A mask (image of bool)
    stays itself under every method, or becomes its complement if `dark`.

    Examples
    --------
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
    pixels = as_pixels(image, stacked=stacked)
    level = _checked(threshold)
    if level == "local":
        block = _checked_block(block_size, pixels.ndim, stacked=stacked)
        shift = _number("offset", offset)
    else:
        _reject_unused(threshold, block_size=(block_size, None), offset=(offset, 0.0))
    pixels = _comparable(smooth(pixels, sigma, spacing=spacing, stacked=stacked))

    found: float | tuple[float, float] | None = None
    if level == "local":
        mask = _local(pixels, block, shift, dark=dark, stacked=stacked)
    elif isinstance(level, tuple):
        mask, found = _hysteresis(pixels, *level, dark=dark, stacked=stacked), level
    else:
        constant = False
        if isinstance(level, str):
            level, constant = find_level(pixels, level)
        mask, found = _split(pixels, level, dark=dark, strict=constant), float(level)
    return (mask, found) if return_threshold else mask


def find_threshold(image: ArrayLike, method: str = "otsu") -> float:
    """Find the gray value that tells foreground from background in a whole image.

    Parameters
    ----------
    image : array of bool, integer or float
        One axis or more.
    method : {"otsu", "li", "triangle", "yen", "isodata", "mean", "minimum"}

    Returns
    -------
    float
        Foreground is what exceeds it. NaN where no pixel is finite; the value of the pixels
        where they are all equal; 0.5 for an image of bool.

    Raises
    ------
    TypeError
        If the image is not real.
    ValueError
        If there is no such method, or "minimum" does not find two peaks in the histogram.

    Notes
    -----
    Equal to ``skimage.filters.threshold_<method>`` to the last bit, with what that refuses or
    loses defined: NaN and infinities are left out; float16 is treated as float32; signed
    integers do not overflow; integers that span more than 2^24 values are counted in 65,536
    steps, those beyond 2^53 from their lowest; floats whose sums overflow, or that are too close
    together for 256 bins, are scaled to 0 to 1 first.

    Examples
    --------
    >>> find_threshold([[1, 2, 2, 9], [1, 8, 9, 9]])
    2.0
    >>> find_threshold([0.0, 1.0, np.nan, 5.0], "mean")
    2.0
    """
    if method not in METHODS:
        raise ValueError(_unknown("method", method, METHODS, "one of"))
    return float(find_level(_comparable(as_pixels(image)), method)[0])


# ----------------------------------------------------------------- comparing


def _comparable(pixels: NDArray[Any]) -> NDArray[Any]:
    """Widen float16, in which thresholds would be rounded."""
    return pixels.astype(np.float32) if pixels.dtype == np.float16 else pixels


def _split(
    pixels: NDArray[Any], level: float, *, dark: bool, strict: bool = False
) -> NDArray[np.bool_]:
    """Find the pixels above a level, or if dark those up to it; below it if that is strict."""
    if pixels.dtype == np.bool_:
        pixels = pixels.view(np.uint8)
    if pixels.size == 0 or pixels.dtype.kind == "f":
        compare = (np.less if strict else np.less_equal) if dark else np.greater
        with np.errstate(all="ignore"):
            return np.asarray(compare(pixels, level))
    # Between integers lies nothing: the level can be one, exact beyond 2^53, and as fast as can be.
    limits = np.iinfo(pixels.dtype)
    if level < limits.min or (level == limits.min and dark and strict):
        return np.full_like(pixels, not dark, dtype=np.bool_)
    if level >= limits.max and not (dark and strict):
        return np.full_like(pixels, dark, dtype=np.bool_)
    whole = pixels.dtype.type(math.floor(level) - (dark and strict))
    return np.asarray(pixels <= whole if dark else pixels > whole)


def _hysteresis(
    pixels: NDArray[Any], low: float, high: float, *, dark: bool, stacked: bool
) -> NDArray[np.bool_]:
    """Keep the weak pixels that touch strong ones by way of weak ones."""
    from scipy.ndimage import generate_binary_structure, label

    weak = _split(pixels, high if dark else low, dark=dark)
    strong = _split(pixels, low if dark else high, dark=dark)
    structure = generate_binary_structure(pixels.ndim, 1)
    if stacked:
        structure[[0, 2]] = False
    labels, count = label(weak, structure)
    kept = np.zeros(count + 1, dtype=np.bool_)
    kept[labels[strong]] = True
    return np.asarray(kept[labels])


def _local(
    pixels: NDArray[Any], block: Sequence[float], shift: float, *, dark: bool, stacked: bool
) -> NDArray[np.bool_]:
    """Compare each pixel with the Gaussian mean of its block."""
    widths = [(side - 1) / 6 for side in block]  # the block holds 99 % of the Gaussian
    mask = np.zeros(pixels.shape, dtype=np.bool_)
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


# ------------------------------------------------------------------ checking


def _checked(threshold: object) -> str | float | tuple[float, float]:
    if isinstance(threshold, str):
        if threshold not in (*METHODS, "local"):
            choices = (*METHODS, "local")
            raise ValueError(_unknown("threshold", threshold, choices, "a number, (low, high) or"))
        return threshold
    if isinstance(threshold, np.ndarray):
        threshold = threshold.tolist()
    if isinstance(threshold, Sequence) and len(threshold) == 2:
        low, high = (_number("threshold", number) for number in threshold)
        if low > high:
            message = (
                f"threshold must be (low, high) with low <= high; got {threshold!r}. Swap them."
            )
            raise ValueError(message)
        return float(low), float(high)
    return _number("threshold", threshold)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        kinds = "a number, (low, high) or a method" if name == "threshold" else "a number"
        message = f"{name} must be {kinds}; got {value!r}."
        raise TypeError(message)
    number = int(value) if isinstance(value, Integral) else float(value)
    if math.isnan(number) or (name != "threshold" and math.isinf(number)):
        message = f"{name} must be a number that others can be compared with; got {value!r}."
        raise ValueError(message)
    return number


def _unknown(name: str, word: object, choices: Sequence[str], kinds: str) -> str:
    near = get_close_matches(str(word).lower(), choices, n=1, cutoff=0.5)
    remedy = f"Did you mean {near[0]!r}?" if near else "Pass 'otsu' where unsure."
    return f"{name} must be {kinds} {list(choices)}; got {word!r}. {remedy}"


def _checked_block(block_size: object, ndim: int, *, stacked: bool) -> list[float]:
    if block_size is None:
        message = (
            "block_size must be given where threshold='local'; got None. "
            "Pass an odd number of pixels larger than the objects, such as 51."
        )
        raise ValueError(message)
    sides = per_axis("block_size", block_size, ndim, stacked=stacked)
    if not all(1 <= side <= 6 * LARGEST + 1 and side % 2 == 1 for side in sides) or max(sides) < 3:
        message = (
            f"block_size must be odd, 3 to {6 * LARGEST + 1:.0f} pixels; got {block_size!r}. "
            "Pass an odd number larger than the objects, such as 51."
        )
        raise ValueError(message)
    return sides


def _reject_unused(threshold: object, **given: tuple[object, object]) -> None:
    for name, (value, default) in given.items():
        if value != default:
            message = (
                f"{name} must be left out unless threshold='local'; "
                f"got {value!r} and threshold={threshold!r}. Leave it out, or pass 'local'."
            )
            raise ValueError(message)
