"""Arrays of Zarr, and files that are read as such, as a source of pixels."""

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
    """A part of an array of Zarr."""

    open: Callable[[], Any]
    part: Slices

    def __call__(self) -> HostArray:
        """Read and decode it."""
        try:
            return read_part(self.open(), self.part)
        except Exception as error:  # every codec has others
            raise undecoded(error, self.part) from error


@dataclass(frozen=True, eq=False)
class Opened:
    """An array of Zarr that is there."""

    array: Any

    def __call__(self) -> Any:
        """Return it."""
        return self.array


class ZarrSource:
    """An array of Zarr, which may be a view of a TIFF."""

    def __init__(self, opener: Callable[[], Any], kind: str, path: str | None = None) -> None:
        self._open, self.kind, self._path = opener, kind, path
        array = opener()
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        self.stored = tuple(getattr(array, "shards", None) or array.chunks)
        self.array = array

    def loader(self, part: Slices) -> ZarrPart:
        """Return what reads a part, in any process."""
        return ZarrPart(self._open, part)

    def identity(self) -> dict[str, Any]:
        """Return the description of the array, and names, sizes and times of its files.

        Of an array in memory, checksums of its chunks.
        """
        path = self._path or folder_of(self.array)
        if path is None:
            if type(self.array.store).__name__ == "MemoryStore":  # named after an address
                blocks = Blocks(self.shape, self.stored)
                parts = (self.loader(blocks.slices(block))() for block in range(blocks.number))
                return {"checksums": [checksum(part) for part in parts]}
            return {"store": str(self.array.store)}
        return {"files": _digest(Path(path))}


@dataclass(frozen=True)
class PathOpener:
    """Opens a Zarr or a TIFF as an array of Zarr, once for each run in each process.

    Attributes
    ----------
    path : str
    token : str
        Of this run: workers outlive runs, and a path may lead to another image by then.
    """

    path: str
    token: str = field(default_factory=new_token)

    def __call__(self) -> Any:
        """Return the array."""
        return _open(self.path, self.token)


@lru_cache(16)
def _open(path: str, token: str) -> Any:
    """Open an image; `token` tells runs apart."""
    from equilabel.storage.lazy import open_lazily

    return open_lazily(path) if Path(path).is_file() else open_zarr(path)


def folder_of(array: Any) -> str | None:
    """Return the folder of an array of Zarr, or None if it is not on a disk."""
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
