"""Check an image of a TIFF file against its pages, its description and the free memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import codecs
from .directories import refuse
from .memory import half_of_free, readable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from tifffile import TiffPage

    from equilabel.array_types import Array

    from .metadata import Described
    from .pages import Page, Pages

MOST_ZEROS = 2**20  # largest gap that is checked for zeros, in bytes
SMALL = 2**22  # bytes below which free memory is not checked
JPEG_XR = (22610, 34934)
MICROSCOPES = ("lsm", "mmstack")


def check_image(image: Array, announced: Described, series: int, pages: Sequence[Page]) -> None:
    """Refuse an image that differs from its description, or that cannot be decoded."""
    import tifffile

    if image.dtype is None or image.dtype.kind not in "buif":
        remedy = "Export real numbers of a usual type."
        refuse("hold real numbers of a known type", image.dtype, remedy)
    for code in {page.compression for page in pages}:
        if code in JPEG_XR:
            rule = "have a compression that can be decoded safely"
            got = "JPEG XR, whose decoder crashes on damaged files"
            refuse(rule, got, "Export it uncompressed or with deflate.")
        if code not in tifffile.TIFF.DECOMPRESSORS:
            if code in {known.value for known in tifffile.COMPRESSION} and codecs.are_missing():
                codecs.refuse_missing()
            remedy = "Export it uncompressed or with deflate; decrypt it if it is encrypted."
            refuse("have a compression that can be decoded", f"number {code}", remedy)
    # tifffile prefers its own description and those of two microscopes to OME and ImageJ.
    known = announced.kind in ("ome", "imagej", "shaped")
    if known and image.kind not in (announced.kind, *MICROSCOPES):
        refuse(f"be laid out as its {announced.kind} description announces", image.kind)
    first = announced.kind != "shaped" or series == 0  # later images have their own descriptions
    if announced.elements not in (0, image.size) and first and image.kind not in MICROSCOPES:
        refuse(f"hold the {announced.elements} values it announces", image.size)


def check_pages(image: Array, pages: Sequence[Page], size: int) -> None:
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


def check_memory(image: Array, limit: int | None) -> None:
    """Refuse an image that needs more memory than allowed, before it is decoded."""
    import tifffile

    page = image.keyframe
    workers = min(tifffile.TIFF.MAXWORKERS, len(page.dataoffsets))
    parts = 0 if page.is_contiguous else workers * math.prod(page.chunks)  # decoded at once
    size = max(image.size, parts) * image.dtype.itemsize
    if limit is None and size <= SMALL:
        return
    allowed = half_of_free() if limit is None else limit
    if size > allowed:
        rule = f"decode to {readable(allowed)} at most"
        if limit is None:
            rule += ", half of the memory that is free"
        remedy = "Pass a larger memory_limit, or crop it."
        refuse(rule, readable(size), remedy)


def check_alike(image: Array, pages: Sequence[Page]) -> None:
    """Refuse a stack without a description if pages of one size have different layouts."""
    layout = pages[0].layout
    alike = sum(page.layout[:2] == layout[:2] for page in pages)  # compares shape and bits
    if image.keyframe.offset == pages[0].offset and alike > len(image):
        refuse(f"have one layout for its {alike} pages of one size", f"{len(image)} with the first")


def check_unclaimed(file: BinaryIO, images: Sequence[TiffPage], pages: Pages) -> None:
    """Refuse a file with bytes that belong to no page.

    Zeros and a few bytes are accepted, because writers align pages. Call it only for images whose
    description does not count the pages.
    """
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
