"""Pages of a TIFF file, and the bytes of the file that belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PADDING = 63  # most unused bytes that writers leave, such as padding for alignment


class Segments(NamedTuple):
    """Number of the strips or tiles of a page, and their decoded size in bytes.

    `last` is the size of the last strip of a plane, which may be shorter, and `each` the number of
    strips or tiles of a plane.
    """

    number: int
    size: int
    last: int
    each: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page: shape, compression, and the positions of its strips or tiles."""

    offset: int  # position of its directory, which identifies the page
    shape: tuple[int, int, int, int]  # depth, length, width and samples
    compression: int  # code of TIFF; 1 is none
    separate: bool  # whether samples are stored in separate planes
    block: tuple[int, ...]  # shape of a tile, or 1 and the rows of a strip
    layout: tuple[object, ...]  # what pages need to have in common to be one stack
    segment_offsets: NDArray[np.uint64]  # (K,): positions of the strips or tiles
    segment_bytes: NDArray[np.uint64]  # (K,): their stored lengths
    segments: Segments
    descriptions: tuple[str, ...]  # read for the first page only
    below: tuple[int, ...]  # positions of its subdirectories, usually smaller copies
    spans: tuple[tuple[int, int], ...]  # first byte and end of its directory and of values outside
    counted: bool  # whether the file gives the lengths of its strips or tiles

    @property
    def slack(self) -> int:
        """Most unused bytes in a file with this page: more could be a lost page of the same kind.

        This is half of its pixels or of its other data, whichever is larger; nearly nothing if the
        stored lengths follow from its size.
        """
        if not self.counted:
            return PADDING
        return (
            max(int(self.segment_bytes.sum()), sum(end - start for start, end in self.spans)) // 2
        )


class Pages(NamedTuple):
    """The pages of a file in order, those of subdirectories, and its length in bytes."""

    chain: tuple[Page, ...]
    below: tuple[Page, ...]
    size: int

    def gaps(self, claimed: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """Return (first byte, end) of ranges that belong to no page, except small padding.

        `claimed` are ranges that belong to the image but not to a page.
        """
        pages = (*self.chain, *self.below)
        spans = np.array([span for page in pages for span in page.spans], np.int64)
        parts = parts_of(pages).astype(np.int64)
        # Ignore values that overlap pixels: the tag is damaged.
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
    """Return a (2, K) array of first bytes and ends of all strips and tiles, in order."""
    starts = np.concatenate([page.segment_offsets for page in pages])
    ends = starts + np.concatenate([page.segment_bytes for page in pages])
    order = np.argsort(starts, kind="stable")
    return np.stack([starts[order], ends[order]])
