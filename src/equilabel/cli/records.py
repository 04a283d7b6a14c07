"""The record of an image: a row of summary.csv, and an entry of run.json."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from equilabel.storage.table import write_table

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY, RUN = "summary.csv", "run.json"
Facts: TypeAlias = dict[str, Any]  # values that JSON holds, by name
STATE = ".equilabel"  # folder of the images' records, in the output folder


@dataclass(frozen=True)
class Record:
    """The record of one image of a run.

    Attributes
    ----------
    file, name : str
        The image, and its results below the output folder without their endings.
    status : {"done", "skipped", "failed", "interrupted"}
        "skipped": complete since an earlier run; the other columns are that run's.
    objects, threshold, shape, axes, spacing, unit
        What was found, and in what: `shape` and `axes` of the image as read, `spacing` by axis.
    seconds : float
        From opening the image to the last result.
    error : str
        Why it failed.
    notes : tuple of str
        What a person should know of the results, such as an axis that was guessed.
    method, device, connectivity
        What was used.
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
    objects: int | None = None
    threshold: float | tuple[float, ...] | str | None = None
    shape: tuple[int, ...] = ()
    axes: str = ""
    spacing: dict[str, float] = field(default_factory=dict)
    unit: str = ""
    seconds: float = 0.0
    error: str = ""
    notes: tuple[str, ...] = ()
    method: str = ""
    device: str = ""
    connectivity: int | None = None
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


def write_summary(path: Path, records: list[Record]) -> None:
    """Write a table with a row for each image."""
    rows = [
        {
            "file": record.file,
            "status": record.status,
            "objects": "" if record.objects is None else record.objects,
            "threshold": _joined(record.threshold, " to "),
            "shape": _joined(record.shape, " x "),
            "axes": record.axes,
            "spacing": _joined(tuple(record.spacing.values()), " x "),
            "unit": record.unit,
            "seconds": round(record.seconds, 3),
            "error": record.error,
            "notes": " ".join(record.notes),
        }
        for record in records
    ]
    write_table(path, {name: [row[name] for row in rows] for name in rows[0]})


def _joined(value: Any, between: str) -> Any:
    if isinstance(value, (tuple, list)):
        return between.join(map(str, value))
    return "" if value is None else value
