"""Sources of pixels: NumPy, Dask and Zarr arrays, and files, read block by block."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equilabel.arguments import check_path
from equilabel.storage.files import refuse_url
from equilabel.storage.ome_zarr import find_image

from .dask_source import DaskSource
from .zarr_source import Opened, PathOpener, ZarrSource, folder_of

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .loading import Load

    Slices = tuple[slice, ...]


class Readable(Protocol):
    """Gray values or a mask, read in parts."""

    def loader(self, part: Slices) -> Load:
        """Return a function that reads a part; it can be sent to another process."""
        ...


class Source(Protocol):
    """An image that is read in parts."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the pixels."""
        ...

    @property
    def stored(self) -> tuple[int, ...] | None:
        """Sides of the chunks in which it is stored, or None."""
        ...

    @property
    def kind(self) -> str:
        """What a caller passed and gets back: "numpy", "dask", "zarr" or "path"."""
        ...

    def loader(self, part: Slices) -> Load:
        """Return a function that reads a part; it can be sent to another process."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return a description that changes with the image, as far as known without reading it."""
        ...


@dataclass(frozen=True, eq=False)
class MemoryPart:
    """A part of a NumPy array."""

    pixels: HostArray

    def __call__(self) -> HostArray:
        """Return the part."""
        return self.pixels


class MemorySource:
    """A NumPy array."""

    kind, stored = "numpy", None

    def __init__(self, array: HostArray) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def loader(self, part: Slices) -> MemoryPart:
        """Return a view of a part."""
        return MemoryPart(self._array[part])

    def overlaps(self, array: HostArray) -> bool:
        """Return whether an array may share memory with it."""
        return bool(np.may_share_memory(self._array, array))

    def identity(self) -> dict[str, Any]:
        """Return a checksum of all pixels."""
        from .arrayfiles import checksum

        return {"checksum": checksum(self._array)}


def open_source(image: Any) -> Source:
    """Return a source of an image; raise TypeError, FileNotFoundError or ValueError."""
    if isinstance(image, (str, Path)):
        given = check_path("label_image", image)
        refuse_url("label_image", image)
        return _open_path(given)
    room = type(image).__module__.partition(".")[0]
    if room == "dask" and hasattr(image, "__dask_graph__") and hasattr(image, "chunks"):
        return DaskSource(_known(image))
    if isinstance(image, np.ndarray):
        return MemorySource(image)
    if is_array(image):
        path = folder_of(image)
        return ZarrSource(PathOpener(path) if path else Opened(image), "zarr", path)
    message = (
        "label_image must be an array of NumPy, Dask or Zarr, or the path of a Zarr, OME-Zarr or "
        f"TIFF; got {type(image).__name__}. Convert it, for instance with dask.array.from_array."
    )
    raise TypeError(message)


def is_array(some: Any) -> bool:
    """Return whether an object is a NumPy or Zarr array."""
    room = type(some).__module__.partition(".")[0]
    return isinstance(some, np.ndarray) or (room == "zarr" and hasattr(some, "chunks"))


def _open_path(path: Path) -> ZarrSource:
    if not path.exists():
        message = f"label_image must be a path that exists; got {str(path)!r}. Correct it."
        raise FileNotFoundError(message)
    where = str(path.resolve())
    if not path.is_file():
        where = str(find_image(path).path.resolve())
    return ZarrSource(PathOpener(where), "path", where)


def _known(array: Any) -> Any:
    """Return a Dask array; raise ValueError if the sizes of its chunks are unknown."""
    if any(np.isnan(side) for sides in array.chunks for side in sides):
        message = (
            "label_image must have chunks of known sizes; got unknown ones. "
            "Call `.compute_chunk_sizes()` on it first."
        )
        raise ValueError(message)
    return array
