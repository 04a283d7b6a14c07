"""Where final labels go: an array in memory, or a Zarr whose chunks each have one writer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equilabel.domains import neighborhood

from .zarr_parts import read_part, write_part

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from equilabel.array_types import HostArray


ALIGNED = 16  # bytes
_opening = Lock()  # of arrays, with a configuration that all threads share


class Output(Protocol):
    """An array that takes the labels of blocks."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        ...

    @property
    def keeps(self) -> bool:
        """Whether what is written may be kept as it is, not copied."""
        ...

    def view(self, part: tuple[slice, ...]) -> HostArray | None:
        """Return the memory of a block, if it is in an array of NumPy."""
        ...

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write the labels of a block."""
        ...

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read them again."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayOutput:
    """An array of NumPy in this process, in C order."""

    array: HostArray
    keeps = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        return self.array.dtype

    def view(self, part: tuple[slice, ...]) -> HostArray | None:
        """Return the memory of a block."""
        return self.array[part]

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write the labels of a block past the caches, or a mask."""
        if labels.dtype == self.array.dtype and labels.dtype.kind in "iu":
            copy_past_caches(labels, self.array, part)
        else:
            self.array[part] = labels

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read them again."""
        return self.array[part]


def copy_past_caches(labels: HostArray, array: HostArray, part: tuple[slice, ...]) -> None:
    """Copy labels to a part of an array of the same type, which is in C order."""
    from equilabel.runs.cpu.painting import copy_rows

    labels = np.ascontiguousarray(labels)
    strides = neighborhood.strides(array.shape)
    offsets = [np.arange(one.start, one.stop) * k for one, k in zip(part, strides, strict=True)]
    starts = reduce(np.add.outer, offsets[:-1], offsets[-1][:1]).reshape(-1)
    step, first = ALIGNED // array.itemsize, array.ctypes.data % ALIGNED
    aligned = not first and not (starts % step).any()
    rows = labels.reshape(len(starts), -1)
    copy_rows(rows, starts, aligned, array.reshape(-1))


@dataclass(frozen=True)
class ZarrOutput:
    """An array of Zarr on a disk.

    Attributes
    ----------
    path : str
    name : str
        Of the type of the labels.
    token : str
        Of this run: an array that had the same path before is opened anew.
    """

    path: str
    name: str
    token: str
    keeps = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        return np.dtype(self.name)

    def at(self, path: str) -> ZarrOutput:
        """Return an array at another path."""
        return ZarrOutput(path, self.name, self.token)

    def view(self, part: tuple[slice, ...]) -> None:
        """Return that labels are written, and not where."""

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write the labels of a block; all of its chunks, those without labels too."""
        write_part(_open(self.path, self.token), part, labels)

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read them again."""
        return read_part(_open(self.path, self.token), part)


@dataclass(frozen=True, eq=False)
class StoredOutput:
    """An array of Zarr of a caller, in any store."""

    array: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def keeps(self) -> bool:
        """Whether chunks stay in memory as they are: they are not compressed."""
        return is_in_memory(self.array) and not self.array.compressors

    def view(self, part: tuple[slice, ...]) -> None:
        """Return that labels are written, and not where."""

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write the labels of a block."""
        write_part(self.array, part, labels)

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read them again."""
        return read_part(self.array, part)


def is_in_memory(array: Any) -> bool:
    """Return whether an array is of NumPy, or of Zarr in a memory store."""
    store = getattr(array, "store", None)
    return store is None or type(store).__name__ == "MemoryStore"


def open_output(output: ZarrOutput) -> Any:
    """Return the array that takes the labels."""
    return _open(output.path, output.token)


@lru_cache(16)
def _open(path: str, token: str) -> Any:
    """Open an array to write to it."""
    import zarr

    # As an argument it would count for new arrays alone.
    with _opening, zarr.config.set({"array.write_empty_chunks": True}):
        return zarr.open_array(path, mode="r+")


def create_zarr(
    path: Path,
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    shards: tuple[int, ...] | None = None,
    zarr_format: int = 3,
    axes: Sequence[str] | None = None,
    fresh: bool = False,
) -> None:
    """Create an array for labels, or go on with the one that is there and alike.

    Chunks are compressed by LZ4 as they are: labels repeat along rows, and sorting their bytes or
    bits first takes longer and hides that. They carry a CRC-32C: damage is noticed when they are
    read. Those without labels are stored, too: one that is missing is lost.

    Parameters
    ----------
    shards : tuple of int, optional
        Sides of shards, files of several chunks, each of which is written at once.
    axes : sequence of str, optional
        A name for each axis; format 2 has none.
    fresh : bool
        Whether an array that is there is removed.
    """
    import zarr
    from numcodecs import Blosc
    from zarr.codecs import BloscCodec, Crc32cCodec

    if path.exists() and not fresh:
        known = zarr.open_array(path, mode="r")
        alike = (known.shape, known.chunks, known.shards, known.dtype)
        if alike == (shape, chunks, shards, dtype):
            return
    compressors: Any = [BloscCodec(cname="lz4", clevel=5, shuffle="noshuffle"), Crc32cCodec()]
    if zarr_format == 2:
        compressors = Blosc(cname="lz4", clevel=5, shuffle=Blosc.NOSHUFFLE)
    zarr.create_array(
        path,
        shape=shape,
        chunks=chunks,
        shards=shards,
        dtype=dtype,
        compressors=compressors,
        zarr_format=zarr_format,
        dimension_names=axes if zarr_format == 3 else None,
        chunk_key_encoding={"name": "v2" if zarr_format == 2 else "default", "separator": "/"},
        overwrite=True,
    )
