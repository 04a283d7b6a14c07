"""The record of an image: a row of summary.csv, and an entry of run.json."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias

from equilabel.storage.table import write_table

from .checksums import checksum_of, size_of
from .names import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SUMMARY, RUN, REPORT = "summary.csv", "run.json", "report.html"
OBJECTS = ("objects.csv", "objects.parquet")  # the tables of all images
OF_RUN = (SUMMARY, RUN, REPORT, *OBJECTS)
Facts: TypeAlias = dict[str, Any]  # values that JSON holds, by name
STATE = ".equilabel"  # folder of the images' records, in the output folder


@dataclass(frozen=True)
class Record:
    """The record of one image of a run."""

    file: str  # the image, or labels to measure
    name: str  # of its results below the output folder, without endings
    # "done", "failed", "interrupted"; "skipped" if complete since an earlier run, from which the
    # other fields are
    status: str
    image: str = ""  # in which labels were measured
    objects: int | None = None
    threshold: float | tuple[float, ...] | str | None = None
    shape: tuple[int, ...] = ()  # of the image as it was read
    axes: str = ""
    spacing: dict[str, float] = field(default_factory=dict)  # by axis
    unit: str = ""
    # mean and total sizes, and mean intensities, of its objects
    statistics: dict[str, float | None] = field(default_factory=dict)
    frames: tuple[Facts, ...] = ()  # number, objects and statistics of each frame of a stack
    sizes: Facts = field(default_factory=dict)  # from `count_sizes`
    seconds: float = 0.0  # from opening the image to the last result
    error: str = ""  # why it failed
    notes: tuple[str, ...] = ()  # what a user should know, such as an axis that was guessed
    method: str = ""
    device: str = ""
    connectivity: int | None = None
    # lengths and sizes in pixels, by the Python names of their options
    in_pixels: Facts = field(default_factory=dict)
    sha256: str = ""  # of the image file
    fingerprint: str = ""  # of the parameters and versions
    # how each attempt that did not finish ended: "SIGKILL", "time limit", ...
    attempts: tuple[str, ...] = ()
    # path below the output folder, size in bytes and hash of each kind of result
    outputs: dict[str, Facts] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """True if its results exist, as far as the run knows."""
        return self.status in ("done", "skipped")


def record_path(out: Path, name: str) -> Path:
    """Return the path of the record of an image, from the name of its results."""
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()
    return out / STATE / f"{digest[:32]}.json"


def describe_result(path: Path, name: str) -> Facts:
    """Return the name, the size and the checksum of a result, for the record.

    `name` is that of the results of the image below the output folder, without endings.
    """
    return {
        "file": printable(PurePath(name).with_name(path.name).as_posix()),
        "bytes": size_of(path),
        "sha256": checksum_of(path),
    }


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
