"""Open Zarr arrays with plausible descriptions, and report parts that cannot be decoded."""

from __future__ import annotations

from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from .directories import UnreadableImageError, refuse, unreadable
from .files import kind_of_file
from .memory import free, readable

DESCRIPTIONS = ("zarr.json", ".zarray", ".zattrs")
MOST = 2**63  # bytes of an array; sizes must fit in int64


def open_zarr(path: Path | str) -> Any:
    """Open the Zarr array in a folder for reading.

    Raises UnreadableImageError if its description is wrong or announces more than a machine can
    read, ImportError if zarr is not installed.

    >>> import tempfile
    >>> import zarr
    >>> folder = tempfile.mkdtemp()
    >>> made = zarr.create_array(folder, shape=(0, 5), chunks=(1, 5), dtype="u1")
    >>> open_zarr(folder)
    Traceback (most recent call last):
    equilabel.storage.directories.UnreadableImageError: image file must have an axis and no empty \
one; got shape (0, 5). Copy or export it again.
    """
    import zarr

    try:
        array: Any = zarr.open_array(_regular_files()(Path(path), read_only=True), mode="r")
        shape, chunks, width = tuple(array.shape), tuple(array.chunks), array.dtype.itemsize
    except (OSError, MemoryError, UnreadableImageError):
        raise
    except Exception as error:  # zarr raises many types
        refuse("have the description of an array of Zarr", f"{_text(error)} at {str(path)!r}")
    if not shape or min(shape) < 1 or min(chunks) < 1:
        refuse("have an axis and no empty one", f"shape {shape}")
    if prod(shape) * width >= MOST:
        refuse("have fewer than 2^63 bytes of pixels", f"shape {shape}")
    if prod(chunks) * width > free():
        size, shown = readable(prod(chunks) * width), " x ".join(map(str, chunks))
        remedy = "Store it in smaller chunks, or use a machine with more memory."
        refuse("have chunks that fit in memory", f"chunks of {shown}, {size}", remedy)
    return array


@cache
def _regular_files() -> Any:
    """Return a Zarr store that opens only regular files: a pipe or a device would not end."""
    from zarr.storage import LocalStore

    class RegularFiles(LocalStore):  # type: ignore[misc, unused-ignore]
        async def get(self, key: str, *args: Any, **more: Any) -> Any:
            self._check(key)
            return await super().get(key, *args, **more)

        def get_sync(self, key: str, **more: Any) -> Any:
            self._check(key)
            return super().get_sync(key, **more)

        def _check(self, key: str) -> None:
            path = self.root / key
            try:
                kind = kind_of_file(path.stat().st_mode)
            except OSError:  # missing, or opening it raises the error
                return
            if kind != "file":
                refuse("have a regular file for each chunk", f"a {kind} at {str(path)!r}")

    return RegularFiles


def note_missing(folder: Path) -> tuple[str, ...]:
    """Return a note if chunks of an array have no files: left out as empty, or lost."""
    array = open_zarr(folder)
    stored = getattr(array, "shards", None) or array.chunks
    pairs = zip(array.shape, stored, strict=True)
    total = prod(-(-length // side) for length, side in pairs)
    found = sum(file.is_file() and file.name not in DESCRIPTIONS for file in folder.rglob("*"))
    if found >= total:
        return ()
    value = array.fill_value or 0  # may be None
    return (f"{total - found:,} of {total:,} chunks are not stored: their pixels are {value}.",)


def undecoded(error: Exception, part: tuple[slice, ...]) -> Exception:
    """Return the error for a part of an array that cannot be read; it names the part if it can."""
    if isinstance(error, (MemoryError, UnreadableImageError)):
        return error
    if isinstance(error, OSError) and error.errno is not None:
        return error
    where = ", ".join(f"{one.start}:{one.stop}" for one in part)
    return unreadable("have chunks that can be decoded", f"{_text(error)} in [{where}]")


def _text(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}..."
