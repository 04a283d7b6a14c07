"""Check that strips and tiles decode to the size and type of their page.

tifffile crops, reshapes and casts the output of a codec until it fits: half the width of a JPEG
2000 strip would give a sheared picture. Here the output is checked first and, if the codec allows
it, before decoding.
"""

from __future__ import annotations

import copy
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .codestreams import FAX, Frame, is_fax_of, jpeg2000_frame, jpeg_frame
from .directories import refuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from tifffile import TiffPage

    from equilabel.array_types import HostArray

    # The interface of tifffile: from stored bytes and index to pixels, their position, and
    # the shape of the strip or tile as (depth, length, width, samples).
    Decode = Callable[..., tuple[HostArray, tuple[int, ...], tuple[int, ...]]]

JPEG = {6, 7, 33007, 34892}
JPEG_2000 = {33003, 33004, 33005, 34712}
CUT_TILES = {*JPEG, 34933}  # and PNG: tiles at the edge may be cut off there
LERC, WEBP = 34887, 50001
SIZELESS = {1, 48124, 65000, 65001, 65002}  # lengths are checked, or the codec knows the size
# Prefix of an error message of imagecodecs, and names of types in it.
MISFIT = re.compile(r"invalid out\.(shape|dtype)=.*, \1=")
TYPE = re.compile(r"(u?int|float)\d+|\b[uif]\d\b")
MOST_TRIED = 2**26  # bytes of a strip or tile that is decoded as a test


def guard(page: TiffPage) -> None:
    """Make a page refuse strips and tiles of another size or type than its own.

    Replaces `page.decode` by a function that may raise UnreadableImageError. The page needs its own
    tags.
    """
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
    if compression in SIZELESS:
        decode = given
    elif compression in JPEG:
        decode = _jpeg(page, given)
    elif compression in FAX:
        decode = _fax(page, given)
    elif compression in tifffile.TIFF.IMAGE_COMPRESSIONS or compression == LERC:
        decode = _image(page, given)
    else:
        decode = _bytes(page, given)

    def guarded(data: bytes, index: int, **options: object) -> Any:
        pixels, position, shape = decode(data, index, **options)
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
        line = -(-width * _bits(page, samples) // 8) * depth
        size, whole = line * length, line * _length(page)
        if page.fillorder == 2:
            data = _turned(data)
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
        if compression in JPEG_2000:  # checks the array only after decoding
            frame = jpeg2000_frame(data)
            _check_frame(frame, allowed, shape)
            same = frame is not None and frame.kind == page.dtype.kind
            found: object = page.dtype if same else "another type"
        else:
            found = _type(decompress, data)
        if found != page.dtype:
            refuse(f"{_rule(shape)} of {page.dtype}", found)
        problem = ""
        for part in allowed:
            whole = (*shape[:1], *part, *shape[3:])
            fitting = [n for k, n in enumerate(whole) if k in (1, 2) or n > 1]
            try:
                pixels = decompress(data, out=np.empty(fitting, page.dtype), **extra)
            except ValueError as error:
                problem = problem or MISFIT.sub("", str(error))
                continue
            return pixels.reshape(whole)[:, : shape[1]], position, shape
        refuse(_rule(shape), problem)

    return decode


def _type(decompress: Callable[..., Any], data: bytes) -> object:
    """Return the type of a compressed stream, without decoding it.

    The codec gets an array of a type that it does not support, and its error names the right type.
    With an array of the same item size, it would accept a wrong type.
    """
    try:
        decompress(data, out=np.empty((1, 1), np.complex128))
    except ValueError as error:
        text = MISFIT.sub("", str(error))
        name = TYPE.search(text)
        return np.dtype(name[0]) if name else text
    return "a type of its own"


def _jpeg(page: TiffPage, given: Decode) -> Decode:
    """Guard JPEG by the header of each stream; tifffile handles its tables and colors."""

    def decode(data: bytes, index: int, **options: object) -> Any:
        if options.get("jpegheader") is None:  # otherwise it describes the whole page
            _, position, shape = given(None, index)
            frame = jpeg_frame(data)
            _check_frame(frame, _allowed(page, position, shape), shape)
            bits = page.bitspersample
            if frame is not None and not (frame.bits <= bits and (frame.bits > 8) == (bits > 8)):
                refuse(f"have {bits} bits per sample", frame.bits)
        return given(data, index, **options)

    return decode


def _fax(page: TiffPage, given: Decode) -> Decode:
    """Guard fax codes, which fit any size, by encoding the decoded pixels again."""

    def decode(data: bytes, index: int, **options: object) -> Any:
        pixels, position, shape = given(data, index, **options)
        stream = _turned(data) if page.fillorder == 2 else data
        options_of_3 = int(page.tags.valueof(292, 0))
        if not is_fax_of(pixels[0, :, :, 0], stream, int(page.compression), options_of_3):
            rule = f"have fax codes of {shape[1]} x {shape[2]} pixels"
            refuse(rule, "codes of another picture", "Export it with deflate or uncompressed.")
        return pixels.astype(bool), position, shape

    return decode


def _turned(data: bytes | bytearray) -> bytes:
    """Return bytes with reversed bits."""
    import imagecodecs

    return bytes(imagecodecs.bitorder_decode(data))


def _check_frame(
    frame: Frame | None, allowed: list[tuple[int, int]], shape: tuple[int, ...]
) -> None:
    """Refuse a stream whose header has a size that the strip or tile cannot have."""
    if frame is None:
        refuse(_rule(shape), "one without a header")
    if frame[:2] not in allowed or frame.samples != shape[3]:
        refuse(_rule(shape), " x ".join(map(str, frame[:3])))


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


def _bits(page: TiffPage, samples: int) -> int:
    """Return the bits of a pixel in a strip or tile."""
    bits = page.bitspersample
    return sum(bits) if isinstance(bits, tuple) else int(bits) * samples
