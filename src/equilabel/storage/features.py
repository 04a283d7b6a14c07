"""Convert tables of objects to features of a napari labels layer, and back.

napari finds the row of an object by position: row i is label i, and row 0 is the background. If
there is a column "index", it has the labels of the rows instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

NO_TYPES: Mapping[str, Any] = {}
SPARSE = 8  # features have rows for objects only if labels per object exceed this


def as_features(table: pd.DataFrame) -> pd.DataFrame:
    """Convert a table with an ascending column "label" to features of its labels layer.

    Columns are floats or text; rows without an object have NaN or "". Row i is label i and row 0
    the background. If most labels do not occur, only those that occur have rows, and a column
    "index" has their labels.

    >>> import pandas as pd
    >>> as_features(pd.DataFrame({"label": [1, 3], "area": [4, 9]}))["area"].tolist()
    [nan, 4.0, nan, 9.0]
    """
    labels = table["label"].to_numpy()
    last = int(labels[-1]) if len(labels) else 0
    dense = last <= SPARSE * (len(labels) + 128)
    rows = np.arange(last + 1) if dense else np.concatenate([[0], labels])
    values = table.set_index("label")
    words = {name: "" for name in values if values[name].dtype.kind == "O"}
    numbers = dict.fromkeys(values.columns.drop([*words]), np.float64)
    features = values.astype(numbers).reindex(rows).fillna(words).reset_index(drop=True)
    if not dense:
        features.insert(0, "index", rows)
    return features


def as_table(features: pd.DataFrame, types: Mapping[str, Any] = NO_TYPES) -> pd.DataFrame:
    """Convert features of a labels layer to a table with a row for each object.

    The first column is "label". `types` are the original types of columns, which are restored
    unless values are missing.

    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"area": [np.nan, 4, np.nan, 9]}), {"area": int}).values.tolist()
    [[1, 4], [3, 9]]
    """
    kept = find_objects(features)
    table = features.loc[kept, columns_of(features)].reset_index(drop=True)
    table.insert(0, "label", labels_of(features)[kept])
    complete = table.columns[table.notna().all()]
    return table.astype({name: types[name] for name in complete if name in types})


def labels_of(features: pd.DataFrame) -> NDArray[np.int64]:
    """Return the label of each row."""
    if "index" in features:
        return features["index"].to_numpy().astype(np.int64)
    return np.arange(len(features))


def find_objects(features: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows are objects: not the background, and not labels without values.

    >>> import pandas as pd
    >>> find_objects(pd.DataFrame({"area": [np.nan, 4, np.nan, 9]})).tolist()
    [False, True, False, True]
    """
    rows = np.asarray(labels_of(features) != 0)
    missing = [np.isnan(column) for column in numeric_columns(features).values()]
    return rows & ~np.logical_and.reduce(missing) if missing else rows


def numeric_columns(features: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return numeric columns except labels as arrays of floats, by name."""
    return {
        str(name): features[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in columns_of(features)
        if features[name].dtype.kind in "biuf"
    }


def columns_of(features: pd.DataFrame) -> list[str]:
    """List the measured columns, without those of labels."""
    return [name for name in features.columns if name not in ("index", "label")]
