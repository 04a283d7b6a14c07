"""One image of a TIFF file: check its pages, decode it, and order its axes."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import codecs
from .axes import canonical
from .directories import UnreadableImageError, refuse, unreadable
from .metadata import describe
from .preflight import walk
from .segments import guard, try_ends
from .series_checks import check_alike, check_image, check_memory, check_pages, check_unclaimed
from .shapes import unsqueezed
from .shortage import refuse_shortage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from equilabel.array_types import Array, HostArray

    from .metadata import Described
    from .pages import Page


@contextmanager
def opened(
    path: Path, series: int, memory_limit: int | None
) -> Iterator[tuple[Sequence[Any], Described]]:
    """Open a TIFF file, and check it as far as possible without decoding.

    Yields all images of the file (tifffile.TiffPageSeries) and the description of image `series`,
    which has to be readable. `memory_limit` is in bytes of decoded pixels, by default half of the
    free memory. Raises the errors of `tiff.check_tiff`.
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
            check_image(image, announced, series, pages)
            check_pages(image, pages, size)
            if announced.kind == "plain" and image.kind in ("generic", "uniform"):
                check_alike(image, pages)
            if announced.kind in ("plain", "shaped"):
                check_unclaimed(file, images, everything)
            check_memory(image, memory_limit)
            for page in image:
                guard(page.keyframe)
            if announced.kind == "plain":
                _try_others(image, pages)
        yield images, announced


def try_decoding(image: Array) -> None:
    """Decode the first and the last strip or tile of an image from `opened`.

    That is enough to notice that pages do not have the size or type that they announce.
    """
    page = image.keyframe
    with _decoding():
        try_ends(page.parent.filehandle, page)


def decoded(image: Array) -> tuple[HostArray, str, tuple[str, ...]]:
    """Decode an image from `opened`; return pixels, axes, and notes on guesses.

    Pixels are in C order and native byte order, with axes in the order T, C, Z, Y, X. Raises
    UnreadableImageError, or MemoryError if there is too little memory.
    """
    image, shape, axes = unsqueezed(image)
    try:
        with _decoding():
            pixels = image.asarray(squeeze=False)
    except UnreadableImageError as error:
        refuse_shortage(error, 4 * image.size * image.dtype.itemsize)
        raise
    if pixels.shape != shape:
        refuse(f"decode to the shape {shape}", pixels.shape)
    pixels, axes, guessed = canonical(pixels, axes)
    notes = list(guessed)
    if image.keyframe.photometric == 0:
        notes.append("White is 0 in this file; values are used as stored.")
    if image.keyframe.photometric == 3:
        notes.append("The palette is not applied; values are indices of colors.")
    if len(image.levels) > 1:
        notes.append(f"The file has {len(image.levels)} resolutions; the full one was read.")
    dtype = pixels.dtype.newbyteorder("=")
    dtype = np.dtype(np.float32) if dtype == np.float16 else dtype
    return np.ascontiguousarray(pixels, dtype), axes, tuple(notes)


def _written_one_by_one(images: Sequence[Any]) -> bool:
    """Return whether pages of equal shape were added to the file one by one, each as an image."""
    first = images[0]
    return len(images) > 1 and all(
        image.kind == "shaped"
        and len(image) == len(image.levels) == 1
        and (image.shape, image.dtype)
        == (first.shape, first.dtype)
        == (first.keyframe.shape, first.dtype)
        for image in images
    )


def _try_others(image: Array, pages: Sequence[Page]) -> None:
    """Refuse a file with another page that does not decode, because it may belong to the image."""
    own = {page.offset for page in image}
    for number in {p.layout: k for k, p in enumerate(pages) if p.offset not in own}.values():
        page = image.parent.pages[number].aspage()
        if page.dtype is None and page.shaped[1:] != image.keyframe.shaped[1:]:
            continue  # cannot belong to this image
        guard(page)
        try_ends(image.parent.filehandle, page)


@contextmanager
def _decoding() -> Iterator[None]:
    """Convert errors of decoders to `UnreadableImageError`.

    Errors of the system and of memory are kept, because the file may be intact.
    """
    try:
        yield
    except (UnreadableImageError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ImportError) and codecs.are_missing():
            codecs.refuse_missing(error)
        if isinstance(error, OSError) and error.errno is not None:
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        rule = "be decodable"
        raise unreadable(rule, what[:200]) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings of tifffile, unless logging is set up."""
    logger, handler = logging.getLogger("tifffile"), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
