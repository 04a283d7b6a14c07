"""What the table of a layer shows: its objects, with units, intensities before boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel
from equilabel.quantities import derived_unit

from .features import labels_of
from .filters import find_objects
from .summary import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

INDEX = "Index"


@dataclass(frozen=True, eq=False)
class ObjectTable:
    """The objects of a labels layer, row by row.

    Attributes
    ----------
    headers, hints : tuple of str
        Name of each column with its unit, and what it is. The first column has the labels.
    columns : tuple of (N,) array
    """

    headers: tuple[str, ...] = (INDEX,)
    hints: tuple[str, ...] = ("",)
    columns: tuple[NDArray[Any], ...] = (np.zeros(0, np.int64),)

    def text(self, row: int, column: int) -> str:
        """Return what a cell shows; nothing for a missing value."""
        value = self.columns[column][row]
        if self.columns[column].dtype.kind != "f":
            return str(value)
        return "" if np.isnan(value) else format_number(float(value))

    def order(self, column: int, *, descending: bool) -> NDArray[np.int64]:
        """Return the rows sorted by a column; missing values come last."""
        values = self.columns[column]
        if values.dtype.kind not in "biuf":
            values = values.astype(str)
        rows = np.argsort(values, kind="stable")
        known = ~np.isnan(values[rows]) if values.dtype.kind == "f" else np.ones(len(rows), bool)
        return np.concatenate([rows[known][::-1] if descending else rows[known], rows[~known]])


def show_objects(features: pd.DataFrame, made: Mapping[str, Any]) -> ObjectTable:
    """Return what the table of a labels layer shows.

    Parameters
    ----------
    features : pandas.DataFrame
        Of the layer.
    made : mapping
        Our metadata of the layer.

    Examples
    --------
    >>> import pandas as pd
    >>> features = pd.DataFrame({"bbox-0": [np.nan, 3], "area": [np.nan, 7]})
    >>> found = show_objects(features, {"spacing": (0.5, 0.5), "unit": "µm"})
    >>> found.headers, found.text(0, 0), found.text(0, 1)
    (('Index', 'area [µm²]', 'bbox-0 [px]'), '1', '7')
    """
    kept = find_objects(features)
    names = [str(name) for name in features.columns if name not in ("index", "label")]
    names.sort(key=lambda name: name.startswith("bbox"))
    known = [INDEX, *(header(name, made) for name in names)]
    hints = ["Label of the object.", *(describe(name) for name in names)]
    columns = [labels_of(features), *(features[name].to_numpy() for name in names)]
    return ObjectTable(tuple(known), tuple(hints), tuple(each[kept] for each in columns))


def header(column: str, made: Mapping[str, Any]) -> str:
    """Return the name of a column with its unit, if that is known."""
    made = made.get("measured", made)
    spacing = made.get("spacing", ())
    name, *indices = column.split("-")
    plain = bool(spacing) and set(spacing) == {1.0}
    unit = made.get("unit") or ("px" if plain else "")
    kind = equilabel.PROPERTIES[name].unit if name in equilabel.PROPERTIES else ""
    word = derived_unit(kind, len(spacing), unit, indices)
    return f"{column} [{word}]" if word else column


def describe(column: str) -> str:
    """Return what a column is; nothing for those of a person."""
    if column == "label_before":
        return "Label of the object before others were dropped."
    row = equilabel.PROPERTIES.get(column.split("-")[0].split(" ")[0])
    return "" if row is None else row.summary
