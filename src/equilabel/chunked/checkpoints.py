"""Results of each block that are stored during a run, so that a killed run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.storage.files import folder_for, is_folder, locked_file, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


MAGIC = b"equilabel-1\n"
DIGEST = 32  # bytes


class DamagedFileError(OSError):
    """A file of arrays is missing, truncated or changed."""


def save_arrays(path: Path, arrays: Sequence[HostArray]) -> None:
    """Write arrays to a compressed file, which is renamed when it is complete.

    The file is not flushed to the disk: damage after a loss of power is found by the checksum.
    """
    from numcodecs import Zstd

    described = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
    data = [np.ascontiguousarray(array).tobytes() for array in arrays]
    packed = Zstd(level=1).encode(b"".join([described, b"\n", *data]))
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with unfinished.open("wb") as file:
            file.write(MAGIC + hashlib.sha256(packed).digest())
            file.write(packed)
        os.replace(unfinished, path)  # noqa: PTH105 - atomic, and says so
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def load_arrays(path: Path) -> list[HostArray]:
    """Read the arrays of a file; raise DamagedFileError if it is missing, truncated or changed."""
    from numcodecs import Zstd

    data = Zstd().decode(_checked(path))
    described, start = data[: data.index(b"\n")], data.index(b"\n") + 1
    arrays = []
    for name, shape in json.loads(described):
        dtype, count = np.dtype(name), prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, start).reshape(shape))
        start += count * dtype.itemsize
    return arrays


def is_whole(path: Path) -> bool:
    """Return whether a file of arrays exists and is undamaged."""
    try:
        _checked(path)
    except DamagedFileError:
        return False
    return True


def _checked(path: Path) -> bytes:
    """Return the content of a file; raise DamagedFileError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"checkpoint must be readable; got {error}. Run again with resume=True."
        raise DamagedFileError(message) from error
    head, packed = data[: len(MAGIC) + DIGEST], data[len(MAGIC) + DIGEST :]
    if head != MAGIC + hashlib.sha256(packed).digest():
        message = (
            f"checkpoint must be as it was written; got {str(path)!r}, which has changed. "
            "Run again with resume=True."
        )
        raise DamagedFileError(message)
    return packed


def checksum(array: HostArray) -> int:
    """Return the XXH64 of the elements of an array in C order; other threads can run meanwhile."""
    from xxhash import xxh64_intdigest

    return xxh64_intdigest(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


@dataclass(frozen=True, eq=False)
class Part:
    """Components of one block, numbered from 1 in any order."""

    checksum: int  # of the pixels
    firsts: NDArray[np.int64]  # (N,) first element of each, as an index in the whole image
    values: HostArray  # (N,) value of the pixels of each, or (0,) for a mask
    sizes: NDArray[np.int64]
    """(N, 1 + 2 * axes): pixels, first and last + 1 coordinates in the whole image; or (0, 0)."""


@dataclass(frozen=True, eq=False)
class Faces:
    """First and last layers of labels of a block along each axis; empty where no block follows."""

    lows: tuple[HostArray, ...]  # uint16, int32 or int64
    highs: tuple[HostArray, ...]
    values: HostArray  # as those of `Part`

    @property
    def nbytes(self) -> int:
        """Memory that these arrays take."""
        return sum(array.nbytes for array in (*self.lows, *self.highs, self.values))


@dataclass(frozen=True)
class Checkpoints:
    """A folder with files for each block."""

    folder: str  # exists, on a disk that all workers can read
    token: str  # of this run: caches in memory must not return files of an earlier one
    lasting = True

    def path(self, kind: str, block: int) -> Path:
        """Return the file of a block, of a kind: "part", "faces" or "done"."""
        return Path(self.folder, f"{kind}-{block}")

    def save_part(self, block: int, part: Part, faces: Faces) -> None:
        """Store the result of labeling a block; the part is written last."""
        save_arrays(self.path("faces", block), (*faces.lows, *faces.highs, faces.values))
        arrays = (np.array([part.checksum]), part.firsts, part.values, part.sizes)
        save_arrays(self.path("part", block), arrays)

    def has_part(self, block: int) -> bool:
        """Return whether a block has been labeled, and its results are complete."""
        return is_whole(self.path("part", block)) and is_whole(self.path("faces", block))

    def part(self, block: int) -> Part:
        """Return the components of a block."""
        known, firsts, values, sizes = load_arrays(self.path("part", block))
        return Part(int(known[0]), firsts, values, sizes)

    def faces(self, block: int) -> Faces:
        """Return the labels at the ends of a block."""
        *ends, values = load_arrays(self.path("faces", block))
        axes = len(ends) // 2
        return Faces(tuple(ends[:axes]), tuple(ends[axes:]), values)

    def save_numbers(self, labels: HostArray, offsets: NDArray[np.int64]) -> None:
        """Store the final labels of all components, and where those of each block begin."""
        np.save(self._numbers_file, labels)
        np.save(self._numbers_file.with_name("offsets.npy"), offsets)

    def numbers(self, block: int) -> HostArray:
        """Return the final label of each component of a block."""
        numbers, offsets = _open_numbers(self._numbers_file, self.token)
        return np.array(numbers[offsets[block] : offsets[block + 1]])

    def save_done(self, block: int, arrays: Sequence[HostArray]) -> None:
        """Store that a block has been written: the checksum of its labels, and its counts."""
        save_arrays(self.path("done", block), arrays)

    def has_done(self, block: int) -> bool:
        """Return whether there is a file that says that a block has been written."""
        return self.path("done", block).exists()

    def done(self, block: int) -> list[HostArray]:
        """Return the checksum of the labels of a block, and its counts."""
        return load_arrays(self.path("done", block))

    def note(self, name: str) -> Path:
        """Return the path of a result that is found before blocks are labeled."""
        return Path(self.folder, name)

    @property
    def _numbers_file(self) -> Path:
        return Path(self.folder, "numbers.npy")


@lru_cache(4)
def _open_numbers(path: Path, token: str) -> tuple[HostArray, NDArray[np.int64]]:
    """Memory-map the final labels, and read where those of each block begin."""
    return np.load(path, mmap_mode="r"), np.load(path.with_name("offsets.npy"))


class MemoryCheckpoints:
    """Results of blocks as in `Checkpoints`, but in the memory of this process."""

    lasting = False

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}
        self._faces: dict[int, Faces] = {}
        self._done: dict[int, list[HostArray]] = {}
        self._labels: HostArray = np.empty(0, np.int32)
        self._offsets = np.zeros(1, np.int64)

    def save_part(self, block: int, part: Part, faces: Faces) -> None:
        """Keep the result of labeling a block."""
        self._faces[block], self._parts[block] = faces, part

    def has_part(self, block: int) -> bool:
        """Return whether a block has been labeled."""
        return block in self._parts

    def part(self, block: int) -> Part:
        """Return the components of a block."""
        return self._parts[block]

    def faces(self, block: int) -> Faces:
        """Return the labels at the ends of a block."""
        return self._faces[block]

    def save_numbers(self, labels: HostArray, offsets: NDArray[np.int64]) -> None:
        """Keep the final labels of all components, and where those of each block begin."""
        self._labels, self._offsets = labels, offsets

    def numbers(self, block: int) -> HostArray:
        """Return the final label of each component of a block."""
        return self._labels[self._offsets[block] : self._offsets[block + 1]]

    def save_done(self, block: int, arrays: Sequence[HostArray]) -> None:
        """Keep that a block has been written, and its counts."""
        self._done[block] = list(arrays)

    def has_done(self, block: int) -> bool:
        """Return whether a block has been written."""
        return block in self._done

    def done(self, block: int) -> list[HostArray]:
        """Return the checksum of the labels of a block, and its counts."""
        return self._done[block]

    def note(self, name: str) -> None:
        """Return None: there are no files."""


Saved = Checkpoints | MemoryCheckpoints

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
def unfinished(out: Path, manifest: Mapping[str, Any], *, resume: bool) -> Iterator[Path]:
    """Make or find the folder of a run, and lock it; it is removed when the run is complete.

    `manifest` holds image, arguments and versions as JSON; to resume a run, it must be the same.
    Raises RuntimeError if another run makes the same result now, OtherRunError if an earlier run
    has another manifest, and OSError if the folder cannot be written.
    """
    folder = folder_for(out)
    descriptor = locked_file(folder, LOCK)
    if descriptor is None:
        message = (
            f"out must be made by one run at a time; got {str(out)!r}, which another run makes "
            "now. Wait until it ends, or choose another path."
        )
        raise RuntimeError(message)
    try:
        known = read_object(folder / MANIFEST) if resume else None
        if known is None:
            _clear(folder)
            with replacing(folder / MANIFEST) as file:
                file.write_text(json.dumps(manifest, indent=1, sort_keys=True), "utf-8")
        else:
            check_manifest(known, manifest, str(out))
        yield folder
        _clear(folder)
        if os.name != "nt":  # Windows cannot remove open files
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
    if os.name == "nt":
        shutil.rmtree(folder, ignore_errors=True)


def read_object(file: Path) -> dict[str, Any] | None:
    """Read a JSON object; None if the file is missing or damaged."""
    try:
        found = json.loads(file.read_text("utf-8")) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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


def _clear(folder: Path) -> None:
    """Remove everything except the lock; the manifest first, so that remains are not used."""
    with suppress(FileNotFoundError):
        (folder / MANIFEST).unlink()
    for leftover in folder.iterdir():
        if leftover.name == LOCK:
            continue
        if is_folder(leftover):
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def new_token() -> str:
    """Return a unique name for a run."""
    return secrets.token_hex(8)
