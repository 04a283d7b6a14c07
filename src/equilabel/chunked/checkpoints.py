"""What is stored of each block while an image is labeled, so that a killed run can go on."""

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
    """Components of one block, numbered from 1 in any order.

    Attributes
    ----------
    checksum : int
        Of the pixels that were labeled.
    firsts : (N,) array of int64
        Of each component, its first element in the order in which the whole image is numbered.
    values : (N,) array, or (0,)
        The value of its pixels, where values tell components apart.
    sizes : (N, 1 + 2 * axes) array of int64, or (0, 0)
        Pixels, first and last + 1 coordinate in the whole image, where components are dropped by
        them.
    """

    checksum: int
    firsts: NDArray[np.int64]
    values: HostArray
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Faces:
    """Labels of one block at its ends along each axis; an empty array where nothing follows.

    Attributes
    ----------
    lows, highs : tuple of array of uint16, int32 or int64
        The first and the last layers along each axis, one or more.
    values : (N,) array, or (0,)
        As those of `Part`.
    """

    lows: tuple[HostArray, ...]
    highs: tuple[HostArray, ...]
    values: HostArray

    @property
    def nbytes(self) -> int:
        """Memory that these arrays take."""
        return sum(array.nbytes for array in (*self.lows, *self.highs, self.values))


class Saved(Protocol):
    """What is known of the blocks that are done: in files, or in memory."""

    @property
    def lasting(self) -> bool:
        """Whether another run can go on with it."""
        ...

    def save_part(self, block: int, part: Part, faces: Faces) -> None:
        """Store what labeling found."""
        ...

    def has_part(self, block: int) -> bool:
        """Return whether a block has been labeled, and all of that is still there."""
        ...

    def part(self, block: int) -> Part:
        """Return what labeling a block found."""
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
        """Return whether a block has been written, as far as can be told without reading it."""
        ...

    def done(self, block: int) -> list[HostArray]:
        """Return the checksum of the labels of a block, and its counts."""
        ...

    def note(self, name: str) -> Path | None:
        """Return where to store what was found before blocks were labeled, if anywhere."""
        ...


@dataclass(frozen=True)
class Checkpoints:
    """A folder with files for each block.

    Attributes
    ----------
    folder : str
        It exists, on a disk that all workers see.
    token : str
        Of this run: what an earlier one stored under the same names is not taken from memory.
    """

    folder: str
    token: str
    lasting = True

    def path(self, kind: str, block: int) -> Path:
        """Return the file of a block: its "part", "faces" or "done"."""
        return Path(self.folder, f"{kind}-{block}")

    def save_part(self, block: int, part: Part, faces: Faces) -> None:
        """Store what labeling found; the part comes last and says that all is there."""
        save_arrays(self.path("faces", block), (*faces.lows, *faces.highs, faces.values))
        arrays = (np.array([part.checksum]), part.firsts, part.values, part.sizes)
        save_arrays(self.path("part", block), arrays)

    def has_part(self, block: int) -> bool:
        """Return whether a block has been labeled, and all of that is still there."""
        return is_whole(self.path("part", block)) and is_whole(self.path("faces", block))

    def part(self, block: int) -> Part:
        """Return what labeling a block found."""
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
        """Return where to store what was found before blocks were labeled."""
        return Path(self.folder, name)

    @property
    def _numbers_file(self) -> Path:
        return Path(self.folder, "numbers.npy")


@lru_cache(4)
def _open_numbers(path: Path, token: str) -> tuple[HostArray, NDArray[np.int64]]:
    """Map the final labels into memory, and read where those of each block begin."""
    return np.load(path, mmap_mode="r"), np.load(path.with_name("offsets.npy"))
