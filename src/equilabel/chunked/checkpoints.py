"""Results of each block that are stored during a run, so that a killed run can be resumed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .arrayfiles import is_whole, load_arrays, save_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


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


class Saved(Protocol):
    """Results of the blocks that are done, in files or in memory."""

    @property
    def lasting(self) -> bool:
        """Whether another run can resume from it."""
        ...

    def save_part(self, block: int, part: Part, faces: Faces) -> None:
        """Store the result of labeling a block."""
        ...

    def has_part(self, block: int) -> bool:
        """Return whether a block has been labeled, and its results are complete."""
        ...

    def part(self, block: int) -> Part:
        """Return the components of a block."""
        ...

    def faces(self, block: int) -> Faces:
        """Return the labels at the ends of a block."""
        ...

    def save_numbers(self, labels: HostArray, offsets: NDArray[np.int64]) -> None:
        """Store the final labels of all components, and where those of each block begin."""
        ...

    def numbers(self, block: int) -> HostArray:
        """Return the final label of each component of a block."""
        ...

    def save_done(self, block: int, arrays: Sequence[HostArray]) -> None:
        """Store that a block has been written: the checksum of its labels, and its counts."""
        ...

    def has_done(self, block: int) -> bool:
        """Return whether a block has been written, without reading it."""
        ...

    def done(self, block: int) -> list[HostArray]:
        """Return the checksum of the labels of a block, and its counts."""
        ...

    def note(self, name: str) -> Path | None:
        """Return the path of a result found before blocks are labeled, or None in memory."""
        ...


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
