"""Zarr arrays, and files that are read like these, as a source of pixels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.storage.zarr_arrays import open_zarr, undecoded

from .arrayfiles import checksum
from .blocks import Blocks
from .workfolder import new_token
from .zarr_parts import read_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray

    Slices = tuple[slice, ...]


@dataclass(frozen=True)
class ZarrPart:
    """A part of a Zarr array."""

    open: Callable[[], Any]
    part: Slices

    def __call__(self) -> HostArray:
        """Read and decode it."""
        try:
            return read_part(self.open(), self.part)
        except Exception as error:  # each codec raises its own errors
            raise undecoded(error, self.part) from error


@dataclass(frozen=True, eq=False)
class Opened:
    """Opener of a Zarr array that is already open."""

    array: Any

    def __call__(self) -> Any:
        """Return the array."""
        return self.array


class ZarrSource:
    """A Zarr array, which may be a view of a TIFF."""

    def __init__(self, opener: Callable[[], Any], kind: str, path: str | None = None) -> None:
        self._open, self.kind, self._path = opener, kind, path
        array = opener()
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        self.stored = tuple(getattr(array, "shards", None) or array.chunks)
        self.array = array

    def loader(self, part: Slices) -> ZarrPart:
        """Return a loader of a part for any process."""
        return ZarrPart(self._open, part)

    def identity(self) -> dict[str, Any]:
        """Return the metadata of the array, and a hash of names, sizes and times of its files.

        For an array in memory, checksums of its chunks.
        """
        path = self._path or folder_of(self.array)
        if path is None:
            if type(self.array.store).__name__ == "MemoryStore":  # its name is a memory address
                blocks = Blocks(self.shape, self.stored)
                parts = (self.loader(blocks.slices(block))() for block in range(blocks.number))
                return {"checksums": [checksum(part) for part in parts]}
            return {"store": str(self.array.store)}
        return {"files": _digest(Path(path))}


@dataclass(frozen=True)
class PathOpener:
    """Opens a Zarr or a TIFF as a Zarr array, once for each run in each process."""

    path: str
    token: str = field(default_factory=new_token)  # of this run: the path may change between runs

    def __call__(self) -> Any:
        """Return the array."""
        return _open(self.path, self.token)


@lru_cache(16)
def _open(path: str, token: str) -> Any:
    """Open an image; `token` distinguishes runs."""
    from equilabel.storage.lazy import open_lazily

    return open_lazily(path) if Path(path).is_file() else open_zarr(path)


def folder_of(array: Any) -> str | None:
    """Return the folder of a Zarr array, or None if it is not on a disk."""
    root = getattr(array.store, "root", None)
    if root is None or type(array.store).__name__ != "LocalStore":
        return None
    return str(Path(root, array.path).resolve())


def _digest(path: Path) -> str:
    """Return a hash of names, sizes and times of the files of an image."""
    found = hashlib.sha256()
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    for file in files:
        state = file.stat()
        found.update(f"{file.relative_to(path)}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return found.hexdigest()
