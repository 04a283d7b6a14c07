"""Select objects by ranges of their measurements, and keep only those."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .features import as_features, as_table, labels_of, numeric_columns, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from equilabel import Segmentation
    from equilabel.array_types import Array, HostArray


class Range(NamedTuple):
    """A column and the range of values that are kept, including both ends."""

    column: str
    low: float = -np.inf
    high: float = np.inf


def find_objects(
    features: pd.DataFrame, columns: Mapping[str, HostArray] | None = None
) -> HostArray:
    """Return which rows are objects: not the background, and not labels without pixels.

    The numeric `columns` of the features may be given if they are known.
    """
    rows = labels_of(features) != 0
    columns = numeric_columns(features) if columns is None else columns
    known = np.zeros(len(features), np.bool_)
    for column in columns.values():
        known |= ~np.isnan(column)
        if np.count_nonzero(known) >= len(known) - 1:  # all but the background
            break
    return np.asarray(rows & known) if columns else np.asarray(rows)


def find_kept(
    features: pd.DataFrame,
    ranges: Sequence[Range],
    columns: Mapping[str, HostArray] | None = None,
) -> HostArray:
    """Return which rows are objects within all ranges. Missing values are outside of any range."""
    columns = numeric_columns(features) if columns is None else columns
    kept = find_objects(features, columns)
    for name, low, high in ranges:
        kept &= (columns[name] >= low) & (columns[name] <= high)
    return kept


def keep(
    found: Segmentation, ranges: Mapping[str, tuple[float | None, float | None]]
) -> Segmentation:
    """Keep the objects of a segmentation within ranges, as the filter of the form does.

    Parameters
    ----------
    found : equilabel.Segmentation
    ranges : mapping of str to (float or None, float or None)
        Column to the least and the greatest value that are kept; None for no limit.

    Returns
    -------
    equilabel.Segmentation
        Objects are numbered from 1 again; "label_before" is the number an object had.

    Examples
    --------
    >>> import equilabel
    >>> found = equilabel.segment(np.array([[9, 9, 0, 9]]), threshold=5)
    >>> keep(found, {"area": (None, 1.5)}).table[["label", "area", "label_before"]].values.tolist()
    [[1.0, 1.0, 2.0]]
    """
    features, _ = as_features(found.table)
    chosen = [
        Range(name, -np.inf if low is None else low, np.inf if high is None else high)
        for name, (low, high) in ranges.items()
    ]
    labels, rows = keep_objects(found.labels, features, find_kept(features, chosen))
    table = as_table(rows, [*whole(found.table), "label_before"])
    return replace(found, labels=labels, table=table, num=len(table))


def keep_objects(
    labels: Array, features: pd.DataFrame, kept: HostArray
) -> tuple[HostArray, pd.DataFrame]:
    """Drop all objects but those of the rows that are kept, and number these from 1.

    Returns labels of the same shape and type, and their features, in which "label_before" is the
    number an object had.
    """
    before = labels_of(features)
    chosen = np.sort(before[kept])
    pixels = np.asarray(labels)
    last = int(pixels.max(initial=0))
    if last <= 4 * pixels.size:
        order = np.zeros(last + 1, pixels.dtype)
        order[chosen] = np.arange(1, len(chosen) + 1)
        fewer = order[pixels]
    else:  # few labels with huge numbers
        place = np.searchsorted(chosen, pixels)
        fewer = np.where(np.isin(pixels, chosen), place + 1, 0).astype(pixels.dtype)
    rows = features.iloc[np.concatenate([[0], np.flatnonzero(kept)])].reset_index(drop=True)
    if kept.size and before[0] != 0:
        rows.iloc[0] = np.nan
    rows = rows.drop(columns="index", errors="ignore")  # row i is label i now
    if "label_before" not in rows:
        rows["label_before"] = np.concatenate([[np.nan], before[kept]])
    return fewer, rows
