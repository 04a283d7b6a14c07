"""Pages of a TIFF file, checked against its bytes before pixels are read.

Other software reads a truncated stack as its first page, follows circular directories for hours,
and allocates whatever a header claims. Here every page is visited, and none is decoded. Work and
memory depend on the length of the file, not on what it claims.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from .errors import refuse, refuse_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Shape: TypeAlias = tuple[int, int, int, int]
"""Depth, length, width and samples of a page."""

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
PADDING = 63  # most unused bytes that writers leave, such as padding for alignment
# Bytes per value of TIFF's data types; its unsigned integers are SHORT, LONG, IFD, LONG8, IFD8.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
SIZES |= {16: 8, 17: 8, 18: 8}
INTEGERS = {3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}
PRIVATE = 32768  # tags from here on are private: their values may refer to other files
MOST_TAGS = 4096  # in one directory; also tifffile's limit


def walk(file: BinaryIO) -> Pages:
    """Return all pages of a TIFF file, one or more, checked against its bytes."""
    directories = Directories(file)
    pages: list[Page] = []
    seen: set[int] = set()
    below: list[Page] = []
    offset = directories.first
    while offset:
        tags, index = Directory(directories, offset), len(pages)
        copies = tags.numbers((SUBIFDS,), MOST_BELOW).tolist()  # usually smaller
        for position in (offset, *copies):
            if position in seen:
                refuse("list each page once", f"a loop to byte {position} on page {index}")
            seen.add(position)
        pages.append(_page(tags, index))
        below += [_page(Directory(directories, position), index) for position in copies]
        offset = tags.following
    if not pages:
        refuse("hold at least one page", "a header alone")
    starts, ends = parts_of([*pages, *below])
    shared = starts[1:] < ends[:-1]  # they could be decoded very many times
    if shared.any():
        at = starts[1:][shared][0]
        refuse("have bytes of its own for every strip and tile", f"two that share byte {at}")
    return Pages(tuple(pages), tuple(below), directories.size)


def _page(tags: Directory, index: int) -> Page:
    """Return a page once it is checked."""
    shape, bits = _geometry(tags, index)
    compression, separate = tags.number(COMPRESSION, 1), tags.number(PLANAR, 1) != 1
    if compression in FAX and bits.max() > 1:
        refuse("have 1 bit per sample in a fax compression", f"{bits.max()} on page {index}")
    block = _block(tags, shape, index)
    parts = _parts(tags, shape, bits.tolist(), block, index)
    held = max(int((parts[1] - parts[0]).sum()), sum(end - start for start, end in tags.spans))
    return Page(
        offset=tags.spans[0][0],
        shape=shape,
        compression=compression,
        separate=separate,
        layout=(
            *(shape, bits.tobytes(), tags.number(SAMPLE_FORMAT, 1), compression, separate, block),
            *(tags.number(PREDICTOR, 1), tags.number(FILL_ORDER, 1)),
        ),
        parts=parts,
        descriptions=tags.texts(DESCRIPTION) if index == 0 else (),
        spans=tuple(tags.spans),
        # Half of its pixels or of its other data; nearly nothing if lengths follow from its size.
        slack=held // 2 if any(code in tags for code in BYTE_COUNTS) else PADDING,
    )


def _geometry(tags: Directory, index: int) -> tuple[Shape, NDArray[np.uint64]]:
    """Return depth, length, width and samples of a page, and the bits of each sample."""
    shape = (
        *(tags.number(DEPTH, 1), tags.number(LENGTH, 0)),
        *(tags.number(WIDTH, 0), tags.number(SAMPLES, 1)),
    )
    if not all(shape):
        refuse("have 1 pixel or more along every axis", f"{shape} on page {index}")
    bits = tags.numbers((BITS,), shape[3]) if BITS in tags else np.ones(1, np.uint64)
    counted = tags.count(BITS) in (0, 1, shape[3])
    if not counted or not 0 < bits.min() <= bits.max() <= 128:
        refuse("have 1 to 128 bits per sample", f"{bits[:4].tolist()} on page {index}")
    return shape, bits


def _block(tags: Directory, shape: Shape, index: int) -> tuple[int, int, int]:
    """Return depth, length and width of the strips or tiles of a page."""
    if TILE_WIDTH in tags:
        sides = tags.number(TILE_LENGTH, 0), tags.number(TILE_WIDTH, 0)
        block = (tags.number(TILE_DEPTH, 1), *sides)
    else:
        rows = tags.number(ROWS_PER_STRIP, 0) if tags.count(ROWS_PER_STRIP) == 1 else shape[1]
        block = (1, min(rows, shape[1]), shape[2])
    if not all(block):
        refuse("have strips or tiles of 1 row or more", f"{block} on page {index}")
    return block


def _parts(
    tags: Directory, shape: Shape, bits: list[int], block: tuple[int, int, int], index: int
) -> NDArray[np.uint64]:
    """Return (2, K) first bytes and ends of strips or tiles that can hold the pixels."""
    compression, separate = tags.number(COMPRESSION, 1), tags.number(PLANAR, 1) != 1
    counts = [-(-axis // part) for axis, part in zip(shape, block, strict=False)]
    each, planes = counts[1], counts[0] * counts[2] * (shape[3] if separate else 1)
    number = planes * each
    pixel = bits[0] if separate else sum(bits) * (shape[3] // len(bits))
    line = -(-block[2] * pixel // 8) * block[0]
    # Decoded bytes of a part, and of the last strip of a plane; all tiles have one size.
    full = line * block[1]
    last = full if TILE_WIDTH in tags else line * (shape[1] - (each - 1) * block[1])

    size = tags.size_of_file
    offsets, stored = tags.numbers(OFFSETS, number + 1), tags.numbers(BYTE_COUNTS, number + 1)
    if compression == number == 1 and not stored.size:  # left out by old writers
        stored = np.array([min(full, size + 1)], np.uint64)
    if not len(offsets) == len(stored) == number:
        got = f"{len(offsets)} positions and {len(stored)} lengths on page {index}"
        refuse(f"locate each of its {number} strips or tiles", got)
    outside = (stored > size) | (offsets > size - np.minimum(stored, size)) | (offsets < 8)
    wrong = outside | (stored == 0)
    if wrong.any():
        k = int(wrong.argmax())
        got = f"{size} bytes, with {stored[k]} bytes at {offsets[k]} for part {k} of page {index}"
        refuse("hold the bytes of every strip and tile", got)
    claimed = planes * ((each - 1) * full + last)
    held = min(int(stored.sum()), size) * YIELDS.get(compression, UNBOUNDED)
    if claimed > held:
        refuse(f"hold the {claimed} bytes it claims for page {index}", f"{held} at most")
    if compression == 1:
        exact = np.full(number, full, np.uint64)
        exact[each - 1 :: each] = last
        wrong = (stored < exact) | (stored > full)
        if wrong.any():
            k = int(wrong.argmax())
            got = f"{stored[k]} bytes for part {k} of page {index}"
            refuse(f"have {exact[k]} bytes per strip or tile", got)
    return np.stack([offsets, offsets + stored])


@dataclass(frozen=True, slots=True)
class Page:
    """A page: shape, compression, and the positions of its strips or tiles."""

    offset: int  # position of its directory, which identifies the page
    shape: Shape
    compression: int  # code of TIFF; 1 is none
    separate: bool  # whether samples are stored in separate planes
    layout: tuple[object, ...]  # what pages need to have in common to be one stack
    parts: NDArray[np.uint64]  # (2, K): first bytes and ends of the strips or tiles
    descriptions: tuple[str, ...]  # read for the first page only
    spans: tuple[tuple[int, int], ...]  # first byte and end of its directory and of values outside
    slack: int  # most unused bytes in a file with this page: more could be a lost page of its kind


class Pages(NamedTuple):
    """The pages of a file in order, those of subdirectories, and its length in bytes."""

    chain: tuple[Page, ...]
    below: tuple[Page, ...]
    size: int

    def gaps(self, claimed: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """Return (first byte, end) of ranges of no page, without padding and those `claimed`."""
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
    parts = np.concatenate([page.parts for page in pages], axis=1)
    return parts[:, np.argsort(parts[0], kind="stable")]


class Directories:
    """The directories of an open TIFF or BigTIFF; `first` is the position of the first, or 0."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, os.fstat(file.fileno()).st_size
        header = self.read(0, min(16, self.size))
        self.order = {b"II": "<", b"MM": ">"}.get(header[:2], "")
        known = [struct.pack(f"{self.order}H", version) for version in (42, 43)]
        if not self.order or header[2:4] not in known:
            refuse_format("be a TIFF", header)
        big = header[2:4] == known[1]
        # Formats of the number of tags, of one tag, and of a position.
        formats = ("Q", "HHQ8s", "Q") if big else ("H", "HHI4s", "I")
        self.formats = tuple(f"{self.order}{each}" for each in formats)
        if big and header[4:8] != struct.pack(f"{self.order}HH", 8, 0):
            refuse("begin like a BigTIFF", repr(header[:8]))
        if len(header) < (16 if big else 8):
            refuse("hold at least one page", f"{self.size} bytes")
        self.first = self.position(header[8:16] if big else header[4:8])

    def position(self, field: bytes) -> int:
        """Return the position that a field of a directory holds."""
        return int(struct.unpack(self.formats[2], field)[0])

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`."""
        self.check(offset, count)
        self._file.seek(offset)
        return self._file.read(count)

    def check(self, offset: int, count: int) -> None:
        """Refuse the file if it has no `count` bytes at `offset`."""
        if offset + count > self.size:
            got = f"{self.size} bytes, with more of it announced at byte {offset}"
            refuse("be complete", got)


class Directory:
    """The tags of the page at `offset`, of which the first of each code counts.

    `following` is the position of the next directory (0 for none); `spans` are (first byte, end) of
    this one and of values outside of it.
    """

    def __init__(self, file: Directories, offset: int) -> None:
        self._file, self.size_of_file = file, file.size
        head, each, tail = map(struct.calcsize, file.formats)
        (count,) = struct.unpack(file.formats[0], file.read(offset, head))
        if not 0 < count <= MOST_TAGS:
            refuse(f"have 1 to {MOST_TAGS} tags per page", f"{count} at byte {offset}")
        data = file.read(offset + head, count * each + tail)
        self.following = file.position(data[-tail:])
        self.spans = [(offset, offset + head + len(data))]
        # Code, type, number of values, and the values or their position.
        self._all = list(struct.iter_unpack(file.formats[1], data[:-tail]))
        self._tags = {code: rest for code, *rest in reversed(self._all)}
        for code, kind, number, field in self._all:
            size = number * SIZES.get(kind, 0)
            if size > len(field):
                start = file.position(field)
                if code < PRIVATE:
                    file.check(start, size)
                if start < file.size:
                    self.spans.append((start, min(start + size, file.size)))

    def __contains__(self, code: int) -> bool:
        return code in self._tags

    def count(self, code: int) -> int:
        """Return the number of values of a tag; 0 if it is missing."""
        return self._tags[code][1] if code in self._tags else 0

    def number(self, code: int, default: int) -> int:
        """Return the first value of a tag of unsigned integers."""
        return int(self.numbers((code,), 1)[0]) if code in self._tags else default

    def numbers(self, codes: tuple[int, ...], most: int) -> NDArray[np.uint64]:
        """Return the first `most` values of the first tag of `codes` that exists."""
        code = next((each for each in codes if each in self._tags), None)
        if code is None:
            return np.empty(0, np.uint64)
        kind, number, field = self._tags[code]
        if kind not in INTEGERS or number == 0:
            refuse("have whole numbers in its tags", f"{number} of type {kind}")
        dtype = np.dtype(self._file.order + INTEGERS[kind])
        return np.frombuffer(self._value(kind, number, field, most), dtype).astype(np.uint64)

    def texts(self, code: int) -> tuple[str, ...]:
        """Return the texts of all tags of a code."""
        found = []
        for known, kind, number, field in self._all:
            if known != code:
                continue
            if kind not in (1, 2, 7):
                refuse("have text for a description", f"type {kind}")
            data = self._value(kind, number, field, number).rstrip(b"\0")
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:  # ImageJ on Windows
                text = data.decode("cp1252", "replace")
            found.append(text.strip())
        return tuple(found)

    def _value(self, kind: int, number: int, field: bytes, most: int) -> bytes:
        """Return the bytes of the first `most` values of a tag."""
        size, wanted = number * SIZES[kind], min(number, most) * SIZES[kind]
        if size <= len(field):
            return field[:wanted]
        start = self._file.position(field)
        self._file.check(start, size)
        return self._file.read(start, wanted)
