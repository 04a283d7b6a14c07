"""Labels of blocks from labeling to writing, and the arrays that take them, block by block."""

from __future__ import annotations

import asyncio
import secrets
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import LANES, current_event, index_of, is_on_cuda, room_on_gpus
from equilabel.storage.files import flush_file, flush_folder, is_remote
from equilabel.storage.remote import zarr_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array, HostArray

    from .blocks import Blocks

    Slices = tuple[slice, ...]


_opening = threading.Lock()  # held while arrays are opened: threads share Zarr's configuration


@dataclass(frozen=True, eq=False)
class Output:
    """An array that takes labels or a mask: of NumPy in C order, or of Zarr in any store."""

    open: Callable[[], Any]

    @classmethod
    def at(cls, path: Any, chunks: Any = None) -> Output:
        """Return a Zarr at a path, whose chunks may be elsewhere until it is described there."""
        return cls(partial(_open, path, secrets.token_hex(8), chunks))

    @property
    def array(self) -> Any:
        """The array, in this process."""
        return self.open()

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    def view(self, part: Slices) -> HostArray | None:
        """Return the memory of a block; None for a Zarr."""
        array = self.array
        return array[part] if isinstance(array, np.ndarray) else None

    def write(self, part: Slices, labels: HostArray) -> None:
        """Write the labels of a block, all chunks of it, or a mask."""
        write_part(self.array, part, labels)

    def read(self, part: Slices) -> HostArray:
        """Read the labels of a block."""
        return read_part(self.array, part)

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a block, for later stages."""
        return partial(self.read, part)

    def flush(self, parts: Sequence[Slices]) -> None:
        """Flush the files of some blocks to the disk, if it has files."""
        array = self.array
        root = getattr(getattr(array, "store", None), "root", None)
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


def is_in_memory(array: Any) -> bool:
    """Return whether only this process sees an array, a path or a URL."""
    if isinstance(array, np.ndarray):
        return True
    store = getattr(array, "store", None)
    known = type(store).__name__ == "MemoryStore"
    return known or (not hasattr(array, "shape") and str(array).startswith("memory:"))


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
    """Return where in a store, whose files keep their names, chunks of `made` are; or None."""
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

    LZ4 without a filter: labels repeat along rows, which shuffling would hide. A CRC-32C finds
    damage; chunks without labels are stored, so that a missing one is an error. `axes` are names.
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


def new_output(path: Any, shape: tuple[int, ...], sides: tuple[int, ...], dtype: Any) -> Output:
    """Return a new array of a run, or the one that an earlier run has begun; None: in memory."""
    if path is None:
        array = np.empty(shape, dtype)
        return Output(lambda: array)
    create_zarr(path, shape, sides, np.dtype(dtype))
    return Output.at(path)


AT_WORK = 24  # bytes that an element of a block takes at most while it is processed
SHARE = 0.9  # of the memory that blocks in progress leave free


class HeldLabels:
    """Labels of blocks on the GPUs of a device, for workers that are threads of one process.

    They leave memory for as many blocks in progress as there are `workers`, within the limit of
    CuPy's default memory pool.
    """

    def __init__(self, device: str, blocks: Blocks, workers: int) -> None:
        free = room_on_gpus(device)
        each = min(-(-workers // len(free)), LANES) * AT_WORK * prod(blocks.sides)
        self._room = {gpu: int(SHARE * max(0, some - each)) for gpu, some in free.items()}
        self._held: dict[int, tuple[Array, Any]] = {}
        self._lock = threading.Lock()

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


# ---- Parts of a Zarr array, in the calling thread: Zarr copies all blocks in one thread of its own

ANY_LOOP = ("LocalStore", "RegularFiles", "MemoryStore")  # stores not bound to an event loop


def read_part(array: Any, part: Slices) -> HostArray:
    """Read a part of a Zarr array, or of anything indexed like one; it must not be changed."""
    if not _is_ours(array):
        return np.asarray(array[part])
    return np.asarray(_run(array.async_array.getitem(part)))


def write_part(array: Any, part: Slices, values: HostArray) -> None:
    """Write a part of a Zarr array; a store may keep the memory of `values`."""
    if _is_ours(array):
        _run(array.async_array.setitem(part, values))
    else:
        array[part] = values


def _is_ours(array: Any) -> bool:
    """Return whether this thread can run an event loop for a store: none is running in it."""
    store = type(getattr(array, "store", None)).__name__
    return store in ANY_LOOP and asyncio._get_running_loop() is None


class _Executor(ThreadPoolExecutor):
    """Runs each function at once in the calling thread, such as one that opens a file."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Return a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **more))
        except BaseException as error:
            future.set_exception(error)
        return future


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that starts no thread to end its executor: without memory, that would hang."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Do nothing: all that was submitted is done."""


def _run(work: Any) -> Any:
    """Return the result of a coroutine; after an error, nothing of it goes on."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.get_loop().set_default_executor(_Executor(1))
        return runner.run(work)
