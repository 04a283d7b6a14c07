"""Size and checksum of a result, which is a file or a folder (OME-Zarr)."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from equilabel.storage.files import is_folder, open_regular

if TYPE_CHECKING:
    from pathlib import Path


def size_of(path: Path) -> int:
    """Return the size in bytes of a file, or of all files in a folder.

    Raises OSError if the path does not exist, or the folder contains links, pipes or devices.
    """
    return sum(map(_size, _files(path)))


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of all files in a folder.

    Raises OSError like `size_of`.
    """
    if not is_folder(path):
        return _sha256(path)
    named = ((_sha256(file), file.relative_to(path).as_posix()) for file in _files(path))
    lines = "".join(f"{digest}  {name}\n" for digest, name in named)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def _files(path: Path) -> list[Path]:
    """List all files below a folder, sorted by name; for a file, list the file alone."""
    if not is_folder(path):
        return [path]
    return sorted(file for file in path.rglob("*") if not is_folder(file))


def _size(file: Path) -> int:
    descriptor = open_regular(file)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _sha256(file: Path) -> str:
    with os.fdopen(open_regular(file), "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
