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
from .memory import half_of_free, readable
from .metadata import describe
from .preflight import walk
from .segments import guard, try_ends
from .shortage import refuse_shortage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from .metadata import Described
    from .pages import Page, Pages

MOST_ZEROS = 2**20  # bytes of a gap that are looked through
JPEG_XR = (22610, 34934)
MICROSCOPES = ("lsm", "mmstack")


@contextmanager
def opened(
    path: Path, series: int, memory_limit: int | None
) -> Iterator[tuple[Sequence[Any], Described]]:
    """Open a TIFF file and check all of it that can be checked without decoding.

    Parameters
    ----------
    path : Path
        File to open.
    series : int
        Which of its images has to be readable.
    memory_limit : int, optional
        Largest image to accept, in bytes when decoded; by default half of the free memory.

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
        everything = walk(file)
        pages = everything.chain
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
                _check_alike(image, pages)
            if announced.kind in ("plain", "shaped"):
                _check_unclaimed(file, images, everything)
            _check_memory(image, memory_limit)
            for page in image:
                guard(page.keyframe)
            if announced.kind == "plain":
                _try_others(image, pages)
        yield images, announced


def try_decoding(image: Any) -> None:
    """Decode the first and the last strip or tile of an image that `opened` has checked.

    Enough to notice that its pages announce another size or type than they hold.
    """
    page = image.keyframe
    with _decoding():
        try_ends(page.parent.filehandle, page)


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
        if code in JPEG_XR:
            rule = "have a compression whose decoder is sound"
            got = "JPEG XR, which ends the program where a file is damaged"
            refuse(rule, got, "Export it uncompressed or with deflate.")
        if code not in tifffile.TIFF.DECOMPRESSORS:
            remedy = "Export it uncompressed or with deflate; decrypt it if it is encrypted."
            refuse("have a compression that can be decoded", f"number {code}", remedy)
    # tifffile looks for its own mark and those of two microscopes before OME and ImageJ.
    known = announced.kind in ("ome", "imagej", "shaped")
    if known and image.kind not in (announced.kind, *MICROSCOPES):
        refuse(f"be laid out as its {announced.kind} description announces", image.kind)
    first = announced.kind != "shaped" or series == 0  # later images describe themselves
    if announced.elements not in (0, image.size) and first and image.kind not in MICROSCOPES:
        refuse(f"hold the {announced.elements} values it announces", image.size)


def _check_pages(image: Any, pages: Sequence[Page], size: int) -> None:
    """Refuse a stack whose pages are missing, differ, or leave the `size` bytes of the file."""
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


def _check_memory(image: Any, limit: int | None) -> None:
    """Refuse what would take more memory than allowed, before any of it is decoded."""
    import tifffile

    page = image.keyframe
    workers = min(tifffile.TIFF.MAXWORKERS, len(page.dataoffsets))
    parts = 0 if page.is_contiguous else workers * math.prod(page.chunks)  # decoded at once
    size = max(image.size, parts) * image.dtype.itemsize
    allowed = half_of_free() if limit is None else limit
    if size > allowed:
        rule = f"decode to {readable(allowed)} at most"
        if limit is None:
            rule += ", half of the memory that is free"
        remedy = "Pass a larger memory_limit (on the command line --memory-limit), or crop it."
        refuse(rule, readable(size), remedy)


def _check_alike(image: Any, pages: Sequence[Page]) -> None:
    """Refuse a plain stack that has fallen apart: nothing says how many pages it had."""
    layout = pages[0].layout
    alike = sum(page.layout[:2] == layout[:2] for page in pages)  # shape and bits
    if image.keyframe.offset == pages[0].offset and alike > len(image):
        refuse(f"have one layout for its {alike} pages of one size", f"{len(image)} with the first")


def _check_unclaimed(file: BinaryIO, images: Sequence[Any], pages: Pages) -> None:
    """Refuse a file with bytes of no page, if nothing says how many pages there were.

    Not for zeros, nor for a few: writers let pages begin at round positions.
    """
    behind = [  # one page may stand for a stack behind it
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


def _try_others(image: Any, pages: Sequence[Page]) -> None:
    """Refuse pages beside the image that do not decode: one of a stack may have lost its size."""
    own = {page.offset for page in image}
    for number in {p.layout: k for k, p in enumerate(pages) if p.offset not in own}.values():
        page = image.parent.pages[number].aspage()
        if page.dtype is None and page.shaped[1:] != image.keyframe.shaped[1:]:
            continue  # nothing that this image could have lost
        guard(page)
        try_ends(image.parent.filehandle, page)


@contextmanager
def _decoding() -> Iterator[None]:
    """Turn whatever a decoder raises into `UnreadableImageError`.

    Not the system's errors, and not a lack of memory: the file may be all right.
    """
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
