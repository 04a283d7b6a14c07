"""Units of the columns of a table, and summaries of columns for a whole image."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import PROPERTIES, regionprops_table
from equilabel.quantities import derived_unit

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    import pandas as pd

    from equilabel.array_types import HostArray

    from .records import Record

PIXEL = "px"  # unit of lengths if the pixel size is unknown
INTENSITY = re.compile(r"intensity_mean(-\d+)?")
TOTALED = ("area", "volume", "num_pixels")


def column_units(columns: Iterable[Hashable], rank: int, unit: str) -> dict[str, str]:
    """Return the units of columns by name; columns without a unit are left out.

    `rank` is the number of spatial axes, `unit` the unit of lengths.

    >>> column_units(["label", "area", "centroid-0", "orientation"], 2, "µm")
    {'area': 'µm²', 'centroid-0': 'µm', 'orientation': 'rad'}
    """
    units = ((name, _unit(name, rank, unit)) for name in map(str, columns))
    return {name: word for name, word in units if word}


@cache
def _unit(column: str, rank: int, unit: str) -> str:
    name, *numbers = column.split("-")
    kind = PROPERTIES[name].unit if name in PROPERTIES else ""
    return derived_unit(kind, rank, unit, numbers)


def lengths(record: Record) -> str:
    """Return the unit of lengths in the table of an image; "" if unknown."""
    return record.unit if record.spacing else PIXEL


def summarize(table: Mapping[str, HostArray] | pd.DataFrame) -> dict[str, float | None]:
    """Return mean sizes, total sizes and mean intensities of the objects in a table.

    Means give each object the same weight; they are None if there are no values.

    >>> summarize({"label": np.array([1, 2]), "area": np.array([4.0, 6.0])})
    {'area_mean': 5.0, 'area_total': 10.0}
    """
    found: dict[str, float | None] = {}
    columns: Any = table
    for name in columns:
        total = name in TOTALED
        if not (total or INTENSITY.fullmatch(str(name))):
            continue
        values = np.asarray(columns[name])
        if total:
            found[f"{name}_mean"] = _mean(values)
            found[f"{name}_total"] = _finite(values.sum())
        else:
            found[str(name)] = _mean(values)
    return found


def summarize_frames(table: pd.DataFrame, labels: Any) -> Iterator[dict[str, Any]]:
    """Yield the number, the count of objects and the result of `summarize` for each frame.

    `labels` may be a Zarr array; it is read frame by frame, and only if the table has no column
    "frame".
    """
    if "frame" in table:
        frames = table["frame"].to_numpy()
    else:
        each = (np.asarray(labels[number]) for number in range(labels.shape[0]))
        counts = [len(regionprops_table(frame, properties=("label",))["label"]) for frame in each]
        frames = np.repeat(np.arange(len(counts)), counts)
    order = np.argsort(frames, kind="stable")  # labels made elsewhere may have any order
    table = table.iloc[order]
    edges = np.searchsorted(frames[order], np.arange(labels.shape[0] + 1))
    for number, (start, end) in enumerate(pairwise(edges)):
        part = table.iloc[start:end]
        yield {"frame": number, "objects": len(part), **summarize(part)}


def _mean(values: HostArray) -> float | None:
    values = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return _finite(values.mean()) if values.size else None


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
