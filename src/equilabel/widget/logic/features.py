"""Tables of objects as features of a labels layer, and back.

napari finds the row of an object by position: row i is label i, and row 0 is the background.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

SPARSE = 8  # labels per object from which on features have rows for objects only


def as_features(table: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Convert a table of objects to features of their labels layer.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column "label", ascending.

    Returns
    -------
    features : pandas.DataFrame
        The columns of the table as floats; NaN in rows without an object, and
        no words in columns of words.
    dense : bool
        Whether row i is label i. If most labels do not occur, only those that occur get rows, and
        a column "index" with the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> features, _ = as_features(pd.DataFrame({"label": [1, 3], "area": [7.0, 9.0]}))
    >>> features["area"].tolist()
    [nan, 7.0, nan, 9.0]
    """
    import pandas as pd

    labels = table["label"].to_numpy()
    last = int(labels[-1]) if len(labels) else 0
    dense = last <= SPARSE * (len(labels) + 128)
    rows = np.arange(last + 1) if dense else np.concatenate([[0], labels])
    places = labels if dense else np.arange(1, len(rows))
    columns: dict[str, Any] = {} if dense else {"index": rows}
    for name in table.columns:
        if name != "label":
            words = table[name].dtype.kind == "O"
            column = np.full(len(rows), "" if words else np.nan, dtype=object if words else None)
            column[places] = table[name]
            columns[str(name)] = column
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows))), dense


def whole(table: pd.DataFrame) -> list[str]:
    """List the columns of integers, which are floats in features."""
    return [str(name) for name in table.columns if table[name].dtype.kind in "iu"]


def as_table(features: pd.DataFrame, counting: Iterable[str] = ()) -> pd.DataFrame:
    """Convert the features of a labels layer back to a table of objects.

    Parameters
    ----------
    features : pandas.DataFrame
        As `as_features` makes them, or of any labels layer.
    counting : iterable of str
        Columns to convert back to integers.

    Returns
    -------
    pandas.DataFrame
        A row for each object; rows of the background and of labels that do not occur are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"label": [1, 3], "num_pixels": [7, 9]})
    >>> as_table(as_features(table)[0], whole(table)).equals(table)
    True
    """
    import pandas as pd

    labels = labels_of(features)
    values = features.drop(columns=[name for name in ("index", "label") if name in features])
    kept = labels != 0
    if len(values.columns):
        kept &= values.replace("", np.nan).notna().any(axis=1).to_numpy()
    table = pd.DataFrame({"label": labels[kept]})
    for name in values.columns:
        column = values[name][kept].reset_index(drop=True)
        exact = name in set(counting) and not column.isna().any()
        table[name] = column.astype(np.int64) if exact else column
    return table


def numeric_columns(features: pd.DataFrame) -> dict[str, Any]:
    """Return the numeric columns as arrays of floats by name."""
    return {
        str(name): features[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in features.columns
        if name not in ("index", "label") and features[name].dtype.kind in "biuf"
    }


def labels_of(features: pd.DataFrame) -> Any:
    """Return the label of each row."""
    if "index" in features:
        return features["index"].to_numpy().astype(np.int64)
    return np.arange(len(features))
