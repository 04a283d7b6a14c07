"""Pages of a TIFF file, and the bytes of the file that belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PADDING = 63  # bytes that writers leave at most: tifffile's resolutions, up to a round position


class Segments(NamedTuple):
    """The strips or tiles of a page: how many, and their bytes when decoded.

    `last` is the length of the last strip of a plane, which may be shorter, and `each` the
    number of strips or tiles of a plane.
    """

    number: int
    size: int
    last: int
    each: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page: shape, compression, and the positions of its strips or tiles.

    Attributes
    ----------
    offset : int
        Position of its directory, which tells pages apart.
    shape : tuple of int
        Depth, length, width and samples.
    compression : int
        TIFF's code; 1 is none.
    separate : bool
        Whether samples lie in planes of their own.
    block : tuple of int
        Shape of a tile, or 1 and the rows of a strip.
    layout : tuple
        Everything that pages have to share to be read as one stack.
    segment_offsets, segment_bytes : (K,) array of uint64
        Positions and stored lengths of the strips or tiles.
    segments : Segments
        How many there are and how long they are when decoded.
    descriptions : tuple of str
        Its descriptions; read for the first page only.
    below : tuple of int
        Positions of directories below it: smaller copies, as a rule.
    spans : tuple of (int, int)
        First byte and end of its directory and of values outside of that.
    counted : bool
        Whether it says how long its strips and tiles are.
    """

    offset: int
    shape: tuple[int, int, int, int]
    compression: int
    separate: bool
    block: tuple[int, ...]
    layout: tuple[object, ...]
    segment_offsets: NDArray[np.uint64]
    segment_bytes: NDArray[np.uint64]
    segments: Segments
    descriptions: tuple[str, ...]
    below: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    counted: bool

    @property
    def slack(self) -> int:
        """Bytes that may belong to no page: more could be a lost page like this one.

        Half of its pixels or of all else, whichever are more; next to none if its length
        follows from its size alone.
        """
        if not self.counted:
            return PADDING
        return (
            max(int(self.segment_bytes.sum()), sum(end - start for start, end in self.spans)) // 2
        )


class Pages(NamedTuple):
    """The pages of a file in order, those below them, and its length in bytes."""

    chain: tuple[Page, ...]
    below: tuple[Page, ...]
    size: int

    def gaps(self, claimed: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """Find runs of bytes that belong to no page, except those that writers leave.

        Parameters
        ----------
        claimed : sequence of (int, int)
            First byte and end of what belongs to the image besides.

        Returns
        -------
        list of (int, int)
            First byte and end of each.
        """
        pages = (*self.chain, *self.below)
        spans = np.array([span for page in pages for span in page.spans], np.int64)
        parts = parts_of(pages).astype(np.int64)
        # Values that reach into pixels are none: the tag is damaged.
        after = np.searchsorted(parts[1], spans[:, 0], side="right")
        apart = np.append(parts[0], self.size)[after] >= spans[:, 1]
        ends_of_file = [(0, 8), (self.size, self.size)]
        known = np.array([*ends_of_file, *claimed], np.int64)
        starts, ends = np.concatenate([known.T, spans[apart].T, parts], axis=1)
        order = np.argsort(starts, kind="stable")
        starts, reached = starts[order][1:], np.maximum.accumulate(ends[order])[:-1]
        wide = starts - reached > PADDING
        return list(zip(reached[wide].tolist(), starts[wide].tolist(), strict=True))


def parts_of(pages: Sequence[Page]) -> NDArray[np.uint64]:
    """Return the first bytes and the ends of all strips and tiles, in the order of the file."""
    starts = np.concatenate([page.segment_offsets for page in pages])
    ends = starts + np.concatenate([page.segment_bytes for page in pages])
    order = np.argsort(starts, kind="stable")
    return np.stack([starts[order], ends[order]])
