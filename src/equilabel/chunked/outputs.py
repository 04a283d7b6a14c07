"""Labels of blocks from labeling to writing, and the arrays that take them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from itertools import product
from math import prod
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import LANES, current_event, index_of, is_on_cuda, room_on_gpus
from equilabel.domains import grid
from equilabel.storage.files import flush_file, flush_folder, is_remote
from equilabel.storage.remote import zarr_store

from .zarr_parts import read_part, write_part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    from .blocks import Blocks


ALIGNED = 16  # bytes
_opening = Lock()  # held while arrays are opened: Zarr's configuration is shared by all threads


@dataclass(frozen=True, eq=False)
class ArrayOutput:
    """A NumPy array of this process, in C order."""

    array: HostArray
    keeps = False  # the memory of what is written: it is copied

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

    def flush(self, parts: Sequence[tuple[slice, ...]]) -> None:
        """Do nothing: memory is not flushed."""


def copy_past_caches(labels: HostArray, array: HostArray, part: tuple[slice, ...]) -> None:
    """Copy labels to a part of an array of the same type in C order, bypassing caches."""
    from equilabel.runs.cpu.painting import copy_rows

    starts = _row_starts(array.shape, part)
    period, first = ALIGNED // array.itemsize, array.ctypes.data % ALIGNED
    aligned = not first and not (starts % period).any()
    rows = np.ascontiguousarray(labels).reshape(len(starts), -1)
    copy_rows(rows, starts, aligned, array.reshape(-1))


def _row_starts(
    shape: tuple[int, ...], part: tuple[slice, ...], along: int = -1
) -> NDArray[np.int64]:
    """Return the flat index in an array of each row of a part; rows are those along an axis."""
    strides = grid.strides(shape)
    offsets = [np.arange(one.start, one.stop) * k for one, k in zip(part, strides, strict=True)]
    offsets[along] = offsets[along][:1]
    starts: NDArray[np.int64] = reduce(np.add.outer, offsets).reshape(-1)
    return starts


@dataclass(frozen=True, eq=False)
class ZarrOutput:
    """A Zarr array, on a disk or in any other store."""

    open: Callable[[], Any]

    @classmethod
    def at(cls, path: Any, token: str, chunks: Any = None) -> ZarrOutput:
        """Return an array at a path; `token` is that of a run, which opens it again.

        Its chunks are at another path if there is one, where they are no array before it is
        described there.
        """
        return cls(partial(_open, path, token, chunks))

    @property
    def array(self) -> Any:
        """The array, in this process."""
        return self.open()

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
        """Write all chunks of a block, also those without labels."""
        write_part(self.array, part, labels)

    def read(self, part: tuple[slice, ...]) -> HostArray:
        """Read the labels of a block."""
        return read_part(self.array, part)

    def flush(self, parts: Sequence[tuple[slice, ...]]) -> None:
        """Flush the files of some blocks to the disk, if it has files."""
        array = self.array
        root = getattr(array.store, "root", None)
        if root is None:  # in memory, or in a store that says when it has taken a chunk
            return
        sides = getattr(array, "shards", None) or array.chunks
        files = [
            Path(root, array.path, array.metadata.encode_chunk_key(place))
            for part in parts
            for place in product(
                *(
                    range(one.start // side, -(-one.stop // side))
                    for one, side in zip(part, sides, strict=True)
                )
            )
        ]
        for file in files:
            with suppress(FileNotFoundError):  # an array of the caller may leave out empty chunks
                flush_file(file)
        for folder in {above for file in files for above in list(file.parents)[: array.ndim]}:
            flush_folder(folder)


Output = ArrayOutput | ZarrOutput


def is_in_memory(array: Any) -> bool:
    """Return whether an image is a NumPy array, or a Zarr array in a memory store."""
    store = getattr(array, "store", None)
    return isinstance(array, np.ndarray) or type(store).__name__ == "MemoryStore"


@lru_cache(16)
def _open(path: Any, token: str, chunks: Any) -> Any:
    """Open an array for writing."""
    import zarr
    from zarr.core.array import AsyncArray
    from zarr.storage import StorePath

    # The argument of the same name is used for new arrays only.
    with _opening, zarr.config.set({"array.write_empty_chunks": True}):
        array = zarr.open_array(zarr_store(path, read_only=False), mode="r+")
        if chunks is None:
            return array
        there = StorePath(zarr_store(chunks, read_only=False))
        return zarr.Array(AsyncArray(array.metadata, there, array.config))


def zarr_at(path: Any, *, read_only: bool = True) -> Any:
    """Open the array or group of a Zarr at a path of this machine or of a store."""
    import zarr

    store = zarr_store(path, read_only=read_only)
    return zarr.open(store, mode="r" if read_only else "r+")


def chunks_of(path: Any, made: Any, out: Any) -> Any:
    """Return where the chunks of an array are that is described at a path in the folder `made`.

    In a store, whose files cannot be renamed, that is the place that it will have in `out`; None
    elsewhere.
    """
    if not is_remote(out):
        return None
    return out if path == made else out / path.name


def create_zarr(
    path: Any,
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

    store = zarr_store(path, read_only=False)
    if path.exists() and not fresh:
        known = zarr.open_array(store, mode="r")
        alike = (known.shape, known.chunks, known.shards, known.dtype)
        if alike == (shape, chunks, shards, dtype):
            return
    compressors: Any = [BloscCodec(cname="lz4", clevel=5, shuffle="noshuffle"), Crc32cCodec()]
    if zarr_format == 2:
        compressors = Blosc(cname="lz4", clevel=5, shuffle=Blosc.NOSHUFFLE)
    zarr.create_array(
        store,
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


@dataclass(frozen=True, eq=False)
class BlockRuns:
    """The numbered runs of a block."""

    runs: Any  # of a `RunTable`: each has its label
    used: int  # number of the last run + 1
    columns: int  # pixels in a row
    shape: tuple[int, ...]  # of the block, with axes of length 1
    count: int  # number of labels

    @classmethod
    def of(cls, table: Any, shape: tuple[int, ...], count: int) -> BlockRuns:
        """Copy what is needed from a `RunTable`, without its pixels."""
        return cls(table.runs, int(table.counts[-1]), table.columns, shape, count)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        kind: np.dtype[Any] = self.runs.parents.dtype
        return kind

    def labels(self) -> HostArray:
        """Return the labels of the block."""
        return self._painted(np.arange(len(self.runs.bits) - 1), self.shape)

    def firsts(self) -> NDArray[np.int64]:
        """Return the first element of each component, as a flat index in the block."""
        from equilabel.runs.cpu.seams import list_firsts

        firsts = np.empty(self.count, np.int64)
        list_firsts(self.runs, self.columns, firsts)
        return firsts

    def layers(self, axis: int, first: int, last: int) -> HostArray:
        """Return a copy of the labels of some layers along an axis."""
        from equilabel.runs.cpu.seams import paint_columns

        rows = len(self.runs.bits) - 1
        shape = (*self.shape[:axis], last - first, *self.shape[axis + 1 :])
        along = self._row_axis
        if not self.count:
            return np.zeros(shape, self.dtype)
        if axis == along:
            found = np.empty((rows, last - first), self.dtype)
            paint_columns(self.runs, first, last, found)
            return found.reshape(shape)
        sides = (*self.shape[:along], 1, *self.shape[along + 1 :])
        some = np.arange(rows).reshape(sides)[(*(slice(None),) * axis, slice(first, last))]
        return self._painted(np.ascontiguousarray(some).reshape(-1), shape)

    def write(
        self, numbers: HostArray, part: tuple[slice, ...], blank: bool, out: HostArray
    ) -> None:
        """Write `numbers`, (N + 1,), of labels 0 to N to a part of `out`, which is in C order.

        `blank` says that `out` is 0 there. The labels of the runs may be overwritten.
        """
        from equilabel.devices.cpu.renumbering import renumber
        from equilabel.runs.cpu.painting import paint_lines

        if not self.count:
            if not blank:
                out[part] = 0
            return
        runs = self.runs
        if runs.parents.itemsize < numbers.itemsize:
            runs = runs._replace(parents=runs.parents.astype(numbers.dtype))
        renumber(runs.parents, np.zeros(1, np.int64), self.used, numbers)
        along = self._row_axis
        if grid.strides(out.shape)[along] > 1:  # its rows are not rows of the image
            out[part] = replace(self, runs=runs).labels()
            return
        starts = _row_starts(out.shape, part, along)
        rows = np.arange(len(starts))
        paint_lines(runs, self.columns, rows, starts, blank, out.reshape(-1))

    @property
    def _row_axis(self) -> int:
        """Axis of the rows: the last one longer than 1, in most cases."""
        shape, rows = self.shape, len(self.runs.bits) - 1
        axes = range(len(shape) - 1, -1, -1)
        return next(one for one in axes if shape[one] == self.columns and prod(shape[:one]) == rows)

    def _painted(self, rows: NDArray[np.int64], shape: tuple[int, ...]) -> HostArray:
        """Return the labels of some rows."""
        from equilabel.runs.cpu.painting import paint_lines

        found = np.zeros(prod(shape), self.dtype)
        if self.count:
            starts = np.arange(len(rows)) * self.columns
            paint_lines(self.runs, self.columns, rows, starts, True, found)
        return found.reshape(shape)


class Kept:
    """Labels of blocks of an array in memory, kept from labeling to writing.

    They are runs if a method finds these, otherwise in `array`. `out` receives the final labels:
    int32 or int64, in C order; its content is overwritten.
    """

    def __init__(self, shape: tuple[int, ...], out: HostArray | None = None) -> None:
        self._blank = out is None  # zeros take no memory before they are written to
        self.array: HostArray = np.zeros(shape, np.int32) if out is None else out
        self._runs: dict[int, BlockRuns] = {}
        self._in_array = False

    def keep(self, block: int, part: tuple[slice, ...], labels: HostArray | BlockRuns) -> None:
        """Keep the labels of a block."""
        if isinstance(labels, BlockRuns):
            self._runs[block] = labels
        else:
            self.array[part] = labels
            self._in_array = True

    def labels(self, block: int, part: tuple[slice, ...]) -> HostArray:
        """Return the labels of a block."""
        runs = self._runs.get(block)
        return self.array[part] if runs is None else runs.labels()

    def widen(self) -> None:
        """Change the array to 64 bits."""
        blank = np.zeros(self.array.shape, np.int64)
        self.array = self.array.astype(np.int64) if self._in_array else blank

    def finish(self, block: int, part: tuple[slice, ...], numbers: HostArray) -> None:
        """Replace the labels 0 to N of a block by `numbers`, and forget its runs."""
        from equilabel.devices.cpu.renumbering import renumber

        runs = self._runs.pop(block, None)
        if runs is not None:
            runs.write(numbers.astype(self.array.dtype), part, self._blank, self.array)
            return
        starts, width = _row_starts(self.array.shape, part), part[-1].stop - part[-1].start
        renumber(self.array.reshape(-1), starts, width, numbers)


AT_WORK = 24  # bytes that an element of a block takes at most while it is processed
SHARE = 0.9  # of the memory that blocks in progress leave free


class HeldLabels:
    """Labels of blocks on GPUs, for workers that are threads of one process.

    They leave enough memory for as many blocks in progress as there are `workers`. Free memory is
    what CuPy may still allocate: `cupy.get_default_memory_pool().set_limit` limits it. `device` is
    "cuda", for all GPUs, or "cuda:<index>".
    """

    def __init__(self, device: str, blocks: Blocks, workers: int) -> None:
        free = room_on_gpus(device)
        each = min(-(-workers // len(free)), LANES) * AT_WORK * prod(blocks.sides)
        self._room = {gpu: int(SHARE * max(0, some - each)) for gpu, some in free.items()}
        self._held: dict[int, tuple[Array, Any]] = {}
        self._lock = Lock()

    def keep(self, block: int, labels: Array, count: int) -> bool:
        """Keep the labels 0 to `count` of a block if they are on a GPU that has room for them."""
        if not is_on_cuda(labels):
            return False
        narrow = labels.astype("u2") if count < 2**16 else labels
        gpu = index_of(labels)
        with self._lock:
            if narrow.nbytes > self._room[gpu]:
                return False
            self._room[gpu] -= narrow.nbytes
            self._held[block] = narrow, current_event()
        return True

    def take(self, block: int) -> Array:
        """Return the labels of a block and release them; None if they are not kept."""
        with self._lock:
            narrow, made = self._held.pop(block, (None, None))
        if made is not None:
            made.synchronize()  # they were made on another stream
        return narrow
