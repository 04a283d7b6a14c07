"""The objects of a layer as a person reads them: rows of a table, numbers and results in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import equilabel
from equilabel.array_types import HostArray
from equilabel.quantities import derived_unit
from equilabel.widget.napari_types import Table

from .features import find_objects, labels_of

INDEX = "Index"


@dataclass(frozen=True, eq=False)
class ObjectTable:
    """The objects of a labels layer: names, tool tips and values of columns, labels first."""

    headers: tuple[str, ...] = (INDEX,)
    hints: tuple[str, ...] = ("",)
    columns: tuple[HostArray, ...] = (np.zeros(0, np.int64),)

    def text(self, row: int, column: int) -> str:
        """Return what a cell shows; nothing for a missing value."""
        value = self.columns[column][row]
        if self.columns[column].dtype.kind != "f":
            return str(value)
        return "" if np.isnan(value) else format_number(float(value))

    def order(self, column: int, *, descending: bool) -> HostArray:
        """Return the rows sorted by a column; missing values come last."""
        values = self.columns[column]
        if values.dtype.kind not in "biuf":
            values = values.astype(str)
        rows = np.argsort(values, kind="stable")
        known = ~np.isnan(values[rows]) if values.dtype.kind == "f" else np.ones(len(rows), bool)
        return np.concatenate([rows[known][::-1] if descending else rows[known], rows[~known]])


def show_objects(features: Table, made: Mapping[str, Any]) -> ObjectTable:
    """Return what the table of a labels layer shows, of which our metadata are `made`."""
    kept = find_objects(features)
    names = [str(name) for name in features.columns if name not in ("index", "label")]
    names.sort(key=lambda name: name.startswith("bbox"))
    columns = [labels_of(features), *(features[name].to_numpy() for name in names)]
    return ObjectTable(
        headers=(INDEX, *(_header(name, made.get("measured", made)) for name in names)),
        hints=("Label of the object.", *map(_describe, names)),
        columns=tuple(each[kept] for each in columns),
    )


def _header(column: str, made: Mapping[str, Any]) -> str:
    spacing = made.get("spacing", ())
    name, *indices = column.split("-")
    unit = made.get("unit") or ("px" if spacing and set(spacing) == {1.0} else "")
    kind = equilabel.PROPERTIES[name].unit if name in equilabel.PROPERTIES else ""
    word = derived_unit(kind, len(spacing), unit, indices)
    return f"{column} [{word}]" if word else column


def _describe(column: str) -> str:
    """Return what a column is; nothing for those of a person."""
    if column == "label_before":
        return "Label of the object before others were dropped."
    row = equilabel.PROPERTIES.get(column.split("-")[0].split(" ")[0])
    return "" if row is None else row.summary


def format_number(value: float) -> str:
    """Return a number in few digits."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e7 else f"{value:.4g}"


def count_objects(count: int) -> str:
    """Return a number of objects in words."""
    return f"{count} object{'' if count == 1 else 's'}"


def summarize(features: Table, made: Mapping[str, Any]) -> str:
    """Return a line about a labels layer: how many objects, and how a run of ours found them."""
    words = count_objects(int(find_objects(features).sum()))
    if made.get("kind") != "segment":
        return words if len(features) else "Not measured yet."
    threshold = made["threshold"]
    if threshold is None:
        level = "local threshold"
    elif isinstance(threshold, tuple):
        level = "thresholds " + " and ".join(map(format_number, threshold))
    else:
        method = made["parameters"].get("threshold", "otsu")
        found = f" ({method})" if isinstance(method, str) else ""
        level = f"threshold {format_number(threshold)}{found}"
    return f"{words}, {level}, {made['seconds']:.2f} s by {made['method']} on {made['device']}."
