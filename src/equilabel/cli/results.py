"""Results of an image: units and sums of columns, sizes, and the files that are written."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel import PROPERTIES, Segmentation, regionprops_table
from equilabel.quantities import derived_unit
from equilabel.storage.table import write_table

from .options import OME_ZARR, Options
from .records import Facts, Record, Sizes, describe_result

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from equilabel.array_types import HostArray

    from .trial import KnownAxes


INTENSITY = re.compile(r"intensity_mean(-\d+)?")
TOTALED = ("area", "volume", "num_pixels")


def column_units(columns: Iterable[Hashable], rank: int, unit: str) -> dict[str, str]:
    """Return the units of columns by name; columns without a unit are left out.

    >>> column_units(["label", "area", "centroid-0", "orientation"], 2, "µm")
    {'area': 'µm²', 'centroid-0': 'µm', 'orientation': 'rad'}
    """
    found = {}
    for column in map(str, columns):
        name, *numbers = column.split("-")
        kind = PROPERTIES[name].unit if name in PROPERTIES else ""
        if word := derived_unit(kind, rank, unit, numbers):
            found[column] = word
    return found


def summarize(table: Mapping[str, HostArray] | pd.DataFrame) -> dict[str, float | None]:
    """Return mean sizes, total sizes and mean intensities of the objects in a table.

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
    """Yield number, objects and `summarize` of each frame, of whose labels some may be on disk."""
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


BINS = 4  # bins in which a size doubles
COLUMNS = ("volume", "area", "num_pixels")


def count_sizes(table: Mapping[str, HostArray] | pd.DataFrame, units: Mapping[str, str]) -> Sizes:
    """Count the objects of a table from ``2 ** (k / BINS)`` to the next size, by k as text.

    >>> count_sizes({"area": np.array([1.0, 4.0, 4.1])}, {"area": "µm²"})
    {'of': 'area', 'unit': 'µm²', 'counts': {'0': 1, '8': 2}}
    """
    name = next((each for each in COLUMNS if each in table), "")
    if not name:
        return {}
    values = np.asarray(table[name], float)
    values = values[np.isfinite(values) & (values > 0)]
    numbers, counts = np.unique(np.floor(np.log2(values) * BINS).astype(int), return_counts=True)
    pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
    return {
        "of": name,
        "unit": units.get(name, ""),
        "counts": {str(number): count for number, count in pairs},
    }


def add_sizes(found: Iterable[Sizes]) -> dict[tuple[str, str], dict[int, int]]:
    """Add the counts of images whose sizes have the same name and unit.

    >>> each = {"of": "area", "unit": "µm²", "counts": {"8": 2}}
    >>> add_sizes([each, {}, each])
    {('area', 'µm²'): {8: 4}}
    """
    added: dict[tuple[str, str], dict[int, int]] = {}
    for each in found:
        for number, count in each.get("counts", {}).items():
            known = added.setdefault((each.get("of", ""), each.get("unit", "")), {})
            known[int(number)] = known.get(int(number), 0) + int(count)
    return added


class Made(NamedTuple):
    """A segmented image, with what is needed to write its results."""

    result: Segmentation  # its labels are not used: they may be on disk
    labels: Any  # array of int: in memory, memory-mapped, or Zarr
    shown: Any  # the labeled channel, as an array or a lazy image; None without an image
    known: KnownAxes
    interval: float | None  # seconds between frames
    # coordinate of the first pixel by axis, where it is not 0
    origin: Mapping[str, float] = MappingProxyType({})


def write_results(made: Made, own: Path, options: Options, record: Record) -> Record:
    """Write labels, table and overlay of an image, and return its completed record."""
    result, known = made.result, made.known
    paths = {
        kind: own.with_name(f"{own.name}{ending}") for kind, ending in options.endings().items()
    }
    columns = result.columns
    units = column_units(columns, len(known.axes) - known.stacked, known.length)
    write_table(paths["table"], columns, units=units if options.unit_row else None)
    if "labels" in paths:
        _write_labels(paths["labels"], made, options)
    if "overlay" in paths:
        from equilabel.storage.overlay import write_overlay

        sides = [known.spacing.get(axis, 1.0) for axis in "YX"]
        write_overlay(paths["overlay"], made.shown, made.labels, spacing=sides)
    if "outlines" in paths:
        from equilabel import write_outlines

        write_outlines(paths["outlines"], made.labels, result.table, stacked=known.stacked)
    outputs = {kind: describe_result(path, record.name) for kind, path in paths.items()}
    outputs["table"]["units"] = units
    frames = summarize_frames(result.table, made.labels) if known.stacked else ()
    return replace(
        record,
        status="done",
        spacing=known.measured,
        unit=known.unit if known.measured else "",
        statistics=summarize(columns),
        sizes=count_sizes(columns, units),
        frames=tuple(frames),
        outputs=outputs,
    )


def _write_labels(path: Path, made: Made, options: Options) -> None:
    """Write labels with their axes and pixel size, in the format of --labels-format."""
    axes = made.known
    known: Any = {"axes": axes.axes, "spacing": axes.spacing, "unit": axes.unit}
    if options.labels_format == OME_ZARR:
        from equilabel.chunked.ome_labels import write_store

        known |= {"most": int(made.result.num), "table": made.result.table, "origin": made.origin}
        write_store(path, made.labels, **known, interval=made.interval)
    else:
        from equilabel.storage.tiff import write_labels

        write_labels(path, made.labels, **known, interval=made.interval)


def describe_objects(result: Segmentation) -> Facts:
    """Return what was found and how, for the record; lengths only if they had an effect."""
    return {
        "objects": int(result.num),
        "threshold": _plain("local" if result.threshold is None else result.threshold),
        "in_pixels": {name: value for name, value in result.in_pixels.items() if np.any(value)},
        "method": result.method,
        "device": result.device,
        "connectivity": result.connectivity,
    }


def _plain(value: Any) -> Any:
    """Return numbers as types that JSON has."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else str(value)


# -------------------------------------------------------------- the summary of a run


def write_summary(
    path: Path, records: list[Record], groups: Callable[[str], dict[str, str]] = lambda _: {}
) -> None:
    """Write a table with a row for each image, followed by one for each frame of a stack."""
    names = dict.fromkeys(name for record in records for name in record.statistics)
    of_frames = ("file", "frame", "objects", "unit", *names)
    columns: dict[str, list[Any]] = {}
    for record in records:
        whole = {"objects": record.objects, **record.statistics}
        own = groups(record.file)
        rows = [_row(record, whole, names)]
        for frame in record.frames:  # without the values that belong to the whole file
            row = {**_row(record, frame, names), "frame": frame.get("frame")}
            rows += [{name: row[name] if name in of_frames else None for name in row}]
        for row in rows:
            for name, value in {"file": record.file, **own, **row}.items():
                columns.setdefault(name, []).append("" if value is None else value)
    write_table(path, columns)


def _row(record: Record, found: Facts, names: Iterable[str]) -> Facts:
    return {
        "file": record.file,
        "frame": None,
        "status": record.status,
        "objects": found.get("objects"),
        **{name: found.get(name) for name in names},
        "threshold": _joined(record.threshold, " to "),
        "shape": _joined(record.shape, " x "),
        "axes": record.axes,
        "spacing": _joined(tuple(record.spacing.values()), " x "),
        "unit": record.length if record.complete else "",
        "seconds": round(record.seconds, 3),
        "error": record.error,
        "notes": " ".join(record.notes),
    }


def _joined(value: Any, between: str) -> Any:
    if isinstance(value, (tuple, list)):
        return between.join(map(str, value))
    return "" if value is None else value
