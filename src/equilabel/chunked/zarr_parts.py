"""Parts of an array of Zarr, read and written in the thread that asks.

Zarr itself does all of this in one thread beside those that decode: blocks are copied there one
after the other, however many threads wait for them. A chunk that is stored as it is, neither
compressed nor with a checksum, is not copied at all.
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

ANY_LOOP = ("LocalStore", "RegularFiles", "MemoryStore")  # stores that belong to no event loop


def read_part(array: Any, part: Slices) -> HostArray:
    """Read a part of an array of Zarr, or of what can be indexed like one.

    It may be the memory of the store: to be read, and not to be changed.
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
    """Write a part of an array of Zarr; memory that is stored as it is stays the store's."""
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
    """Return the key of the chunk that a part is all of, if it is stored as it is; else None."""
    metadata = array.metadata
    codecs = getattr(metadata, "codecs", ())  # format 2 has none
    if [type(codec).__name__ for codec in codecs] != ["BytesCodec"]:
        return None
    corner = []
    for one, side, length in zip(part, array.chunks, array.shape, strict=True):
        start, stop, step = one.indices(length)
        if step != 1 or start % side or stop != min(start + side, length):
            return None
        corner.append(start // side)
    key: str = metadata.encode_chunk_key(tuple(corner))
    return key


def _stored_type(array: Any) -> np.dtype[Any]:
    """Return the type of stored elements, in their order of bytes."""
    endian = array.metadata.codecs[0].endian  # an enumeration or text, or None
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
    """Return whether this thread can do the work, and does not yet do such work further up."""
    import asyncio

    store = type(getattr(array, "store", None)).__name__
    return store in ANY_LOOP and asyncio._get_running_loop() is None


class _Here(ThreadPoolExecutor):
    """Runs each function at once, in the thread that asks; it starts no other."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Return a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **more))
        except BaseException as error:
            future.set_exception(error)
        return future


class _Loop(threading.local):
    """An event loop of each thread, made when first needed, and closed when the thread ends."""

    loop: Any = None

    def run(self, work: Any) -> Any:
        """Return what a coroutine returns."""
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
    """End the tasks of this loop that read other chunks of a part when one failed."""
    import asyncio

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _make_loop() -> Any:
    """Make an event loop that does in its thread what would wait; asyncio opens files for it."""
    import asyncio

    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Here(1))
    return loop


class _Owner:
    """What ends with a thread."""


_loop = _Loop()
