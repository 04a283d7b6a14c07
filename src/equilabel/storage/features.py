"""Tables of objects as features of a labels layer of napari."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SPARSE = 8  # labels per object from which on features have rows for objects only


def as_features(table: pd.DataFrame) -> pd.DataFrame:
    """Convert a table of objects to features of their labels layer.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column "label", in ascending order.

    Returns
    -------
    pandas.DataFrame
        Columns of floats, or words; in rows without an object NaN or no words. Row i is label i,
        where napari looks for it, and row 0 the background. If most labels do not occur, only
        those that occur get rows, and a column "index" has them.

    Examples
    --------
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
