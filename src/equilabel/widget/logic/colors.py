"""Colors of objects, by a column of their table."""

from typing import Any

import numpy as np

from equilabel.array_types import HostArray

STEPS = 254  # colors of a scale; with those for missing values and background, 8 bits hold all
MISSING = (0.5, 0.5, 0.5, 0.35)
CLEAR = (0.0, 0.0, 0.0, 0.0)


def limits(values: HostArray) -> tuple[float, float]:
    """Return limits for a color scale: the 1st and 99th percentile, or the range of few values."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, (1, 99)) if known.size >= 100 else (known.min(), known.max())
    if not low < high:
        low, high = known.min(), known.max()
    return float(low), float(high)


def color_indices(values: HostArray, low: float, high: float) -> HostArray:
    """Return the place of each value on the scale, 0 to `STEPS` - 1, and -1 for missing values."""
    width = high - low
    share = (values - low) / width if width > 0 else np.where(np.isnan(values), np.nan, 0.5)
    index = np.clip(np.nan_to_num(np.clip(share, 0, 1)) * STEPS, 0, STEPS - 1).astype(np.int64)
    index[np.isnan(values)] = -1
    return np.asarray(index)


def colors_by_value(
    labels: HostArray, values: HostArray, low: float, high: float, scale: HostArray
) -> dict[int | None, Any]:
    """Give each label the color of its value on a scale from low to high.

    Background is transparent; labels without a value or a row are gray.
    """
    missing = np.array(MISSING)
    palette = [*scale, missing]
    colored = (palette[index] for index in color_indices(values, low, high).tolist())
    colors: dict[int | None, Any] = dict(zip(labels.tolist(), colored, strict=True))
    return colors | {0: np.array(CLEAR), None: missing}
