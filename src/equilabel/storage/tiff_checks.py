"""Check an image of a TIFF file: its pages, and what its strips and tiles decode to.

tifffile crops, reshapes and casts the output of a codec until it fits: half the width of a JPEG
2000 strip would give a sheared picture. Here the output is checked first, before decoding where a
codec has a size: JPEG with tables elsewhere, JPEG 2000. Fax codes contain none.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import refuse
from .tiff_pages import FAX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from tifffile import TiffPage

    from equilabel.array_types import Array, HostArray

    from .metadata import Described
    from .tiff_pages import Page, Pages

    # The interface of tifffile: from stored bytes and index to pixels, their position, and
    # the shape of the strip or tile as (depth, length, width, samples).
    Decode = Callable[..., tuple[HostArray, tuple[int, ...], tuple[int, ...]]]

EXPORT = "Export it uncompressed or with deflate; decrypt it if it is encrypted."
MOST_ZEROS = 2**20  # largest gap that is checked for zeros, in bytes
JPEG_XR = (22610, 34934)
MICROSCOPES = ("lsm", "mmstack")
JPEG = {6, 7, 33007, 34892}
JPEG_2000 = {33003, 33004, 33005, 34712}
CUT_TILES = {*JPEG, 34933}  # and PNG: tiles at the edge may be cut off there
LERC, WEBP = 34887, 50001
# Lengths are checked, the codec knows the size, or fits any: fax codes contain none.
SIZELESS = {1, *FAX, 48124, 65000, 65001, 65002}
MOST_TRIED = 2**26  # bytes of a strip or tile that is decoded as a test


def check_image(image: Array, announced: Described, series: int, pages: Sequence[Page]) -> None:
    """Refuse an image that differs from its description, or that cannot be decoded."""
    import tifffile

    if image.dtype is None or image.dtype.kind not in "buif":
        remedy = "Export real numbers of a usual type."
        refuse("hold real numbers of a known type", image.dtype, remedy)
    for code in {page.compression for page in pages}:
        if code in JPEG_XR:
            got = "JPEG XR, whose decoder crashes on damaged files"
            refuse("have a compression that can be decoded safely", got, EXPORT)
        if code not in tifffile.TIFF.DECOMPRESSORS:
            refuse("have a compression that can be decoded", f"number {code}", EXPORT)
    # tifffile prefers its own description and those of two microscopes to OME and ImageJ.
    known = announced.kind in ("ome", "imagej", "shaped")
    if known and image.kind not in (announced.kind, *MICROSCOPES):
        refuse(f"be laid out as its {announced.kind} description announces", image.kind)
    first = announced.kind != "shaped" or series == 0  # later images have their own descriptions
    if announced.elements not in (0, image.size) and first and image.kind not in MICROSCOPES:
        refuse(f"hold the {announced.elements} values it announces", image.size)


def check_pages(image: Array, announced: Described, pages: Sequence[Page], size: int) -> None:
    """Refuse a stack if pages are missing, differ, or lie beyond the `size` bytes of the file."""
    layouts = {page.offset: page.layout for page in pages}
    layout, first = layouts.get(image.keyframe.offset), image.keyframe
    found = first.imagedepth, first.imagelength, first.imagewidth, first.samplesperpixel
    if layout is not None and layout[0] != found and image.kind not in MICROSCOPES:
        refuse(f"have a first page of {layout[0]} values that can be read", found)
    listed = [image[k] for k in range(len(image))]
    for k, page in enumerate(listed):
        if page is None:
            refuse("hold all planes it announces", f"none for plane {k}")
        if layouts.get(page.offset, layout) != layout:
            refuse("have pages of one layout in a stack", f"another on page {page.index}")
    each = math.prod(image.keyframe.shape)
    contiguous = len(listed) == 1 and image.dataoffset is not None
    whole = contiguous and image.dataoffset + image.size * image.dtype.itemsize <= size
    if len(listed) * each != image.size and not whole:
        refuse(f"hold the {image.size} values it announces", f"{len(listed)} pages of {each}")
    if announced.kind == "plain" and image.kind in ("generic", "uniform"):
        alike = sum(page.layout[:2] == pages[0].layout[:2] for page in pages)  # shape and bits
        if image.keyframe.offset == pages[0].offset and alike > len(image):
            got = f"{len(image)} with the first"
            refuse(f"have one layout for its {alike} pages of one size", got)


def check_unclaimed(file: BinaryIO, images: Sequence[TiffPage], pages: Pages) -> None:
    """Refuse a file with bytes of no page, except zeros and padding: a page may be lost."""
    behind = [  # one page may describe a contiguous stack
        (image.dataoffset, image.dataoffset + image.size * image.dtype.itemsize)
        for image in images
        if len(image) == 1 and image.dataoffset is not None
    ]
    unclaimed, slack = 0, min(page.slack for page in pages.chain)
    for start, end in pages.gaps(behind):
        file.seek(start)
        if end - start > MOST_ZEROS or any(file.read(end - start)):
            unclaimed += end - start
        if unclaimed > slack:
            refuse("account for its bytes", f"{unclaimed} of {pages.size} that belong to no page")


def guard(page: TiffPage) -> None:
    """Make a page refuse to decode strips and tiles of another size or type than its own."""
    if getattr(page.decode, "__module__", "") != __name__:
        page.decode = _guarded(page)


def try_ends(file: BinaryIO, page: TiffPage) -> None:
    """Decode the first and the last strip or tile of a guarded page, unless they are large."""
    if page.dtype is None:
        refuse("have pages of known types", f"{page.bitspersample} bits on page {page.index}")
    if math.prod(page.chunks) * page.dtype.itemsize > MOST_TRIED or page.is_contiguous:
        return
    tables = {"jpegtables": page.jpegtables, "jpegheader": page.jpegheader}
    for index in {0, len(page.dataoffsets) - 1}:
        file.seek(page.dataoffsets[index])
        data = file.read(page.databytecounts[index])
        page.decode(data, index, **(tables if int(page.compression) in JPEG else {}))


def _guarded(page: TiffPage) -> Decode:
    import tifffile

    given, compression = page.decode, int(page.compression)
    frame_of = jpeg_frame if compression in JPEG else None
    if compression in JPEG_2000:  # its decoder checks the size of an array only after decoding
        frame_of = jpeg2000_frame
    if compression in SIZELESS or compression in JPEG:
        decode = given
    elif compression in tifffile.TIFF.IMAGE_COMPRESSIONS or compression == LERC:
        decode = _image(page, given)
    else:
        decode = _bytes(page, given)

    def guarded(data: bytes, index: int, **options: object) -> Any:
        # A header of JPEG is that of the whole page.
        if frame_of is not None and options.get("jpegheader") is None:
            _, position, shape = given(None, index)
            frame, allowed = frame_of(data), _allowed(page, position, shape)
            if frame is None or frame[:2] not in allowed or frame[2] != shape[3]:
                refuse(_rule(shape), " x ".join(map(str, frame or ("no header",))))
        pixels, position, shape = decode(data, index, **options)
        if compression in FAX:
            pixels = pixels.astype(bool)  # decoded to bytes of 0 and 1
        if pixels.dtype != page.dtype:
            refuse(f"decode to the type {page.dtype}", pixels.dtype)
        return pixels, position, shape

    return guarded


def _bytes(page: TiffPage, given: Decode) -> Decode:
    """Guard a codec of bytes: its output must have the size of the strip or tile."""
    import tifffile

    decompress = tifffile.TIFF.DECOMPRESSORS[int(page.compression)]
    bare = copy.copy(page)  # the same page without compression
    bare.compression, bare.fillorder = 1, 1
    for cached in ("decode", "hash"):
        bare.__dict__.pop(cached, None)
    unpack = bare.decode

    def decode(data: bytes | bytearray, index: int, **options: object) -> Any:
        depth, length, width, samples = given(None, index)[2]
        bits = page.bitspersample
        pixel = sum(bits) if isinstance(bits, tuple) else int(bits) * samples
        line = -(-width * pixel // 8) * depth
        size, whole = line * length, line * _length(page)
        if page.fillorder == 2:
            import imagecodecs

            data = bytes(imagecodecs.bitorder_decode(data))
        found = decompress(data, out=np.empty(whole + 1, np.uint8))  # a size would cause a copy
        if len(found) not in (size, whole):  # some writers pad the last strip
            more = " or more" if len(found) > whole else ""
            refuse(f"decode to {size} bytes per strip or tile", f"{len(found)}{more}")
        return unpack(memoryview(found), index, **options)

    return decode


def _image(page: TiffPage, given: Decode) -> Decode:
    """Guard a codec of images: it decodes into an array of the right shape and type."""
    import tifffile

    compression = int(page.compression)
    decompress = tifffile.TIFF.DECOMPRESSORS[compression]
    opaque = compression == WEBP and page.samplesperpixel == 4  # alpha may be missing
    extra = {"hasalpha": True} if opaque else {}

    def decode(data: bytes, index: int, **options: object) -> Any:
        _, position, shape = given(None, index, **options)
        allowed = _allowed(page, position, shape)
        if page.dtype == bool:
            refuse(f"{_rule(shape)} of bool", "a codec of whole bytes")
        problem = ""
        for part in allowed:
            whole = (*shape[:1], *part, *shape[3:])
            fitting = [n for k, n in enumerate(whole) if k in (1, 2) or n > 1]
            try:
                pixels = decompress(data, out=np.empty(fitting, page.dtype), **extra)
            except ValueError as error:
                problem = problem or str(error).rpartition("=")[2]  # the shape or type found
                continue
            return pixels.reshape(whole)[:, : shape[1]], position, shape
        refuse(f"{_rule(shape)} of {page.dtype}", problem)

    return decode


def _rule(shape: tuple[int, ...]) -> str:
    return f"have strips or tiles of {' x '.join(map(str, shape[1:]))} values"


def _allowed(
    page: TiffPage, position: tuple[int, ...], shape: tuple[int, ...]
) -> list[tuple[int, int]]:
    """List the possible lengths and widths of a strip or tile: whole, or cut at the edge."""
    if page.is_tiled and int(page.compression) not in CUT_TILES:
        return [(shape[1], shape[2])]
    if not page.is_tiled:
        return list(dict.fromkeys([(shape[1], shape[2]), (_length(page), shape[2])]))
    ends = page.shaped[2] - position[2], page.shaped[3] - position[3]
    length, width = ((whole, min(whole, end)) for whole, end in zip(shape[1:3], ends, strict=True))
    return list(dict.fromkeys((m, n) for m in length for n in width))


def _length(page: TiffPage) -> int:
    """Return the number of rows of a whole strip or tile."""
    return int(page.tilelength if page.is_tiled else min(page.rowsperstrip, page.imagelength))


def jpeg_frame(data: bytes) -> tuple[int, int, int] | None:
    """Return length, width and samples from the header of a JPEG stream; None without one."""
    at = 2
    while at + 10 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a padding byte
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame, not a table
            length, width = (int.from_bytes(data[at + k : at + k + 2]) for k in (5, 7))
            return length, width, data[at + 9]
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


def jpeg2000_frame(data: bytes) -> tuple[int, int, int] | None:
    """Return length, width and samples from the header of a JPEG 2000 stream; None without one."""
    at = data.find(b"\xff\x4f\xff\x51")  # markers of the stream and its size
    if at < 0 or len(data) < at + 44:
        return None
    right, bottom, left, top = (int.from_bytes(data[k : k + 4]) for k in range(at + 8, at + 24, 4))
    samples = int.from_bytes(data[at + 40 : at + 42])
    return bottom - top, right - left, samples
