"""Directories of a TIFF file: their tags, checked against the length of the file.

Other software reads a truncated stack as its first page, follows circular directories for hours,
and allocates whatever a header claims. Here every position is compared with the length of the file.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, NoReturn

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Bytes per value of TIFF's data types; its unsigned integers are SHORT, LONG, IFD, LONG8, IFD8.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
SIZES |= {16: 8, 17: 8, 18: 8}
INTEGERS = {3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}
PRIVATE = 32768  # tags from here on are private: their values may refer to other files
MOST_TAGS = 4096  # in one directory; also tifffile's limit
# File formats by their first bytes, and remedies for a file with the wrong ending.
FORMATS = {
    **{b"II*\0": "a TIFF", b"MM\0*": "a TIFF", b"II+\0": "a TIFF", b"MM\0+": "a TIFF"},
    **{b"\x89PNG": "a PNG", b"\xff\xd8\xff": "a JPEG", b"BM": "a BMP", b"ZISRAWFI": "a CZI"},
    **{b"GIF8": "a GIF", b"SIMPLE  ": "a FITS file", b"\x93NUMPY": "an array of NumPy"},
    **{b"\x89HDF": "an HDF5 file", b"RIFF": "a WebP or another RIFF file", b"%PDF": "a PDF"},
    **{b"\0\0\0\x0cjP": "a JPEG 2000", b"PK\3\4": "a ZIP archive", b"\x1f\x8b": "a gzip archive"},
    **{b"\xd0\xcf\x11\xe0": "an OLE file, as OIB and ZVI are", b"NRRD": "an NRRD", b"<": "XML"},
}
RENAME = {"TIFF": ".tif", "PNG": ".png", "JPEG": ".jpg", "BMP": ".bmp", "CZI": ".czi"}
CONVERT = "Convert it to TIFF, for instance with Fiji or `tifffile.imwrite`."


class UnreadableImageError(ValueError):
    """A file that cannot be read as one complete image; the message says why."""


def unreadable(
    rule: str, got: object, remedy: str = "Copy or export it again."
) -> UnreadableImageError:
    """Return the error "image file must <rule>; got <got>. <remedy>"."""
    return UnreadableImageError(f"image file must {rule}; got {got}. {remedy}")


def refuse(rule: str, got: object, remedy: str = "Copy or export it again.") -> NoReturn:
    """Raise the error that `unreadable` returns."""
    raise unreadable(rule, got, remedy)


def refuse_format(rule: str, start: bytes) -> NoReturn:
    """Raise the error for a file of another format, recognized by its first 16 bytes."""
    name = next((each for mark, each in FORMATS.items() if start.startswith(mark)), "")
    if not name:
        remedy = "Convert it to TIFF first; if it is one, decrypt it or copy it again."
        refuse(rule, f"one that begins with {start[:8]!r}", remedy)
    ending = RENAME.get(name.split()[-1])
    refuse(rule, name, f"Rename it to end in {ending!r}." if ending else CONVERT)


class Tag(NamedTuple):
    """An entry of a directory: type, number of values, and the values or their position."""

    kind: int
    number: int
    field: bytes


class Directory(NamedTuple):
    """A directory: its tags, the position of the next one (0 for none), and its byte ranges.

    `spans` has the first byte and the end of the directory, and of values stored outside of it.
    """

    tags: list[tuple[int, Tag]]
    following: int
    spans: list[tuple[int, int]]


class Directories:
    """The directories of an open TIFF or BigTIFF, which must be a regular file.

    `size` is the length of the file in bytes, `first` the position of the first directory (0 for
    none). Raises UnreadableImageError if the file does not begin like a TIFF.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, os.fstat(file.fileno()).st_size
        header = self.read(0, min(16, self.size))
        if not header:
            refuse("be a TIFF", "0 bytes")
        self._order = {b"II": "<", b"MM": ">"}.get(header[:2], "")
        known = [struct.pack(f"{self._order}H", version) for version in (42, 43)]
        if not self._order or header[2:4] not in known:
            refuse_format("be a TIFF", header)
        self._big = header[2:4] == known[1]
        # Formats of the number of tags, of one tag, and of a position.
        self._formats = ("Q", "HHQ8s", "Q") if self._big else ("H", "HHI4s", "I")
        if len(header) < (16 if self._big else 8):
            refuse("hold at least one page", f"{self.size} bytes")
        if self._big and header[4:8] != struct.pack(f"{self._order}HH", 8, 0):
            refuse("begin like a BigTIFF", repr(header[:8]))
        (self.first,) = self._unpack(self._formats[2], header[8:16] if self._big else header[4:8])

    def directory(self, offset: int) -> Directory:
        """Read the directory at `offset`."""
        number, entry, position = self._formats
        head, each, tail = (8, 20, 8) if self._big else (2, 12, 4)
        (count,) = self._unpack(number, self.read(offset, head))
        if not 0 < count <= MOST_TAGS:
            refuse(f"have 1 to {MOST_TAGS} tags per page", f"{count} at byte {offset}")
        data = self.read(offset + head, count * each + tail)
        entries = struct.iter_unpack(self._order + entry, data[:-tail])
        tags = [(code, Tag(kind, values, field)) for code, kind, values, field in entries]
        spans = [(offset, offset + head + len(data))]
        for code, tag in tags:
            size = tag.number * SIZES.get(tag.kind, 0)
            if size > len(tag.field):
                (start,) = self._unpack(position, tag.field)
                if code < PRIVATE:
                    self._position(tag)
                if start < self.size:
                    spans.append((start, min(start + size, self.size)))
        return Directory(tags, self._unpack(position, data[-tail:])[0], spans)

    def integer(self, tag: Tag) -> int:
        """Return the first value of a tag of unsigned integers."""
        self._check_integers(tag)
        return int.from_bytes(self._value(tag, 1), "little" if self._order == "<" else "big")

    def integers(self, tag: Tag, most: int) -> NDArray[np.uint64]:
        """Return the first `most` values of a tag of unsigned integers."""
        self._check_integers(tag)
        dtype = np.dtype(self._order + INTEGERS[tag.kind])
        return np.frombuffer(self._value(tag, most), dtype).astype(np.uint64)

    def text(self, tag: Tag) -> str:
        """Return the text of a tag."""
        if tag.kind not in (1, 2, 7):
            refuse("have text for a description", f"type {tag.kind}")
        data = self._value(tag, tag.number).rstrip(b"\0")
        try:
            return data.decode("utf-8").strip()
        except UnicodeDecodeError:  # ImageJ on Windows
            return data.decode("cp1252", "replace").strip()

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`."""
        if offset + count > self.size:
            self._cut(offset)
        self._file.seek(offset)
        return self._file.read(count)

    def _value(self, tag: Tag, most: int) -> bytes:
        wanted = min(tag.number, most) * SIZES[tag.kind]
        if tag.number * SIZES[tag.kind] <= len(tag.field):
            return tag.field[:wanted]
        return self.read(self._position(tag), wanted)

    def _check_integers(self, tag: Tag) -> None:
        if tag.kind not in INTEGERS or tag.number == 0:
            refuse("have whole numbers in its tags", f"{tag.number} of type {tag.kind}")

    def _position(self, tag: Tag) -> int:
        (offset,) = self._unpack(self._formats[2], tag.field)
        if offset + tag.number * SIZES[tag.kind] > self.size:
            self._cut(offset)
        return offset

    def _cut(self, offset: int) -> NoReturn:
        refuse("be complete", f"{self.size} bytes, with more of it announced at byte {offset}")

    def _unpack(self, form: str, data: bytes) -> tuple[int, ...]:
        return struct.unpack(self._order + form, data)
