"""Features of a labels layer: measurements that are added, and objects that are kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.devices import threads
from equilabel.storage.table import columns_of, find_objects, labels_of, numeric_columns
from equilabel.widget.napari_types import Table

INTENSITY = "intensity"  # prefix of columns of gray values

Ranges = Mapping[str, tuple[float, float]]
"""The smallest and largest value that are kept, by column; infinite for no limit."""


def own_columns(features: Table, made: Mapping[str, Any]) -> list[str]:
    """List the columns of a labels layer that were not measured by equilabel."""
    known = {"index", *column_types(made)}
    return [str(name) for name in features.columns if str(name) not in known]


def column_types(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of the columns that equilabel measured."""
    return {**made.get("columns", {}), **made.get("measured", {}).get("columns", {})}


def merge_measurements(
    features: Table, made: Mapping[str, Any], outcome: Any
) -> tuple[Table, dict[str, Any]]:
    """Add the outcome of `measure_source` to the features of a labels layer, and to its metadata.

    There is a row for each measured label. A column of the same name is replaced, unless it has
    gray values of another image: then the name of that image is added to the new one. All other
    columns are kept, by label. New columns come last.
    """
    image, new, earlier = outcome.metadata["intensity"], outcome.features, made.get("measured", {})
    images = {name: made["image"] for name in made.get("columns", ()) if _is_gray(name)}
    images |= earlier.get("images", {})
    names = {
        name: f"{name} [{image}]"
        if _is_gray(name) and name in features and images.get(name, image) != image
        else name
        for name in map(str, new.columns)
    }
    new = new.rename(columns=names)
    old = features[[name for name in columns_of(features) if name not in new]]
    old = old.set_axis(labels_of(features), axis=0)
    old = old[~old.index.duplicated()].reindex(labels_of(new)).set_axis(new.index, axis=0)
    measured = {
        **outcome.metadata,
        "columns": earlier.get("columns", {})
        | {names.get(name, name): kind for name, kind in outcome.metadata["columns"].items()},
        "images": {**images, **{name: image for name in names.values() if _is_gray(name)}},
    }
    table, order = old.join(new), dict.fromkeys([*features.columns, *new.columns])
    return table[[name for name in order if name in table]], measured


def _is_gray(name: str) -> bool:
    return name.startswith(INTENSITY) or "weighted" in name


def find_kept(features: Table, ranges: Ranges) -> HostArray:
    """Return which rows are objects within all ranges; those with missing values are not."""
    columns, kept = numeric_columns(features), find_objects(features)
    for name, (low, high) in ranges.items():
        kept &= (columns[name] >= low) & (columns[name] <= high)
    return kept


def keep_objects(labels: Array, features: Table, kept: HostArray) -> tuple[HostArray, Table]:
    """Drop all objects except those of the rows that are kept, and number these from 1.

    Returns labels of the same shape and type, and their features, in which "label_before" is the
    previous label of an object.
    """
    from skimage.util import map_array

    before, pixels = labels_of(features), np.asarray(labels)
    chosen = np.sort(before[kept]).astype(pixels.dtype)
    numbers = np.arange(1, len(chosen) + 1, dtype=pixels.dtype)
    fewer = np.empty(pixels.shape, pixels.dtype)
    cuts = threads.ranges(len(pixels), pixels.size, fine=True)
    threads.each(lambda a, b: map_array(pixels[a:b], chosen, numbers, out=fewer[a:b]), cuts)
    rows = features.iloc[np.concatenate([[0], np.flatnonzero(kept)])].reset_index(drop=True)
    if kept.size and before[0] != 0:
        rows.iloc[0] = np.nan
    rows = rows.drop(columns="index", errors="ignore")  # row i is label i now
    if "label_before" not in rows:
        rows["label_before"] = np.concatenate([[np.nan], before[kept]])
    return fewer, rows


def limits(values: HostArray) -> tuple[float, float]:
    """Return the range of most values, 1st to 99th percentile, or of all if these are few."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, (1, 99)) if known.size >= 100 else (known.min(), known.max())
    if not low < high:
        low, high = known.min(), known.max()
    return float(low), float(high)
