"""Colors of objects, by a column of their table or by selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.widget.napari_types import LabelColors

STEPS = 254  # colors of a scale; with those for missing values and background, 8 bits hold all
MISSING = (0.5, 0.5, 0.5, 0.35)
CLEAR = (0.0, 0.0, 0.0, 0.0)


def limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return limits for a color scale: the 1st and 99th percentile, or the range of few values.

    Examples
    --------
    >>> limits(np.array([np.nan, 1.0, 5.0]))
    (1.0, 5.0)
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, (1, 99)) if known.size >= 100 else (known.min(), known.max())
    if not low < high:
        low, high = known.min(), known.max()
    return float(low), float(high)


def color_indices(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """Return the index of each value on the color scale.

    Parameters
    ----------
    values : (N,) array
    low, high : float
        Ends of the scale; values beyond them get the color of the end.

    Returns
    -------
    (N,) array of int64
        0 to `STEPS` - 1, and -1 for missing values.

    Examples
    --------
    >>> color_indices(np.array([0.0, 5.0, 10.0, 99.0, np.nan]), 0, 10)
    array([  0, 127, 253, 253,  -1])
    """
    width = high - low
    share = (values - low) / width if width > 0 else np.where(np.isnan(values), np.nan, 0.5)
    index = np.clip(np.nan_to_num(np.clip(share, 0, 1)) * STEPS, 0, STEPS - 1).astype(np.int64)
    index[np.isnan(values)] = -1
    return np.asarray(index)


def colors_by_value(
    labels: NDArray[np.int64],
    values: NDArray[np.float64],
    low: float,
    high: float,
    scale: NDArray[np.float64],
) -> LabelColors:
    """Give each label the color of its value.

    Parameters
    ----------
    labels : (N,) array of int
    values : (N,) array of float
        Of each label.
    low, high : float
        Ends of the scale.
    scale : (STEPS, 4) array
        Colors from low to high.

    Returns
    -------
    dict
        Label to color. Background is transparent; labels without a value or a row are gray.
    """
    missing = np.array(MISSING)
    palette = [*scale, missing]
    indices = color_indices(values, low, high).tolist()
    colors: LabelColors = dict(
        zip(labels.tolist(), (palette[index] for index in indices), strict=True)
    )
    colors[0] = np.array(CLEAR)
    colors[None] = missing
    return colors
