"""Arrays that take final labels: in memory, or a Zarr with one writer for each chunk."""

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
_opening = Lock()  # held while arrays are opened: Zarr's configuration is shared by all threads


class Output(Protocol):
    """An array that takes the labels of blocks."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        ...

    @property
    def keeps(self) -> bool:
        """Whether it keeps the memory of what is written, instead of copying it."""
        ...

    def view(self, part: tuple[slice, ...]) -> HostArray | None:
        """Return the memory of a block, if it is in an array of NumPy."""
        ...

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write the labels of a block."""
        ...

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read the labels of a block."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayOutput:
    """A NumPy array of this process, in C order."""

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
        """Write the labels of a block, bypassing caches, or a mask."""
        if labels.dtype == self.array.dtype and labels.dtype.kind in "iu":
            copy_past_caches(labels, self.array, part)
        else:
            self.array[part] = labels

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read the labels of a block."""
        return self.array[part]


def copy_past_caches(labels: HostArray, array: HostArray, part: tuple[slice, ...]) -> None:
    """Copy labels to a part of an array of the same type in C order, bypassing caches."""
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
    """A Zarr array on a disk."""

    path: str
    name: str  # of the dtype
    token: str  # of this run: an earlier array at the same path must be opened again
    keeps = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        return np.dtype(self.name)

    def at(self, path: str) -> ZarrOutput:
        """Return an output at another path."""
        return ZarrOutput(path, self.name, self.token)

    def view(self, part: tuple[slice, ...]) -> None:
        """Return None: the memory of a Zarr is not accessible."""

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write all chunks of a block, also those without labels."""
        write_part(_open(self.path, self.token), part, labels)

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read the labels of a block."""
        return read_part(_open(self.path, self.token), part)


@dataclass(frozen=True, eq=False)
class StoredOutput:
    """A Zarr array of the caller, in any store."""

    array: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def keeps(self) -> bool:
        """Whether its store keeps the memory of chunks: a memory store without compression."""
        return is_in_memory(self.array) and not self.array.compressors

    def view(self, part: tuple[slice, ...]) -> None:
        """Return None: the memory of a Zarr is not accessible."""

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write the labels of a block."""
        write_part(self.array, part, labels)

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read the labels of a block."""
        return read_part(self.array, part)


def is_in_memory(array: Any) -> bool:
    """Return whether an array is a NumPy array, or a Zarr array in a memory store."""
    store = getattr(array, "store", None)
    return store is None or type(store).__name__ == "MemoryStore"


def open_output(output: ZarrOutput) -> Any:
    """Open the array of an output."""
    return _open(output.path, output.token)


@lru_cache(16)
def _open(path: str, token: str) -> Any:
    """Open an array for writing."""
    import zarr

    # The argument of the same name is used for new arrays only.
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
    """Create an array for labels, or keep an existing one of the same description, unless `fresh`.

    Chunks are compressed by LZ4 without a filter: labels repeat along rows, which shuffling of
    bytes or bits would hide, and it takes longer. A CRC-32C finds damage on reading. Chunks without
    labels are stored, so that a missing chunk is an error. `shards` are the sides of files of
    several chunks, each of which is written at once; `axes` are names of axes, which format 2 does
    not have.
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
