"""Sizes and types of compressed pixels, from their headers or by compressing them again.

Most codecs check the size of their output array. JPEG does not if its tables are stored elsewhere,
JPEG 2000 does so only after decoding, and fax codes contain no size.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

FAX = {2: "tiff_ccitt", 3: "group3", 4: "group4"}  # names of the compressions in Pillow
# Optional end codes of pages: length and value of a code, and how often it is repeated.
_FAX_ENDS = {2: (), 3: ((12, 0b1, 6), (13, 0b11, 6)), 4: ((24, 0x001001, 1),)}
_T4_OPTIONS, _ROWS_PER_STRIP = 292, 278


class Frame(NamedTuple):
    """Length, width and samples of an image; bits per sample, and NumPy's letter for its kind."""

    length: int
    width: int
    samples: int
    bits: int
    kind: str


def jpeg_frame(data: bytes) -> Frame | None:
    """Return size and type from the header of a JPEG stream; None without a header.

    >>> jpeg_frame(bytes.fromhex("ffd8 ffc0 000b 08 0018 0060 01 01 11 00"))
    Frame(length=24, width=96, samples=1, bits=8, kind='u')
    """
    at = 2
    while at + 10 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a padding byte
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame, not a table
            length, width = (int.from_bytes(data[at + k : at + k + 2]) for k in (5, 7))
            return Frame(length, width, data[at + 9], data[at + 4], "u")
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


def jpeg2000_frame(data: bytes) -> Frame | None:
    """Return size and type from the header of a JPEG 2000 stream or JP2 file; None without one.

    >>> jpeg2000_frame(b"no stream") is None
    True
    """
    at = data.find(b"\xff\x4f\xff\x51")  # markers of the stream and its size
    if at < 0 or len(data) < at + 44:
        return None
    right, bottom, left, top = (int.from_bytes(data[k : k + 4]) for k in range(at + 8, at + 24, 4))
    samples = int.from_bytes(data[at + 40 : at + 42])
    bits, kind = (data[at + 42] & 0x7F) + 1, "ui"[data[at + 42] >> 7]
    return Frame(bottom - top, right - left, samples, bits, kind)


def is_fax_of(pixels: HostArray, data: bytes, compression: int, t4_options: int) -> bool:
    """Return whether a fax stream encodes exactly these pixels.

    `pixels` is an (M, N) array of bool or uint8, 0 or 1; `data` has the most significant bit first.
    Fax codes contain no size: decoded with another width they give another picture without an
    error. But each picture has only one code, so encoding it again has to give the same stream.
    """
    import tifffile
    from PIL import Image

    file = BytesIO()
    tags = {_ROWS_PER_STRIP: len(pixels)}
    if compression == 3:
        tags[_T4_OPTIONS] = t4_options
    picture = Image.fromarray(pixels.astype(bool))
    picture.save(file, "TIFF", compression=FAX[compression], tiffinfo=tags)
    file.seek(0)
    with tifffile.TiffFile(file) as opened:
        page = opened.pages.first
        start, count = page.dataoffsets[0], page.databytecounts[0]
        coded = file.getvalue()[start : start + count]
    return len(page.dataoffsets) == 1 and _without_end(coded, compression) == _without_end(
        data, compression
    )


def _without_end(data: bytes, compression: int) -> int:
    """Return the bits of a stream as a number, without end code and padding."""
    bits = _without_zeros(int.from_bytes(b"\1" + data))  # leading zeros count
    for length, code, count in _FAX_ENDS[compression]:
        rest = bits
        for _ in range(count):
            if not rest >> length or rest & ((1 << length) - 1) != code:
                break
            rest = _without_zeros(rest >> length)
        else:
            return rest
    return bits


def _without_zeros(bits: int) -> int:
    return bits >> ((bits & -bits).bit_length() - 1)
