"""Features of a labels layer: its objects, their table, and what was measured later.

napari finds the row of an object by position: row i is label i, and row 0 is the background.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from equilabel.array_types import HostArray
from equilabel.widget.napari_types import Table

INTENSITY = "intensity"  # how columns of gray values begin


def whole(table: Table) -> list[str]:
    """List the columns of integers, which are floats in features."""
    return [str(name) for name in table.columns if table[name].dtype.kind in "iu"]


def as_table(features: Table, counting: Iterable[str] = ()) -> Table:
    """Convert the features of a labels layer back to a table with a row for each object.

    Rows of the background and of labels that do not occur are left out; the columns that are
    `counting` become integers.
    """
    kept = find_objects(features)
    table = features.loc[kept, _columns(features)].reset_index(drop=True)
    table.insert(0, "label", labels_of(features)[kept])
    exact = [name for name in counting if name in table and not table[name].isna().any()]
    return table.astype(dict.fromkeys(exact, np.int64))


def numeric_columns(features: Table) -> dict[str, Any]:
    """Return the numeric columns as arrays of floats by name."""
    return {
        str(name): features[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in _columns(features)
        if features[name].dtype.kind in "biuf"
    }


def _columns(features: Table) -> list[str]:
    return [name for name in features.columns if name not in ("index", "label")]


def labels_of(features: Table) -> Any:
    """Return the label of each row."""
    if "index" in features:
        return features["index"].to_numpy().astype(np.int64)
    return np.arange(len(features))


def find_objects(features: Table) -> HostArray:
    """Return which rows are objects: not the background, and not labels without pixels."""
    rows = np.asarray(labels_of(features) != 0)
    missing = [np.isnan(column) for column in numeric_columns(features).values()]
    return rows & ~np.logical_and.reduce(missing) if missing else rows


def own_columns(features: Table, made: Mapping[str, Any]) -> list[str]:
    """List the columns of a labels layer that no run of ours made."""
    known = {"index", *made.get("columns", ()), *made.get("measured", {}).get("columns", ())}
    return [str(name) for name in features.columns if str(name) not in known]


def merge_measurements(
    features: Table, made: Mapping[str, Any], outcome: Any
) -> tuple[Table, dict[str, Any]]:
    """Put the outcome of `measure_source` into the features of a labels layer, and its metadata.

    There is a row for each label that was measured. A column of the same name is replaced, unless
    it has the gray values of another image: then the name of the new one ends with that of its
    image. All other columns are kept, by label. New columns come after those that were there.
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
    old = features[[name for name in _columns(features) if name not in new]]
    old = old.set_axis(labels_of(features), axis=0)
    old = old[~old.index.duplicated()].reindex(labels_of(new)).set_axis(new.index, axis=0)
    counting = {*made.get("whole", ()), *earlier.get("whole", ())} - set(new.columns)
    measured = {
        **outcome.metadata,
        "columns": list(dict.fromkeys([*earlier.get("columns", ()), *names.values()])),
        "images": {**images, **{name: image for name in names.values() if _is_gray(name)}},
        "whole": [
            *sorted(counting),
            *(names.get(each, each) for each in outcome.metadata["whole"]),
        ],
    }
    table, order = old.join(new), dict.fromkeys([*features.columns, *new.columns])
    return table[[name for name in order if name in table]], measured


def _is_gray(name: str) -> bool:
    return name.startswith(INTENSITY) or "weighted" in name
