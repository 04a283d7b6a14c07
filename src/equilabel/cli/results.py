"""Write the results of a labeled image, describe them in its record, and sum up all records."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.storage.table import write_table

from .columns import PIXEL, column_units, summarize, summarize_frames
from .options import OME_ZARR
from .records import describe_result
from .sizes import count_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from equilabel import Segmentation

    from .options import Options
    from .records import Facts, Record


class Made(NamedTuple):
    """A segmented image, with what is needed to write its results."""

    result: Segmentation  # its labels are not used: they may be on disk
    labels: Any  # array of int: in memory, memory-mapped, or Zarr
    shown: Any  # the labeled channel, as an array or a lazy image
    axes: str  # of the labels
    stacked: bool
    spacing: dict[str, float]  # pixel size by axis, where it is known
    measured: dict[str, float]  # pixel size by axis that the table uses
    unit: str  # of the pixel size
    # coordinate of the first pixel by axis, where it is not 0
    origin: Mapping[str, float] = MappingProxyType({})


def write_results(
    made: Made, own: Path, options: Options, record: Record, *, interval: float | None
) -> Record:
    """Write labels, table and overlay of an image, and return its completed record.

    `own` is the beginning of the paths of results; their folder exists. `interval` is in seconds
    between frames.
    """
    from equilabel.storage.overlay import write_overlay

    result = made.result
    paths = {
        kind: own.with_name(f"{own.name}{ending}") for kind, ending in options.endings().items()
    }
    length = made.unit if made.measured else PIXEL
    columns = result.columns
    units = column_units(columns, len(made.axes) - made.stacked, length)
    write_table(paths["table"], columns, units=units if options.unit_row else None)
    _write_labels(paths["labels"], made, options, interval=interval)
    if "overlay" in paths:
        sides = [made.spacing.get(axis, 1.0) for axis in "YX"]
        write_overlay(paths["overlay"], made.shown, made.labels, spacing=sides)
    outputs = {kind: describe_result(path, record.name) for kind, path in paths.items()}
    outputs["table"]["units"] = units
    frames = summarize_frames(result.table, made.labels) if made.stacked else ()
    return replace(
        record,
        status="done",
        **describe_objects(result),
        spacing=made.measured,
        unit=made.unit if made.measured else "",
        statistics=summarize(columns),
        sizes=count_sizes(columns, units),
        frames=tuple(frames),
        outputs=outputs,
    )


def _write_labels(path: Path, made: Made, options: Options, *, interval: float | None) -> None:
    """Write labels with their axes and pixel size, in the format of --labels-format."""
    known: Any = {"axes": made.axes, "spacing": made.spacing, "unit": made.unit}
    if options.labels_format == OME_ZARR:
        from equilabel.chunked.ome_labels import write_store

        found: Any = {"most": int(made.result.num), "table": made.result.table}
        write_store(path, made.labels, **known, interval=interval, origin=made.origin, **found)
    else:
        from equilabel.storage.tiff import write_labels

        write_labels(path, made.labels, **known, interval=interval)


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


def write_summary(path: Path, records: list[Record]) -> None:
    """Write a table with a row for each image, followed by one for each frame of a stack."""
    names = dict.fromkeys(name for record in records for name in record.statistics)
    columns: dict[str, list[Any]] = {}
    for record in records:
        whole = {"objects": record.objects, **record.statistics}
        for row in (_row(record, whole, names), *_frame_rows(record, names)):
            for name, value in row.items():
                columns.setdefault(name, []).append("" if value is None else value)
    write_table(path, columns)


def _row(record: Record, found: Facts, names: Iterable[str]) -> Facts:
    return {
        "file": record.file,
        "frame": None,
        "status": record.status,
        "objects": found["objects"],
        **{name: found.get(name) for name in names},
        "threshold": _joined(record.threshold, " to "),
        "shape": _joined(record.shape, " x "),
        "axes": record.axes,
        "spacing": _joined(tuple(record.spacing.values()), " x "),
        "unit": record.unit,
        "seconds": round(record.seconds, 3),
        "error": record.error,
        "notes": " ".join(record.notes),
    }


def _frame_rows(record: Record, names: Iterable[str]) -> Iterator[Facts]:
    """Yield rows for the frames of a stack, without the values that belong to the whole file."""
    told = ("file", "frame", "objects", "unit", *names)
    for frame in record.frames:
        row = {**_row(record, frame, names), "frame": frame["frame"]}
        yield {name: value if name in told else None for name, value in row.items()}


def _joined(value: Any, between: str) -> Any:
    if isinstance(value, (tuple, list)):
        return between.join(map(str, value))
    return "" if value is None else value
