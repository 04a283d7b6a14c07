"""Results of each block that are stored during a run, so that a killed run can be resumed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from msgspec import msgpack

from equilabel.storage.files import folder_for, is_folder, is_remote, locked_file, replacing
from equilabel.storage.remote import Lease, make_folder, read_range, remove_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    Arrays = Sequence[Any]  # of NumPy


DIGEST, LENGTH = 16, 8  # bytes of a checksum, and of the length of an index
HEAD = 2**15  # bytes of a file that are read first
NUMBERED = 1024  # blocks whose labels are in one file
MOST = 2**29  # elements of a group of blocks, if it has more than one
CACHED = 2**26  # bytes of arrays that a process keeps after it has read or stored them


class DamagedFileError(OSError):
    """A file of arrays is missing, truncated or changed."""


def pack(arrays: Arrays) -> bytes:
    """Return arrays, or None in place of some, as compressed bytes with a checksum."""
    from numcodecs import Zstd
    from xxhash import xxh3_128_digest

    stored = [one if one is None else (one.dtype.str, one.shape, one.tobytes()) for one in arrays]
    data = msgpack.encode(stored)
    packed: bytes = Zstd(level=1).encode(data)
    return xxh3_128_digest(packed) + packed


def unpack(data: bytes) -> list[Any]:
    """Return the arrays that `pack` converted; raise DamagedFileError if bytes have changed."""
    from numcodecs import Zstd
    from xxhash import xxh3_128_digest

    if xxh3_128_digest(data[DIGEST:]) != data[:DIGEST]:
        raise _damaged(data[:DIGEST])
    stored = msgpack.decode(Zstd().decode(data[DIGEST:]))
    return [one if one is None else np.ndarray(one[1], one[0], one[2]) for one in stored]


def _damaged(got: object) -> DamagedFileError:
    message = f"checkpoint must be as it was written; got {got!r}. Run again with resume=True."
    return DamagedFileError(message)


def checksum(array: HostArray) -> int:
    """Return the XXH64 of the elements of an array in C order; other threads can run meanwhile."""
    from xxhash import xxh64_intdigest

    return xxh64_intdigest(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


class Part(NamedTuple):
    """Components of one block, numbered from 1 in any order."""

    checksum: int  # of the pixels
    total: int  # number of components
    # By blocks: the components that take part in the merge, (L,), ascending; the others are final.
    merged: NDArray[np.int64]
    dropped: NDArray[np.int64]  # those of the others that are not kept
    # In raster order, where all take part, (L,): first element of each in the whole image.
    firsts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """(L, 1 + 2 * axes): pixels, first and last + 1 coordinates in the whole image; or (0, 0)."""

    @property
    def listed(self) -> int:
        """Number of components that take part in the merge."""
        return len(self.merged) + len(self.firsts)  # one of them is empty

    @property
    def final(self) -> int:
        """Number of components that get a label without being merged."""
        return self.total - len(self.merged) - len(self.dropped)


class Faces(NamedTuple):
    """First and last layers of labels of a block along each axis; empty where no block follows."""

    lows: tuple[HostArray, ...]  # uint16, int32 or int64
    highs: tuple[HostArray, ...]
    values: HostArray  # (N,) value of the pixels of each component, or (0,) for a mask

    def toward(self, step: Sequence[int], depth: int) -> HostArray:
        """Return the outermost layers in the direction of a step, at a side, edge or corner."""
        axis = next(one for one, move in enumerate(step) if move)
        found = self.highs[axis] if step[axis] > 0 else self.lows[axis]
        for one, move in enumerate(step):
            if move:
                near = slice(-depth, None) if move > 0 else slice(0, depth)
                found = found[(*(slice(None),) * one, near)]
        return found

    def touched(self) -> NDArray[np.int64]:
        """Return the components that touch another block, or could: (L,), ascending."""
        found = [face.take(0, axis) for axis, face in enumerate(self.lows) if face.size]
        found += [face.take(-1, axis) for axis, face in enumerate(self.highs) if face.size]
        labels = np.unique(np.concatenate([np.zeros(1, np.int64), *map(np.unique, found)]))
        return labels[labels > 0].astype(np.int64)


class Saved:
    """Results of blocks that later stages read: files by stage and group of blocks in a folder.

    A record is a list of arrays; those of a group are stored at once. Without a folder, which all
    workers can read, records stay in the memory of this process.
    """

    def __init__(self, folder: Any = None, token: str | None = None, together: int = 1) -> None:
        """Take a folder that exists, the token of this run, and how many blocks form a group."""
        self.folder, self.token, self.together = folder, token or secrets.token_hex(8), together
        self._records: dict[tuple[str, int], Mapping[str, Arrays]] = {}  # without a folder
        self._cache = _cache_of(folder, self.token)

    def __reduce__(self) -> Any:
        return Saved, (self.folder, self.token, self.together)

    def group(self, block: int) -> int:
        """Return the group of a block."""
        return block // self.together

    def groups(self, blocks: int) -> list[range]:
        """List the blocks of each group, of so many blocks."""
        some = self.together
        return [range(first, min(first + some, blocks)) for first in range(0, blocks, some)]

    def note(self, name: str) -> Any:
        """Return the path of a result beside those of blocks; None: no files."""
        return None if self.folder is None else self.folder / name

    def room(self, name: str) -> Saved:
        """Return the results of blocks of an earlier stage, which are stored beside these."""
        if self.folder is None:
            return Saved()
        make_folder(self.folder / name)
        return Saved(self.folder / name, self.token, self.together)

    def save(self, stage: str, group: int, records: Mapping[str, Arrays]) -> None:
        """Store the records of a group. Not flushed: checksums find damage after power is lost."""
        if self.folder is None:
            self._records[stage, group] = records
            return
        packed = [pack(arrays) for arrays in records.values()]
        ends = np.cumsum([0, *map(len, packed)])
        index = pack([np.frombuffer("\n".join(records).encode(), np.uint8), ends])
        path = self.folder / f"{stage}-{group}"
        with replacing(path, flush=False) as unfinished, unfinished.open("wb") as file:
            file.writelines([len(index).to_bytes(LENGTH, "little"), index, *packed])
        for name, arrays in records.items():
            self._cache.put((stage, group, name), arrays)

    def names(self, stage: str, group: int) -> list[str]:
        """List the records of a group."""
        if self.folder is None:
            return list(self._records[stage, group])
        return _index_of(self.folder / f"{stage}-{group}", self.token)[0]

    def has(self, stage: str, group: int) -> bool:
        """Return whether the records of a group are complete and undamaged."""
        if self.folder is None:
            return (stage, group) in self._records
        path = self.folder / f"{stage}-{group}"
        try:
            _, ends = _read_index(path)
            data = _read_bytes(path, ends[0], ends[-1])
            for start, end in pairwise(ends - ends[0]):
                unpack(data[start:end])
        except DamagedFileError:
            return False
        return True

    def load(self, stage: str, group: int, name: str) -> Arrays:
        """Return a record."""
        if self.folder is None:
            return self._records[stage, group][name]
        found = self._cache.get((stage, group, name))
        if found is None:
            path = self.folder / f"{stage}-{group}"
            names, ends = _index_of(path, self.token)
            place = names.index(name)
            found = unpack(_read_bytes(path, ends[place], ends[place + 1]))
            self._cache.put((stage, group, name), found)
        return found

    def part(self, block: int) -> Part:
        """Return the components of a block."""
        (known, total), *arrays = self.load("label", self.group(block), f"{block}")
        return Part(int(known), int(total), *arrays)

    def faces(self, block: int) -> Faces:
        """Return the labels at the ends of a block."""
        *ends, values = self.load("label", self.group(block), f"{block} faces")
        axes = len(ends) // 2
        return Faces(tuple(ends[:axes]), tuple(ends[axes:]), values)

    def save_parts(self, group: int, found: Mapping[int, tuple[Part, Faces]]) -> None:
        """Store the results of labeling the blocks of a group."""
        records: dict[str, Arrays] = {}
        for block, (part, faces) in found.items():
            known = np.array([part.checksum, part.total], np.uint64)
            records[f"{block}"] = known, *part[2:]
            records[f"{block} faces"] = *faces.lows, *faces.highs, faces.values
        self.save("label", group, records)

    def save_numbers(
        self, labels: HostArray, offsets: NDArray[np.int64], others: NDArray[np.int64]
    ) -> None:
        """Store the labels that `number_components` found."""
        for first in range(0, len(offsets) - 1, NUMBERED):
            records = {}
            for block in range(first, min(first + NUMBERED, len(offsets) - 1)):
                own = labels[slice(*offsets[block : block + 2])].copy()  # or all would be kept
                records[f"{block}"] = [own, others[block : block + 1]]
            self.save("numbers", first // NUMBERED, records)

    def numbers(self, block: int) -> HostArray:
        """Return the label of each component of a block, 0 for those that are not kept."""
        found = self._cache.get(block)
        if found is None:
            labels, other = self.load("numbers", block // NUMBERED, f"{block}")
            if other.size:  # by blocks: of those that are merged, and the others in their order
                part, merged = self.part(block), labels
                labels, alone = np.zeros(part.total, labels.dtype), np.ones(part.total, np.bool_)
                alone[part.merged - 1] = alone[part.dropped - 1] = False
                labels[alone] = np.arange(part.final) + int(other[0]) + 1
                labels[part.merged - 1] = merged
            found = [labels]
            self._cache.put(block, found)
        numbers: HostArray = found[0]
        return numbers

    def forget(self) -> None:
        """Forget what is kept in memory of what is stored."""
        _cache_of.cache_clear()
        _index_of.cache_clear()


class Cache:
    """Records that were used last, up to `CACHED` bytes."""

    def __init__(self) -> None:
        self._size, self._lock = 0, threading.Lock()
        self._held: OrderedDict[Hashable, Arrays] = OrderedDict()

    def get(self, key: Hashable) -> Arrays | None:
        """Return a record, if it is there."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: Hashable, arrays: Arrays) -> None:
        """Keep a record, in place of others if there is no room."""
        with self._lock:
            self._size += _bytes(arrays) - _bytes(self._held.get(key, ()))
            self._held[key] = arrays
            while self._size > CACHED and len(self._held) > 1:
                self._size -= _bytes(self._held.popitem(last=False)[1])


def _bytes(arrays: Arrays) -> int:
    return sum(one.nbytes for one in arrays if one is not None)


def blocks_together(shape: Sequence[int], sides: Sequence[int]) -> int:
    """Return how many blocks of some sides form a group: up to 32, in 256 groups or more."""
    number = prod(-(-length // side) for length, side in zip(shape, sides, strict=True))
    return max(1, min(32, number // 256, MOST // prod(sides)))


def _read_index(path: Any) -> tuple[list[str], HostArray]:
    """Read the names of the records of a file, and where they begin, and end."""
    head = _read_bytes(path, 0, HEAD)
    stop = LENGTH + int.from_bytes(head[:LENGTH], "little")
    if stop > len(head) == HEAD:
        head = _read_bytes(path, 0, min(stop, path.stat().st_size))
    text, ends = unpack(head[LENGTH:stop])
    return text.tobytes().decode().split("\n"), ends + stop


@lru_cache(256)
def _index_of(path: Any, token: str) -> tuple[list[str], HostArray]:
    """Read the index of a file once in each process of a run."""
    return _read_index(path)


def _read_bytes(path: Any, start: int, stop: int) -> bytes:
    """Read a part of a file; raise DamagedFileError if that is not possible."""
    try:
        return read_range(path, int(start), int(stop))
    except (OSError, ValueError) as error:
        raise _damaged(error) from error


@lru_cache(4)
def _cache_of(folder: Any, token: str) -> Cache:
    """Return what this process keeps of a folder."""
    return Cache()


# ---- The folder of an unfinished run: locked, with a manifest

MANIFEST, LOCK = "manifest.json", "lock"


class OtherRunError(ValueError):
    """The run to resume had another image or other arguments."""


@contextmanager
def temporary() -> Iterator[Path]:
    """Make a folder for a run that cannot be resumed; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="equilabel-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def unfinished(out: Any, manifest: Mapping[str, Any], *, resume: bool) -> Iterator[Any]:
    """Make or find the folder of a run, and lock it; it is removed when the run is complete.

    To resume a run, the `manifest` must be the same: otherwise OtherRunError. RuntimeError if
    another run makes the same result now.
    """
    folder = folder_for(out)
    with _locked(folder, out):
        known = read_object(folder / MANIFEST)
        if known is None or not resume:
            if known is not None and is_remote(out):
                remove_tree(out)  # chunks of an earlier run, which are no Zarr
            _clear(folder)
            with replacing(folder / MANIFEST) as file:
                file.write_text(json.dumps(manifest, indent=1, sort_keys=True), "utf-8")
        else:
            check_manifest(known, manifest, str(out))
        yield folder
        _clear(folder)


@contextmanager
def _locked(folder: Any, out: Any) -> Iterator[None]:
    """Lock the folder of a run; raise RuntimeError if another run has locked it."""
    lease = Lease(folder / LOCK) if is_remote(folder) else None
    descriptor = locked_file(folder, LOCK) if lease is None else None
    if descriptor is None and not (lease is not None and lease.take()):
        message = (
            f"out must be made by one run at a time; got {str(out)!r}, which another run makes "
            "now. Wait until it ends, or choose another path."
        )
        raise RuntimeError(message)
    done = False
    try:
        yield
        done = True
    finally:
        if lease is not None:
            lease.release()
        else:
            if done and os.name != "nt":  # Windows cannot remove open files
                remove_tree(folder)
            os.close(cast("int", descriptor))
            if done and os.name == "nt":
                remove_tree(folder)


def read_object(file: Any) -> dict[str, Any] | None:
    """Read a JSON object; None if the file is missing or damaged."""
    try:
        found = json.loads(file.read_text("utf-8")) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def noted(saved: Saved, name: str, find: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Return a list of numbers, which is found once: a resumed run reads it."""
    file = saved.note(name)
    known = ((file is not None and read_object(file)) or {}).get("found")
    if isinstance(known, list):
        return known
    found = find()
    if file is not None:
        with replacing(file) as unfinished:
            text = json.dumps({"found": found}, default=lambda number: number.item())
            unfinished.write_text(text, "utf-8")
    return found


def check_manifest(known: Mapping[str, Any], manifest: Mapping[str, Any], out: str) -> None:
    """Raise OtherRunError if the manifest of the run to resume is different."""
    manifest = json.loads(json.dumps(manifest))
    other = [key for key in manifest if known.get(key) != manifest[key]]
    if other:
        was = ", ".join(f"{key}={known.get(key)!r}" for key in other)
        now = ", ".join(f"{key}={manifest[key]!r}" for key in other)
        message = (
            f"resume must go on with the image and arguments with which {out!r} was begun; got "
            f"{now}, before {was}. Pass resume=False to begin again."
        )
        raise OtherRunError(message)


def _clear(folder: Any) -> None:
    """Remove everything except the lock; the manifest first, so that remains are not used."""
    with suppress(FileNotFoundError):
        (folder / MANIFEST).unlink()
    for leftover in list(folder.iterdir()):
        if leftover.name == LOCK:
            continue
        if not is_folder(leftover):
            leftover.unlink()
        elif is_remote(folder):
            remove_tree(leftover)
        else:
            shutil.rmtree(leftover)  # or fail: nothing of another run may stay
