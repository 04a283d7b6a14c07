"""The objects of a layer as text: rows of a table, numbers and results."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import equilabel
from equilabel.quantities import derived_unit
from equilabel.storage.table import as_table, find_objects
from equilabel.widget.napari_types import Table


def show_objects(features: Table, made: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """Return the table to show for a labels layer, and descriptions of its columns.

    `made` is our metadata of the layer.
    """
    table = as_table(features)
    names = sorted(map(str, table.columns), key=lambda name: name.startswith("bbox"))
    headers = [heading(name, made) for name in names]
    return table[names].set_axis(headers, axis=1), [_describe(name) for name in names]


def sort_objects(table: Table, column: int, *, descending: bool) -> Table:
    """Sort the rows of a table by a column; missing values come last."""
    values = table.iloc[:, column]
    values = values if values.dtype.kind in "biuf" else values.astype(str)
    return table.loc[values.sort_values(ascending=not descending, kind="stable").index]


def heading(column: str, made: Mapping[str, Any]) -> str:
    """Return the name of a column with its unit, from our metadata of the layer, `made`."""
    made = made.get("measured", made)
    if column == "label":
        return "Index"
    spacing = made.get("spacing", ())
    name, *indices = column.split("-")
    unit = made.get("unit") or ("px" if spacing and set(spacing) == {1.0} else "")
    kind = equilabel.PROPERTIES[name].unit if name in equilabel.PROPERTIES else ""
    word = derived_unit(kind, len(spacing), unit, indices)
    return f"{column} [{word}]" if word else column


def _describe(column: str) -> str:
    """Return the description of a column; "" for columns that equilabel did not measure."""
    if column == "label_before":
        return "Label of the object before others were dropped."
    row = equilabel.PROPERTIES.get(column.split("-")[0].split(" ")[0])
    return "" if row is None else row.summary


def format_value(value: Any) -> str:
    """Return the text of a cell of a table; "" for a missing value."""
    if not isinstance(value, float):
        return str(value)
    return "" if np.isnan(value) else format_number(value)


def format_number(value: float) -> str:
    """Return a number with few digits."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e7 else f"{value:.4g}"


def count_objects(count: int) -> str:
    """Return a number of objects as text."""
    return f"{count} object{'' if count == 1 else 's'}"


def summarize(features: Table, made: Mapping[str, Any]) -> str:
    """Return a line about a labels layer: how many objects it has, and how a run found them."""
    words = count_objects(int(find_objects(features).sum()))
    if made.get("kind") != "segment":
        return words if len(features) else "Not measured yet."
    threshold = made["threshold"]
    if threshold is None:
        level = "local threshold"
    elif isinstance(threshold, tuple):
        level = "thresholds " + " and ".join(map(format_number, threshold))
    elif not np.isfinite(threshold):
        level = "no threshold"
    else:
        method = made["parameters"].get("threshold", "otsu")
        found = f" ({method.capitalize()})" if isinstance(method, str) else ""
        found = ", then one for each object" if method == "per_object" else found
        level = f"threshold {format_number(threshold)}{found}"
    where = "" if made["device"] == "cpu" else " on the GPU"
    return f"{words}, {level}, {made['seconds']:.2f} s{where}."
