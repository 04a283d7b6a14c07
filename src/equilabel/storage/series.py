"""From the pages of a TIFF file to one image: which belong to it, and what its axes mean."""

from __future__ import annotations

import logging
import math
import os
import stat
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .axes import canonical
from .directories import UnreadableImageError, refuse, unreadable
from .metadata import describe
from .preflight import walk
from .shortage import refuse_shortage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from .metadata import Described
    from .preflight import Page

MICROSCOPES = ("lsm", "mmstack")
MOST_TRIED = 2**26  # bytes of a strip that is decoded to try its length
LOSSLESS = {5: "lzw_decode", 8: "zlib_decode", 32946: "zlib_decode", 32773: "packbits_decode"}
JPEG = {6, 7, 33007, 34892}
LOSSLESS |= {34925: "lzma_decode", 34926: "zstd_decode", 50000: "zstd_decode"}


@contextmanager
def opened(path: Path, series: int, max_bytes: int) -> Iterator[tuple[Sequence[Any], Described]]:
    """Open a TIFF file and check all of it that can be checked without decoding.

    Parameters
    ----------
    path : Path
        File to open.
    series : int
        Which of its images has to be readable.
    max_bytes : int
        Largest image to accept, in bytes when decoded.

    Yields
    ------
    images : sequence of tifffile.TiffPageSeries
        All images of the file.
    described : Described
        What the description says of image number `series`.

    Raises
    ------
    UnreadableImageError, OSError, ValueError
        As `tiff.check_tiff`.
    """
    import tifffile

    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        refuse("be a file", f"{kind}, {str(path)!r}", "Pass the files in it one by one.")
    with path.open("rb") as file, _quiet():
        size = os.fstat(file.fileno()).st_size
        pages = walk(file)
        described = describe(pages, path.name)
        with _decoding():
            file.seek(0)
            images = tifffile.TiffFile(file, name=path.name).series
            if _written_one_by_one(images):
                file.seek(0)
                images = tifffile.TiffFile(file, name=path.name, is_shaped=False).series
                described = (replace(described[0], kind="plain", elements=0),)
        if not 0 <= series < len(images):
            message = f"series must be 0 to {len(images) - 1} for {path.name!r}; got {series!r}."
            raise ValueError(message)
        announced = described[0]
        if announced.kind == "ome" and images[series].kind == "ome":
            if len(described) != len(images):
                refuse(f"hold the {len(described)} images its OME metadata announce", len(images))
            announced = described[series]
        with _decoding():
            image = images[series]
            _check_image(image, announced, series, pages)
            _check_pages(image, pages, size)
            if announced.kind == "plain" and image.kind in ("generic", "uniform"):
                _check_unannounced(image, pages, size)
            nbytes = image.size * image.dtype.itemsize
            if nbytes > max_bytes:
                refuse(f"decode to at most {max_bytes} bytes", nbytes, "Pass a larger max_bytes.")
            _check_lengths(file, pages)
        yield images, announced


def decoded(image: Any) -> tuple[NDArray[Any], str, tuple[str, ...]]:
    """Decode an image and bring its axes into the order T, C, Z, Y, X.

    Parameters
    ----------
    image : tifffile.TiffPageSeries
        One that `opened` has checked.

    Returns
    -------
    pixels : array
        In C order and native byte order.
    axes : str
        A letter for each axis.
    notes : tuple of str
        Sentences on what was guessed.

    Raises
    ------
    UnreadableImageError
        If the pixels cannot be decoded.
    MemoryError
        If there is too little memory to decode them.
    """
    try:
        with _decoding():
            pixels = image.asarray(squeeze=False)
    except UnreadableImageError as error:
        refuse_shortage(error, 4 * image.size * image.dtype.itemsize)
        raise
    shape = tuple(image.get_shape(False))
    if pixels.shape != shape:
        refuse(f"decode to the shape {shape}", pixels.shape)
    pixels, axes, guessed = canonical(pixels, image.get_axes(False))
    notes = list(guessed)
    if image.keyframe.photometric == 0:
        notes.append("White is zero in this file; values are as stored.")
    if image.keyframe.photometric == 3:
        notes.append("The palette is not applied; values are its indices.")
    if len(image.levels) > 1:
        notes.append(f"The file has {len(image.levels)} resolutions; the full one was read.")
    dtype = pixels.dtype.newbyteorder("=")
    dtype = np.dtype(np.float32) if dtype == np.float16 else dtype
    return np.ascontiguousarray(pixels, dtype), axes, tuple(notes)


def _written_one_by_one(images: Sequence[Any]) -> bool:
    """Tell whether pages of one shape were added to the file in a loop, each as an image."""
    first = images[0]
    return len(images) > 1 and all(
        image.kind == "shaped"
        and len(image) == len(image.levels) == 1
        and (image.shape, image.dtype)
        == (first.shape, first.dtype)
        == (first.keyframe.shape, first.dtype)
        for image in images
    )


def _check_image(image: Any, announced: Described, series: int, pages: Sequence[Page]) -> None:
    """Hold an image against its description, and refuse what cannot be decoded."""
    import tifffile

    if image.dtype is None or image.dtype.kind not in "buif":
        remedy = "Export real numbers of a usual type."
        refuse("hold real numbers of a known type", image.dtype, remedy)
    for code in {page.compression for page in pages}:
        if code not in tifffile.TIFF.DECOMPRESSORS:
            remedy = "Export it uncompressed or with deflate; decrypt it if it is encrypted."
            refuse("have a compression that can be decoded", f"number {code}", remedy)
    # tifffile looks for its own mark and those of two microscopes before OME and ImageJ.
    if announced.kind in ("ome", "imagej") and image.kind not in (announced.kind, *MICROSCOPES):
        refuse(f"be laid out as its {announced.kind} description announces", image.kind)
    first = announced.kind != "shaped" or series == 0  # later images describe themselves
    if announced.elements not in (0, image.size) and first and image.kind not in MICROSCOPES:
        refuse(f"hold the {announced.elements} values it announces", image.size)


def _check_pages(image: Any, pages: Sequence[Page], size: int) -> None:
    """Refuse a stack whose pages are missing, differ, or leave the `size` bytes of the file."""
    layouts = {page.offset: page.layout for page in pages}
    layout = layouts.get(image.keyframe.offset)
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


def _check_unannounced(image: Any, pages: Sequence[Page], size: int) -> None:
    """Refuse a plain stack that has fallen apart: nothing says how many pages it had."""
    layout = pages[0].layout
    alike = sum(page.layout[:2] == layout[:2] for page in pages)  # shape and bits
    if image.keyframe.offset == pages[0].offset and alike > len(image):
        refuse(f"have one layout for its {alike} pages of one size", f"{len(image)} with the first")
    unclaimed = size - sum(page.footprint for page in pages)
    if 2 * unclaimed > min(page.footprint for page in pages):
        refuse("account for its bytes", f"{unclaimed} of {size} that belong to no page")


def _check_lengths(file: BinaryIO, pages: Sequence[Page]) -> None:
    """Refuse strips and tiles that decode to other sizes than their page claims.

    The first and the last one of the first page of each layout: enough to notice a wrong
    width or length, at little cost. Some codecs drop surplus pixels without an error.
    """
    import imagecodecs

    for page in {page.layout: page for page in reversed(pages)}.values():
        whole = page.segments.size
        if whole > MOST_TRIED:
            continue
        for k, size in ((0, whole), (-1, page.segments.last)):
            file.seek(int(page.segment_offsets[k]))
            data = file.read(int(page.segment_bytes[k]))
            if page.compression in LOSSLESS and page.layout[-1] == 1:
                decode = getattr(imagecodecs, LOSSLESS[page.compression])
                held = len(decode(data, out=whole + 1))
                if held not in (size, whole):  # some writers fill up the last strip
                    refuse(f"decode to {size} bytes per strip or tile", held)
            elif page.compression in JPEG and (found := _jpeg_shape(data)):
                block = (*page.block, page.shape[2])[1:3]  # a tile, or a strip of full width
                rest = [total % part for total, part in zip(page.shape[1:3], block, strict=True)]
                if any(n not in (b, r) for n, b, r in zip(found, block, rest, strict=True)):
                    refuse(f"have JPEG parts of {block} pixels", found)


def _jpeg_shape(data: bytes) -> tuple[int, int] | None:
    """Return the length and width of a JPEG stream, None if it does not say."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame, not a table
            return int.from_bytes(data[at + 5 : at + 7]), int.from_bytes(data[at + 7 : at + 9])
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


@contextmanager
def _decoding() -> Iterator[None]:
    """Turn whatever a decoder raises into `UnreadableImageError`, the system's errors apart."""
    try:
        yield
    except (UnreadableImageError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        rule = "be decodable"
        raise unreadable(rule, what[:200]) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep tifffile's warnings off the terminal where nobody has asked for a log."""
    logger, handler = logging.getLogger("tifffile"), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
