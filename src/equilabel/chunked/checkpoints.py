"""What is stored of each block while an image is labeled, so that a killed run can go on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .arrayfiles import is_whole, load_arrays, save_arrays

if TYPE_CHECKING:
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
    lows, highs : tuple of array of int32 or int64
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

    @property
    def numbers_file(self) -> Path:
        """The file of final labels of all components of all blocks."""
        return Path(self.folder, "numbers.npy")

    def numbers(self, block: int) -> HostArray:
        """Return the final label of each component of a block."""
        numbers, offsets = _open_numbers(self.numbers_file, self.token)
        return np.asarray(numbers[offsets[block] : offsets[block + 1]])


@lru_cache(4)
def _open_numbers(path: Path, token: str) -> tuple[HostArray, NDArray[np.int64]]:
    """Map the final labels into memory, and read where those of each block begin."""
    return np.load(path, mmap_mode="r"), np.load(path.with_name("offsets.npy"))
