"""Check pages, shapes, strips and tiles of a TIFF file before its pixels are read.

Every page is visited, none is decoded: the chain of directories has to end, each page needs
complete axes, and each strip or tile has to lie inside the file and be long enough for its pixels.
Work and memory depend on the length of the file, not on what it claims.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .directories import Directories, Tag, refuse
from .pages import Page, Pages, Segments, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

# Tags of the TIFF 6.0 specification, and two of SGI for volumes.
WIDTH, LENGTH, BITS, COMPRESSION, FILL_ORDER, DESCRIPTION = 256, 257, 258, 259, 266, 270
SAMPLES, ROWS_PER_STRIP, PLANAR, PREDICTOR, TILE_WIDTH, TILE_LENGTH = 277, 278, 284, 317, 322, 323
SUBIFDS, SAMPLE_FORMAT, DEPTH, TILE_DEPTH = 330, 339, 32997, 32998
OFFSETS, BYTE_COUNTS = (324, 273, 513), (325, 279, 514)  # tags of tiles, strips, old JPEG
FAX = (2, 3, 4)  # compressions

# Most decoded bytes per stored byte. The formats limit it: deflate 1032, LZW about
# 1365 (4096 entries of 12 bits), PackBits 64, LZMA 7045, zstd 128 KiB for a block of 4 bytes.
# Image codecs (JPEG and newer) have no such limit: theirs is far above any real image.
YIELDS = {1: 1, 5: 1400, 8: 1032, 32946: 1032, 50013: 1032, 32773: 64, 34925: 7100}
YIELDS |= {34926: 2**15, 50000: 2**15}
UNBOUNDED = 2**20

MOST_BELOW = 64  # smaller copies of one page


def walk(file: BinaryIO) -> Pages:
    """Check all pages of a regular TIFF file against its bytes, and return them (at least one).

    Raises UnreadableImageError if the file is not a TIFF, the chain of pages loops or leaves the
    file, or a page has an axis of length 0, lacks a tag, or refers to bytes that are missing, too
    few, or part of another strip or tile.
    """
    directories = Directories(file)
    pages: list[Page] = []
    seen: set[int] = set()
    below: list[Page] = []
    offset = directories.first
    while offset:
        page, following = _page(directories, offset, len(pages))
        for position in (offset, *page.below):
            if position in seen:
                refuse("list each page once", f"a loop to byte {position} on page {len(pages)}")
            seen.add(position)
        below += [_page(directories, position, len(pages))[0] for position in page.below]
        pages.append(page)
        offset = following
    if not pages:
        refuse("hold at least one page", "a header alone")
    _check_overlaps([*pages, *below])
    return Pages(tuple(pages), tuple(below), directories.size)


class _Tags:
    """The numbers in the tags of one page."""

    def __init__(self, directories: Directories, tags: Iterable[tuple[int, Tag]]) -> None:
        self._directories = directories
        self._tags: dict[int, Tag] = {}
        for code, tag in tags:
            self._tags.setdefault(code, tag)

    def __contains__(self, code: int) -> bool:
        return code in self._tags

    def count(self, code: int) -> int:
        """Return the number of values of a tag; 0 if it is missing."""
        return self._tags[code].number if code in self._tags else 0

    def number(self, code: int, default: int) -> int:
        """Return the first value of a tag."""
        tag = self._tags.get(code)
        return default if tag is None else self._directories.integer(tag)

    def numbers(self, codes: tuple[int, ...], most: int) -> NDArray[np.uint64]:
        """Return the first `most` values of the first tag of `codes` that exists."""
        for code in codes:
            if code in self._tags:
                return self._directories.integers(self._tags[code], most)
        return np.empty(0, np.uint64)


def _page(directories: Directories, offset: int, index: int) -> tuple[Page, int]:
    """Check the page at an offset; return it, and the offset of the next page."""
    directory = directories.directory(offset)
    tags = _Tags(directories, directory.tags)
    shape, bits = _geometry(tags, index)
    compression, separate = tags.number(COMPRESSION, 1), tags.number(PLANAR, 1) != 1
    if compression in FAX and bits.max() > 1:
        refuse("have 1 bit per sample in a fax compression", f"{bits.max()} on page {index}")
    block = _block(tags, shape[1], index)
    segments = _segments(shape, bits.tolist(), separate, block)
    offsets, stored, counted = _locations(tags, segments, compression, index)
    _check_bytes(directories.size, segments, offsets, stored, compression, index)
    describe = [tag for code, tag in directory.tags if code == DESCRIPTION and index == 0]
    page = Page(
        offset=offset,
        shape=shape,
        compression=compression,
        separate=separate,
        block=block,
        layout=(
            *(shape, bits.tobytes(), tags.number(SAMPLE_FORMAT, 1), compression, separate, block),
            *(tags.number(PREDICTOR, 1), tags.number(FILL_ORDER, 1)),
        ),
        segment_offsets=offsets,
        segment_bytes=stored,
        segments=segments,
        descriptions=tuple(directories.text(tag) for tag in describe),
        below=tuple(tags.numbers((SUBIFDS,), MOST_BELOW).tolist()),
        spans=tuple(directory.spans),
        counted=counted,
    )
    return page, directory.following


def _geometry(tags: _Tags, index: int) -> tuple[tuple[int, int, int, int], NDArray[np.uint64]]:
    """Return depth, length, width and samples of a page, and the bits of each sample."""
    shape = (
        *(tags.number(DEPTH, 1), tags.number(LENGTH, 0)),
        *(tags.number(WIDTH, 0), tags.number(SAMPLES, 1)),
    )
    if not all(shape):
        refuse("have 1 pixel or more along every axis", f"{shape} on page {index}")
    bits = tags.numbers((BITS,), shape[3]) if BITS in tags else np.ones(1, np.uint64)
    counted = BITS not in tags or tags.count(BITS) in (1, shape[3])
    if not counted or not 0 < bits.min() <= bits.max() <= 128:
        refuse("have 1 to 128 bits per sample", f"{bits[:4].tolist()} on page {index}")
    return shape, bits


def _block(tags: _Tags, length: int, index: int) -> tuple[int, ...]:
    """Return the shape of strips, (1, rows), or of tiles, (depth, length, width)."""
    block: tuple[int, ...] = (1, length)
    if TILE_WIDTH in tags:
        block = (
            tags.number(TILE_DEPTH, 1),
            tags.number(TILE_LENGTH, 0),
            tags.number(TILE_WIDTH, 0),
        )
    elif tags.count(ROWS_PER_STRIP) == 1:
        block = (1, min(tags.number(ROWS_PER_STRIP, 0), length))
    if not all(block):
        refuse("have strips or tiles of 1 row or more", f"{block} on page {index}")
    return block


def _locations(
    tags: _Tags, segments: Segments, compression: int, index: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], bool]:
    """Return offsets and lengths of strips or tiles, and whether the file has the lengths."""
    most = segments.number + 1
    offsets, stored = tags.numbers(OFFSETS, most), tags.numbers(BYTE_COUNTS, most)
    counted = stored.size > 0
    if compression == segments.number == 1 and not counted:
        stored = np.array([segments.size], np.uint64)  # left out by old writers
    if not len(offsets) == len(stored) == segments.number:
        got = f"{len(offsets)} positions and {len(stored)} lengths on page {index}"
        refuse(f"locate each of its {segments.number} strips or tiles", got)
    return offsets, stored, counted


def _segments(
    shape: tuple[int, int, int, int], bits: list[int], separate: bool, block: tuple[int, ...]
) -> Segments:
    """Return the number and sizes of strips or tiles, whose shape is `block`."""
    depth, length, width, samples = shape
    pixel = bits[0] if separate else sum(bits) * (samples // len(bits))
    planes = samples if separate else 1
    if len(block) == 2:
        rows = block[1]
        each = -(-length // rows)
        line = -(-width * pixel // 8)
        return Segments(
            each * depth * planes, line * rows, line * (length - (each - 1) * rows), each
        )
    each = math.prod(-(-axis // part) for axis, part in zip(shape, block, strict=False))
    size = -(-block[2] * pixel // 8) * block[1] * block[0]
    return Segments(each * planes, size, size, each)


def _check_bytes(
    size: int,
    segments: Segments,
    offsets: NDArray[np.uint64],
    stored: NDArray[np.uint64],
    compression: int,
    index: int,
) -> None:
    """Refuse strips or tiles that are outside the file, or too short for their pixels."""
    outside = (stored > size) | (offsets > size - np.minimum(stored, size))
    if outside.any():
        k = int(outside.argmax())
        refuse(
            "hold the bytes of every strip and tile",
            f"{size} bytes, with {stored[k]} bytes at {offsets[k]} for part {k} of page {index}",
        )
    if not stored.all() or offsets.min() < 8:
        k = int(np.argmin(np.minimum(stored, offsets)))
        refuse("hold the bytes of every strip and tile", f"none for part {k} of page {index}")
    planes = segments.number // segments.each
    claimed = segments.number * segments.size - planes * (segments.size - segments.last)
    held = min(int(stored.sum()), size) * YIELDS.get(compression, UNBOUNDED)
    if claimed > held:
        refuse(f"hold the {claimed} bytes it claims for page {index}", f"{held} at most")
    if compression == 1:
        exact = np.full(segments.number, segments.size, np.uint64)
        exact[segments.each - 1 :: segments.each] = segments.last
        wrong = (stored < exact) | (stored > segments.size)
        if wrong.any():
            k = int(wrong.argmax())
            got = f"{stored[k]} bytes for part {k} of page {index}"
            refuse(f"have {exact[k]} bytes per strip or tile", got)


def _check_overlaps(pages: Sequence[Page]) -> None:
    """Refuse strips and tiles that share bytes, which could be decoded very many times."""
    starts, ends = parts_of(pages)
    shared = starts[1:] < ends[:-1]
    if shared.any():
        at = starts[1:][shared][0]
        refuse("have bytes of its own for every strip and tile", f"two that share byte {at}")
