"""What is known of each image after a run: rows of summary.csv, entries of run.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from equilabel.storage.files import replacing
from equilabel.storage.table import write_table

from .options import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY, RUN = "summary.csv", "run.json"


@dataclass(frozen=True)
class Record:
    """One image of a run.

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
        What had to be guessed.
    method, device, connectivity
        What was used.
    sha256 : str
        Of the image file.
    fingerprint : str
        Of the parameters and the version.
    outputs : dict
        For each kind of result its path below the output folder and its size in bytes.
    """

    file: str
    name: str
    status: str
    objects: int | None = None
    threshold: float | tuple[float, float] | str | None = None
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
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether its results exist, as far as the run knows."""
        return self.status in ("done", "skipped")


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


def write_run(path: Path, facts: dict[str, Any], records: list[Record]) -> None:
    """Write all that is needed to repeat a run, and to resume it."""
    content = {**facts, "files": [asdict(record) for record in records]}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, default=str)
    with replacing(path) as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")


def read_run(path: Path) -> dict[str, Record]:
    """Read the records of an earlier run, by the name of their results.

    Raises
    ------
    RefusedError
        If the file is not one that `write_run` wrote.
    """
    names = {item.name for item in fields(Record)}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["files"]
        records = [Record(**{key: entry[key] for key in names & set(entry)}) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError) as error:
        message = (
            f"resume needs the {RUN} of the earlier run; got '{path}', which cannot be read: "
            f"{error}. Pass --overwrite to begin again."
        )
        raise RefusedError(message) from error
    return {record.name: record for record in records if record.name}


def _joined(value: Any, between: str) -> Any:
    if isinstance(value, (tuple, list)):
        return between.join(map(str, value))
    return "" if value is None else value
