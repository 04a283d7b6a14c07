"""Criteria for thresholds of a histogram, equal to those of scikit-image to the last bit.

Each takes counts per gray value and the gray values, ascending, at least two, the first and the
last with a count. Sums run in float32 where scikit-image's do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    Counts = NDArray[np.int64]
    Criterion = Callable[[Counts, HostArray], float]

ROUNDS = 10_000  # of smoothing, before the search for two peaks is given up


class NoThresholdError(ValueError, RuntimeError):
    """A criterion finds no threshold in an image."""


def otsu(counts: Counts, values: HostArray) -> float:
    """Find Otsu's threshold, which maximizes the variance between the two classes.

    Parameters
    ----------
    counts : (V,) array of int64
    values : (V,) array

    Returns
    -------
    float
        The largest value of the lower class.

    Notes
    -----
    N. Otsu, IEEE Trans. Sys., Man., Cyber. 9 (1979) 62-66.

    Examples
    --------
    >>> otsu(np.array([5, 1, 0, 1, 4]), np.arange(5))
    1
    """
    weights = counts.astype(np.float32)
    below, above = np.cumsum(weights), np.cumsum(weights[::-1])[::-1]
    mean_below = np.cumsum(weights * values) / below
    mean_above = (np.cumsum((weights * values)[::-1]) / above[::-1])[::-1]
    apart = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:]) ** 2
    return _item(values[np.argmax(apart)])


def yen(counts: Counts, values: HostArray) -> float:
    """Find Yen's threshold, which maximizes a correlation criterion.

    Parameters
    ----------
    counts : (V,) array of int64
    values : (V,) array

    Returns
    -------
    float
        The largest value of the lower class.

    Notes
    -----
    J.-C. Yen, F.-J. Chang and S. Chang, IEEE Trans. Image Process. 4 (1995) 370-378.
    """
    weights = counts.astype(np.float32)
    share = weights / weights.sum()
    below = np.cumsum(share)
    squares_below, squares_above = np.cumsum(share**2), np.cumsum(share[::-1] ** 2)[::-1]
    criterion = np.log(
        ((squares_below[:-1] * squares_above[1:]) ** -1) * (below[:-1] * (1.0 - below[:-1])) ** 2
    )
    return _item(values[criterion.argmax()])


def isodata(counts: Counts, values: HostArray) -> float:
    """Find the lowest threshold halfway between the means of the two classes.

    Parameters
    ----------
    counts : (V,) array of int64
    values : (V,) array

    Returns
    -------
    float
        The largest value of the lower class.

    Notes
    -----
    T. W. Ridler and S. Calvard, IEEE Trans. Sys., Man., Cyber. 8 (1978) 630-632. Where float32
    is too coarse for the counts, so that scikit-image finds none, sums run in float64.
    """
    for precision in (np.float32, np.float64):
        weights = counts.astype(precision)
        below = np.cumsum(weights)
        above = below[-1] - below
        total = np.cumsum(weights * values)
        lower = total[:-1] / below[:-1]
        higher = (total[-1] - total[:-1]) / above[:-1]
        distance = (lower + higher) / 2.0 - values[:-1]
        found = np.flatnonzero((distance >= 0) & (distance < values[1] - values[0]))
        if len(found):
            return _item(values[found[0]])
    return _item(values[np.abs(distance).argmin()])


def triangle(counts: Counts, values: HostArray) -> float:
    """Find the value farthest below the line from the peak to the end of the longer tail.

    Parameters
    ----------
    counts : (V,) array of int64
    values : (V,) array

    Returns
    -------
    float

    Notes
    -----
    G. W. Zack, W. E. Rogers and S. A. Latt, J. Histochem. Cytochem. 25 (1977) 741-753.
    """
    peak = int(np.argmax(counts))
    flipped = peak < len(counts) - 1 - peak  # the longer tail is on the right
    if flipped:
        counts, values = counts[::-1], values[::-1]
        peak = len(counts) - 1 - peak
    height, width = counts[peak], peak
    norm = np.sqrt(height**2 + width**2)
    distance = height / norm * np.arange(width) - width / norm * counts[:width]
    return _item(values[np.argmax(distance)])


def minimum(counts: Counts, values: HostArray) -> float:
    """Find the minimum between the two peaks of a histogram, which is smoothed until it has two.

    Parameters
    ----------
    counts : (V,) array of int64
    values : (V,) array

    Returns
    -------
    float

    Raises
    ------
    NoThresholdError
        If the histogram never has two peaks. scikit-image raises RuntimeError.

    Notes
    -----
    J. M. S. Prewitt and M. L. Mendelsohn, Ann. N. Y. Acad. Sci. 128 (1966) 1035-1053.
    """
    from scipy.ndimage import uniform_filter1d

    smooth = counts.astype(np.float32)
    for _ in range(ROUNDS - 1):
        smooth = uniform_filter1d(smooth, 3)
        peaks = _peaks(smooth)
        if len(peaks) < 3:
            break
    if len(peaks) != 2:
        message = (
            "threshold='minimum' needs an image whose histogram has two peaks; "
            f"got one with {len(peaks)}. Pass another method, such as 'otsu', or a number."
        )
        raise NoThresholdError(message)
    first, last = peaks
    return _item(values[first + np.argmin(smooth[first : last + 1])])


def li(counts: Counts, values: HostArray) -> float:
    """Find Li's threshold, which minimizes the cross entropy of an image and its class means.

    Parameters
    ----------
    counts : (V,) array of int64
    values : (V,) array of integer
        Evenly spaced by 1.

    Returns
    -------
    float
        Seldom a whole number.

    Notes
    -----
    C. H. Li and P. K. S. Tam, Pattern Recognit. Lett. 19 (1998) 771-776.
    """
    offsets = values - values[0]
    weights = counts.astype(np.float32)

    def means(threshold: float) -> tuple[float, float]:
        above = offsets > threshold
        return (
            np.average(offsets[~above], weights=weights[~above]),
            np.average(offsets[above], weights=weights[above]),
        )

    start = int(np.dot(counts, offsets)) / int(counts.sum())
    return _item(descend(start, 0.5, means) + values[0])


def li_of_floats(pixels: HostArray) -> float:
    """Find Li's threshold in an image of floats, without a histogram.

    Parameters
    ----------
    pixels : (P,) array of float32 or float64
        Finite, at least two different ones, in the raster order of the image. Overwritten.

    Returns
    -------
    float
    """
    lowest = _number(pixels.min())
    pixels -= lowest
    gaps = np.diff(np.sort(pixels))
    tolerance = _number(gaps[gaps > 0].min()) / 2
    del gaps

    def means(threshold: float) -> tuple[float, float]:
        above = pixels > threshold
        if not above.any():  # the threshold was rounded up to the brightest pixel
            return _number(np.mean(pixels)), pixels.dtype.type(0)
        return _number(np.mean(pixels[~above])), _number(np.mean(pixels[above]))

    return _item(descend(_number(np.mean(pixels)), tolerance, means) + lowest)


def descend(start: float, tolerance: float, means: Callable[[float], tuple[float, float]]) -> float:
    """Iterate Li's threshold until it converges, or repeats.

    Parameters
    ----------
    start : float
        First threshold, positive.
    tolerance : float
        A step that is not longer is the last.
    means : callable
        Takes a threshold and returns the mean of the pixels up to it and of those above.

    Returns
    -------
    float
    """
    current, following, seen = -2 * tolerance, start, set()
    while abs(following - current) > tolerance and following not in seen:
        seen.add(following)
        current = following
        dark, bright = means(current)
        if dark == 0 or bright == 0:
            break
        following = (dark - bright) / (np.log(dark) - np.log(bright))
    return following


CRITERIA: dict[str, Criterion] = {
    "otsu": otsu,
    "li": li,
    "triangle": triangle,
    "yen": yen,
    "isodata": isodata,
    "minimum": minimum,
}


def _peaks(heights: NDArray[np.float32]) -> NDArray[np.intp]:
    """List the peaks of a histogram; the peak of a plateau is at its end."""
    steps = np.diff(heights)
    moves = np.flatnonzero(steps)
    falls = steps[moves] < 0
    return moves[falls & np.concatenate([[True], ~falls[:-1]])] if len(moves) else moves


def _number(array: Array) -> Any:
    """Bring a number to the host, in its type."""
    return fetch(array)[()]


def _item(number: Any) -> float:
    """Turn a number of NumPy into one of Python, which compares as the image's type does."""
    item: float = number.item() if hasattr(number, "item") else number
    return item
