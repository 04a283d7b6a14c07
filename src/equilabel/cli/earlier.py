"""Results of an earlier run that --resume may keep."""

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
    """Find the record of an image whose results are all there, and made with the same parameters.

    Parameters
    ----------
    out : Path
        The output folder.
    name : str
        Of the results below it, without their endings.
    endings : mapping of str to str
        Which results there must be: the kind of each, and how its name ends.
    fingerprint : str
        Of today's parameters and versions.
    hashed : bool
        Whether each result must have the hash that was recorded. Else its size is enough.

    Returns
    -------
    Record or None
        None if anything is not as it should be.
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
    """Count images that have results of earlier runs in the folder and are not among `names`."""
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
    """Return whether a result is the one that was written: `known` is what its record says."""
    try:
        if size_of(path) != known.get("bytes"):
            return False
        return not hashed or checksum_of(path) == known.get("sha256")
    except OSError:
        return False
