"""Find results of an earlier run that --resume can keep."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .checksums import checksum_of, size_of
from .jsonfiles import read_record
from .names import printable
from .options import LABELS
from .records import STATE, Record, record_path

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


def find_earlier(
    out: Path, name: str, endings: Mapping[str, str], fingerprint: str, *, hashed: bool = True
) -> Record | None:
    """Return the record of an image if all its results exist and have the same parameters.

    Returns None otherwise. `name` is the path of the results below `out` without endings, `endings`
    the ending of each kind of result, `fingerprint` that of the current parameters and versions.
    With `hashed=False` only the sizes of files are compared, not their checksums.
    """
    record = read_record(record_path(out, name))
    if record is None or not record.complete or record.fingerprint != fingerprint:
        return None
    files = {kind: known["file"] for kind, known in record.outputs.items()}
    if files != {kind: printable(f"{name}{ending}") for kind, ending in endings.items()}:
        return None
    for kind, ending in endings.items():
        if not holds(out / f"{name}{ending}", record.outputs[kind], hashed=hashed):
            return None
    return record


def count_others(out: Path, names: Collection[str]) -> int:
    """Count images that are not among `names` but have results of earlier runs in the folder."""
    ours = {record_path(out, name).name for name in names}
    try:
        others = [path for path in (out / STATE).iterdir() if path.name not in ours]
    except OSError:
        return 0
    found = (record for record in map(read_record, others) if record is not None)
    return sum(
        any(os.path.lexists(out / f"{record.name}{ending}") for ending in LABELS.values())
        for record in found
    )


def holds(path: Path, known: Mapping[str, Any], *, hashed: bool = True) -> bool:
    """Return whether a result is unchanged: has the size and checksum in `known`, its record."""
    try:
        if size_of(path) != known.get("bytes"):
            return False
        return not hashed or checksum_of(path) == known.get("sha256")
    except OSError:
        return False
