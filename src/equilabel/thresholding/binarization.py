"""Binarize an image, or find its threshold by one of seven methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from equilabel.arguments import check_choice, check_flag
from equilabel.devices import resolve, using

from .foreground import apply_threshold, comparable
from .levels import THRESHOLDS, find_level
from .smoothing import as_pixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from equilabel.quantities import Lengths


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
    sigma: Lengths = ...,
    spacing: float | Sequence[float] | None = ...,
    unit: str | None = ...,
    dark: bool = ...,
    block_size: Lengths | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: Literal[False] = ...,
) -> NDArray[np.bool_]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: Lengths = ...,
    spacing: float | Sequence[float] | None = ...,
    unit: str | None = ...,
    dark: bool = ...,
    block_size: Lengths | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: Literal[True],
) -> tuple[NDArray[np.bool_], float | tuple[float, float] | None]: ...


@overload
def binarize(
    image: ArrayLike,
    threshold: Threshold = ...,
    *,
    sigma: Lengths = ...,
    spacing: float | Sequence[float] | None = ...,
    unit: str | None = ...,
    dark: bool = ...,
    block_size: Lengths | None = ...,
    offset: float = ...,
    stacked: bool = ...,
    return_threshold: bool,
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], float | tuple[float, float] | None]: ...


def binarize(
    image: ArrayLike,
    threshold: Threshold = "otsu",
    *,
    sigma: Lengths = 0.0,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: float = 0.0,
    stacked: bool = False,
    return_threshold: bool = False,
) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], float | tuple[float, float] | None]:
    """Separate the foreground of an image from its background by a threshold.

    Parameters
    ----------
    image : (M, N[, ..., P]) array of bool, integer or float
        One axis or more.
    threshold : str, float or (low, high)
        A method, which finds one threshold for the whole image: "otsu", "li", "triangle", "yen",
        "isodata", "mean", "minimum". A number. Two numbers, for hysteresis: pixels above `low`
        that touch pixels above `high` by way of others above `low`, across faces. Or "local":
        the Gaussian mean of the block around each pixel, less `offset`.
    sigma : float, str, or a sequence of them
        Standard deviation of the Gaussian that smooths the image first, in pixels or with a
        unit, "0.3um"; see `smooth`. Default 0: none.
    spacing : float or sequence of float, optional
        Pixel size, for all axes or for each. Lengths with a unit are converted with it.
    unit : str, optional
        Unit of `spacing`: "um", "nm", ...
    dark : bool
        Whether objects are darker than the background: foreground is then what is *not* above
        the threshold. The hysteresis is mirrored: pixels up to `high` that touch pixels up to
        `low`. A local threshold is raised by `offset`, and pixels below it are foreground.
    block_size : int, str, or a sequence of them, optional
        For "local": side of the block, larger than the objects: an odd number of pixels, or a
        length with a unit, "10um", of which the nearest odd number is taken.
    offset : float
        For "local": subtracted from the mean of the block. With a negative offset, foreground has
        to differ more from its block.
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
        If the image is not of a real type, or a number is not a number.
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
    >>> import numpy as np
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
    dark, stacked = check_flag("dark", dark), check_flag("stacked", stacked)
    return_threshold = check_flag("return_threshold", return_threshold)
    pixels = as_pixels(image, stacked=stacked)
    with using(resolve("auto", pixels)):
        foreground, found = apply_threshold(
            pixels,
            threshold,
            sigma=sigma,
            spacing=spacing,
            unit=unit,
            dark=dark,
            block_size=block_size,
            offset=offset,
            stacked=stacked,
        )
        mask = foreground.mask()
    return (mask, found) if return_threshold else mask


def find_threshold(image: ArrayLike, method: str = "otsu") -> float:
    """Find the threshold that separates the foreground of an image from its background.

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
        If the image is not of a real type.
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
    >>> find_threshold([0.0, 1.0, float("nan"), 5.0], "mean")
    2.0
    """
    check_choice("method", method, THRESHOLDS, remedy="Pass 'otsu' if unsure.")
    return float(find_level(comparable(as_pixels(image)), method)[0])
