"""Select objects of a labels layer by ranges of their measurements, and keep only those."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.widget.napari_types import Table

from .features import find_objects, labels_of, numeric_columns


class Range(NamedTuple):
    """A column and the range of values that are kept, including both ends."""

    column: str
    low: float = -np.inf
    high: float = np.inf


def find_kept(features: Table, ranges: Sequence[Range]) -> HostArray:
    """Return which rows are objects within all ranges. Missing values are outside of any range."""
    columns, kept = numeric_columns(features), find_objects(features)
    for name, low, high in ranges:
        kept &= (columns[name] >= low) & (columns[name] <= high)
    return kept


def keep_objects(labels: Array, features: Table, kept: HostArray) -> tuple[HostArray, Table]:
    """Drop all objects but those of the rows that are kept, and number these from 1.

    Returns labels of the same shape and type, and their features, in which "label_before" is the
    number an object had.
    """
    from skimage.util import map_array

    before, pixels = labels_of(features), np.asarray(labels)
    chosen = np.sort(before[kept]).astype(pixels.dtype)
    fewer = map_array(pixels, chosen, np.arange(1, len(chosen) + 1, dtype=pixels.dtype))
    rows = features.iloc[np.concatenate([[0], np.flatnonzero(kept)])].reset_index(drop=True)
    if kept.size and before[0] != 0:
        rows.iloc[0] = np.nan
    rows = rows.drop(columns="index", errors="ignore")  # row i is label i now
    if "label_before" not in rows:
        rows["label_before"] = np.concatenate([[np.nan], before[kept]])
    return np.asarray(fewer), rows


def limits(values: HostArray) -> tuple[float, float]:
    """Return the range of most values: 1st to 99th percentile, or from least to greatest of few."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, (1, 99)) if known.size >= 100 else (known.min(), known.max())
    if not low < high:
        low, high = known.min(), known.max()
    return float(low), float(high)
