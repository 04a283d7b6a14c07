"""Reading and writing parts of a Zarr array in the calling thread.

Zarr copies all blocks in one thread of its own, however many threads wait. Chunks that are stored
without compression and checksum are not copied at all.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray

    Slices = tuple[slice, ...]

ANY_LOOP = ("LocalStore", "RegularFiles", "MemoryStore")  # stores not bound to an event loop


def read_part(array: Any, part: Slices) -> HostArray:
    """Read a part of a Zarr array, or of anything indexed like one.

    The result may be the memory of the store and must not be changed.
    """
    if not _is_ours(array):
        return np.asarray(array[part])
    key = _key_of_plain_chunk(array, part)
    if key is not None:
        found = _loop.run(_get(array.store_path / key))
        shape = array.chunks
        if found is not None and found.nbytes == prod(shape) * array.dtype.itemsize:
            sides = tuple(slice(*one.indices(n)) for one, n in zip(part, array.shape, strict=True))
            inside = tuple(slice(0, one.stop - one.start) for one in sides)
            chunk: HostArray = found.view(_stored_type(array)).reshape(shape)[inside]
            return chunk.astype(array.dtype, copy=False)
    return np.asarray(_loop.run(array.async_array.getitem(part)))


def write_part(array: Any, part: Slices, values: HostArray) -> None:
    """Write a part of a Zarr array; a store may keep the memory of `values`."""
    if not _is_ours(array):
        array[part] = values
        return
    key = _key_of_plain_chunk(array, part)
    if key is not None and values.shape == array.chunks and array.config.write_empty_chunks:
        plain = np.ascontiguousarray(values, _stored_type(array)).reshape(-1).view(np.uint8)
        _loop.run(_set(array.store_path / key, plain))
        return
    _loop.run(array.async_array.setitem(part, values))


def _key_of_plain_chunk(array: Any, part: Slices) -> str | None:
    """Return the key of the chunk that a part covers, if it is not encoded; otherwise None."""
    metadata = array.metadata
    codecs = getattr(metadata, "codecs", ())  # not in format 2
    if [type(codec).__name__ for codec in codecs] != ["BytesCodec"]:
        return None
    corner = []
    for one, side, length in zip(part, array.chunks, array.shape, strict=True):
        start, stop, stride = one.indices(length)
        if stride != 1 or start % side or stop != min(start + side, length):
            return None
        corner.append(start // side)
    key: str = metadata.encode_chunk_key(tuple(corner))
    return key


def _stored_type(array: Any) -> np.dtype[Any]:
    """Return the type of stored elements, in their byte order."""
    endian = array.metadata.codecs[0].endian  # an enum, text or None
    dtype: np.dtype[Any] = array.dtype.newbyteorder(getattr(endian, "value", endian) or "little")
    return dtype


async def _get(path: Any) -> HostArray | None:
    """Return the bytes of a chunk, or None if it is missing."""
    found = await path.get()
    return None if found is None else found.as_numpy_array().view(np.uint8)


async def _set(path: Any, data: HostArray) -> None:
    """Store the bytes of a chunk."""
    from zarr.core.buffer import default_buffer_prototype

    await path.set(default_buffer_prototype().buffer.from_array_like(data))


def _is_ours(array: Any) -> bool:
    """Return whether this thread can run the event loop of a store: it has none that is running."""
    import asyncio

    store = type(getattr(array, "store", None)).__name__
    return store in ANY_LOOP and asyncio._get_running_loop() is None


class _Here(ThreadPoolExecutor):
    """Executor that runs each function at once in the calling thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Return a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **more))
        except BaseException as error:
            future.set_exception(error)
        return future


class _Loop(threading.local):
    """An event loop for each thread, made when first needed, and closed when the thread ends."""

    loop: Any = None

    def run(self, work: Any) -> Any:
        """Return the result of a coroutine."""
        if self.loop is None:
            self.loop = _make_loop()
            self.owner = _Owner()
            weakref.finalize(self.owner, self.loop.close)
        try:
            return self.loop.run_until_complete(work)
        except BaseException:
            self.loop.run_until_complete(_end_others())
            raise


async def _end_others() -> None:
    """Cancel the tasks of this loop that read other chunks, after one has failed."""
    import asyncio

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _make_loop() -> Any:
    """Make an event loop that runs blocking calls, such as opening files, in its own thread."""
    import asyncio

    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Here(1))
    return loop


class _Owner:
    """Object that is destroyed when its thread ends."""


_loop = _Loop()
