"""Results of each block in memory, for images in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .checkpoints import Faces, Part


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
