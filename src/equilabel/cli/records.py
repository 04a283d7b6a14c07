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
OBJECTS = ("objects.csv", "objects.parquet")  # all tables in one
OF_RUN = (SUMMARY, RUN, REPORT, *OBJECTS)
Facts: TypeAlias = dict[str, Any]  # values that JSON holds, by name
STATE = ".equilabel"  # folder of the images' records, in the output folder


@dataclass(frozen=True)
class Record:
    """The record of one image of a run.

    Attributes
    ----------
    file, name : str
        The image (or labels to measure), and its results below the output folder without their
        endings.
    image : str
        The image that labels were measured in.
    status : {"done", "skipped", "failed", "interrupted"}
        "skipped": complete since an earlier run; the other columns are that run's.
    objects, threshold, shape, axes, spacing, unit
        What was found, and in what: `shape` and `axes` of the image as read, `spacing` by axis.
    statistics : dict of str to float
        Mean and total sizes and mean intensities of its objects.
    frames : tuple of dict
        The number of each frame of a stack, its objects, and the same statistics of them.
    sizes : dict
        How many objects are how large, see `count_sizes`.
    seconds : float
        From opening the image to the last result.
    error : str
        Why it failed.
    notes : tuple of str
        What a person should know of the results, such as an axis that was guessed.
    method, device, connectivity
        What was used.
    in_pixels : dict
        Lengths and sizes that were used, in pixels, by the names of their options in Python.
    sha256 : str
        Of the image file.
    fingerprint : str
        Of the parameters and versions.
    attempts : tuple of str
        How each attempt ended that did not come to its end: "SIGKILL", "time limit", ...
    outputs : dict
        For each kind of result its path below the output folder, its size in bytes and its hash.
    """

    file: str
    name: str
    status: str
    image: str = ""
    objects: int | None = None
    threshold: float | tuple[float, ...] | str | None = None
    shape: tuple[int, ...] = ()
    axes: str = ""
    spacing: dict[str, float] = field(default_factory=dict)
    unit: str = ""
    statistics: dict[str, float | None] = field(default_factory=dict)
    frames: tuple[Facts, ...] = ()
    sizes: Facts = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""
    notes: tuple[str, ...] = ()
    method: str = ""
    device: str = ""
    connectivity: int | None = None
    in_pixels: Facts = field(default_factory=dict)
    sha256: str = ""
    fingerprint: str = ""
    attempts: tuple[str, ...] = ()
    outputs: dict[str, Facts] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether its results exist, as far as the run knows."""
        return self.status in ("done", "skipped")


def record_path(out: Path, name: str) -> Path:
    """Return the path of the record of an image whose results have a name."""
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()
    return out / STATE / f"{digest[:32]}.json"


def describe_result(path: Path, name: str) -> Facts:
    """Return the name, the size and the checksum of a result, for the record.

    `name` is that of the results of the image below the output folder, without their endings.
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
    """Yield the rows of the frames of a stack; what holds for the file stands in its own row."""
    told = ("file", "frame", "objects", "unit", *names)
    for frame in record.frames:
        row = {**_row(record, frame, names), "frame": frame["frame"]}
        yield {name: value if name in told else None for name, value in row.items()}


def _joined(value: Any, between: str) -> Any:
    if isinstance(value, (tuple, list)):
        return between.join(map(str, value))
    return "" if value is None else value
