"""Sources of pixels: NumPy, Dask and Zarr arrays, and files, read block by block."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from equilabel.storage.errors import decoding
from equilabel.storage.files import is_remote
from equilabel.storage.ome_zarr import find_image, open_zarr
from equilabel.storage.remote import fingerprint, locate

from .blocks import Blocks
from .checkpoints import checksum, new_token
from .dask_arrays import DaskSource
from .zarr_parts import read_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray

    from .checkpoints import Saved
    from .engine import Engine, Progress

    Slices = tuple[slice, ...]


class Gray(NamedTuple):
    """Pixels of a block."""

    pixels: HostArray  # to compare with a threshold
    values: HostArray | None  # intensities, channels last; None if they were not read


if TYPE_CHECKING:
    Load = Callable[[], HostArray | Gray]  # reads a part of an image or of a mask


class Readable(Protocol):
    """Gray values or a mask, read in parts."""

    def loader(self, part: Slices) -> Load:
        """Return a function that reads a part; it can be sent to another process."""


class Source(Readable, Protocol):
    """An image that is read in parts."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the pixels."""

    @property
    def stored(self) -> tuple[int, ...] | None:
        """Sides of the chunks in which it is stored, or None."""

    @property
    def kind(self) -> str:
        """What a caller passed and gets back: "numpy", "dask", "zarr" or "path"."""

    def identity(self) -> dict[str, Any]:
        """Return a description that changes with the image, as far as known without reading it."""

    def settled(
        self,
        engine: Engine,
        saved: Saved,
        progress: Progress,
        sides: tuple[int, ...],
        *,
        spread: bool = False,
    ) -> Source:
        """Return a source that is read block by block, when the run has begun."""


class MemorySource:
    """A NumPy array."""

    kind, stored = "numpy", None

    def __init__(self, array: HostArray) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a part."""
        return partial(_given, self._array[part])

    def overlaps(self, array: HostArray) -> bool:
        """Return whether an array may share memory with it."""
        return bool(np.may_share_memory(self._array, array))

    def settled(self, *_: Any, **__: Any) -> MemorySource:
        """Return this source."""
        return self

    def identity(self) -> dict[str, Any]:
        """Return a checksum of all pixels."""
        return {"checksum": checksum(self._array)}


def open_source(image: Any) -> Source:
    """Return a source of an image; raise TypeError, FileNotFoundError or ValueError."""
    if isinstance(image, (str, Path)) or is_remote(image):
        return _open_path(locate("label_image", image))
    room = type(image).__module__.partition(".")[0]
    if room == "dask" and hasattr(image, "__dask_graph__") and hasattr(image, "chunks"):
        return DaskSource.of(image)
    if isinstance(image, np.ndarray):
        return MemorySource(image)
    if is_array(image):
        return ZarrSource(image, "zarr")
    message = (
        "label_image must be an array of NumPy, Dask or Zarr, or the path of a Zarr, OME-Zarr or "
        f"TIFF; got {type(image).__name__}. Convert it, for instance with dask.array.from_array."
    )
    raise TypeError(message)


def is_array(some: Any) -> bool:
    """Return whether an object is a NumPy or Zarr array."""
    room = type(some).__module__.partition(".")[0]
    return isinstance(some, np.ndarray) or (room == "zarr" and hasattr(some, "chunks"))


def _open_path(path: Any) -> ZarrSource:
    if is_remote(path):
        return ZarrSource(find_image(path).path, "path")
    if not path.exists():
        message = f"label_image must be a path that exists; got {str(path)!r}. Correct it."
        raise FileNotFoundError(message)
    where = str(path.resolve())
    if not path.is_file():
        where = str(find_image(path).path.resolve())
    return ZarrSource(where, "path")


class ZarrSource:
    """A Zarr array, which may be a view of a TIFF."""

    def __init__(self, image: Any, kind: str) -> None:
        """Take a path, or an array; one on a disk is opened again in each process."""
        given = isinstance(image, str) or is_remote(image)
        self._path, self.kind = image if given else folder_of(image), kind
        self._open: Callable[[], Any] = partial(_given, image)
        if self._path is not None:
            self._open = partial(_open, self._path, new_token())
        self.array = self._open()
        self.shape, self.dtype = tuple(self.array.shape), np.dtype(self.array.dtype)
        self.stored = tuple(getattr(self.array, "shards", None) or self.array.chunks)

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a part for any process."""
        return partial(_read, self._open, part)

    def settled(self, *_: Any, **__: Any) -> ZarrSource:
        """Return this source."""
        return self

    def identity(self) -> dict[str, Any]:
        """Return the metadata of the array, and a hash of names, sizes and times of its files.

        For an array in memory, checksums of its chunks.
        """
        if self._path is None:
            if type(self.array.store).__name__ == "MemoryStore":  # its name is a memory address
                blocks = Blocks(self.shape, self.stored)
                return {"checksums": [checksum(self.loader(part)()) for part in blocks.parts()]}
            return {"store": str(self.array.store)}
        if is_remote(self._path):
            return {"files": _hashed(fingerprint(self._path))}
        return {"files": _digest(Path(self._path))}


def _given(array: Any) -> Any:
    """Return an array that is already open."""
    return array


def _read(opener: Callable[[], Any], part: Slices) -> HostArray:
    """Read and decode a part of a Zarr array."""
    with decoding(part):
        return read_part(opener(), part)


@lru_cache(16)
def _open(path: Any, token: str) -> Any:
    """Open a Zarr or a TIFF once for each run: it may change between runs, which `token` tells."""
    from equilabel.storage.tiff import open_lazily

    if is_remote(path):
        return open_zarr(path)
    return open_lazily(path) if Path(path).is_file() else open_zarr(path)


def folder_of(array: Any) -> str | None:
    """Return the folder of a Zarr array, or None if it is not on a disk."""
    root = getattr(array.store, "root", None)
    if root is None or type(array.store).__name__ != "LocalStore":
        return None
    return str(Path(root, array.path).resolve())


def _hashed(described: Any) -> str:
    """Return a hash of what is described as JSON."""
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def _digest(path: Path) -> str:
    """Return a hash of names, sizes and times of the files of an image."""
    found = hashlib.sha256()
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    for file in files:
        state = file.stat()
        found.update(f"{file.relative_to(path)}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return found.hexdigest()
