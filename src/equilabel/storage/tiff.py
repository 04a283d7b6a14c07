"""Read and write TIFF images: checked before they are decoded, and complete or not at all."""

from __future__ import annotations

import hashlib
import logging
import math
import stat
import uuid
import weakref
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import (
    UnreadableImageError,
    check_series,
    decoding,
    refuse,
    refuse_large,
)
from .files import replacing
from .metadata import (
    LENGTHS,
    Header,
    TiffImage,
    calibration,
    canonical,
    describe,
    named,
)
from .tiff_checks import check_image, check_pages, check_unclaimed, guard, try_ends
from .tiff_pages import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import Array, HostArray

    from .metadata import Described
    from .tiff_pages import Page

__all__ = ["TiffImage", "UnreadableImageError", "read_tiff", "write_labels"]

UNLIMITED = 2**62  # memory limit: nothing is decoded as a whole
CLASSIC_BYTES = 2**32 - 2**25  # limit of a classic TIFF, minus space for its directories
FINEST = 1e-8  # centimeters per pixel, in a tag: a ratio of two 32-bit integers
MOST_LABELS = 2**32 - 1  # OME has no 64-bit integers


def read_tiff(
    path: Path | str,
    *,
    series: int = 0,
    memory_limit: int | None = None,
    indices: bool = False,
    accept: Callable[[Header], None] | None = None,
) -> TiffImage:
    """Read one image of a TIFF file, completely or not at all.

    Of a pyramid, the full resolution is read. Pages of equal shape that tifffile wrote one by one
    are one stack. `memory_limit` is in bytes of decoded pixels, by default half of the free memory.
    A palette of grays is applied unless `indices`, as for labels.
    """
    with _opened(Path(path), series, memory_limit) as (images, described):
        if accept is not None:
            accept(_header_of(images[series]))
        pixels, axes, notes = _decoded(images[series], indices)
        return _with_calibration(pixels, axes, notes, images, series, described)


def open_lazily(path: Path | str, *, series: int = 0) -> Any:
    """Open an image as a read-only zarr.Array of pages or tiles, checked except for its pixels."""
    import tifffile
    import zarr

    with _opened(Path(path), series, UNLIMITED) as (images, _):
        shape = tuple(images[series].shape)
        # Pages that `_opened` reads as one stack were written as separate images.
        shaped = None if images[series].kind == "shaped" else False
    file = tifffile.TiffFile(path, is_shaped=shaped)
    array = zarr.open_array(file.series[series].aszarr(level=0), mode="r")
    close = weakref.finalize(array, file.close)
    if tuple(array.shape) != shape:
        close()
        remedy = "Read it as a whole, or convert it to OME-Zarr."
        refuse(f"be readable in parts with its shape {shape}", array.shape, remedy)
    return array


def describe_tiff(path: Path | str, *, series: int = 0) -> TiffImage:
    """Return an image with zeros that take no memory as pixels, and the axes of `open_lazily`."""
    with _opened(Path(path), series, UNLIMITED) as (images, described):
        chosen = images[series]
        if "S" in chosen.axes and "C" in chosen.axes:
            refuse("have color samples or channels to be read in parts", f"axes {chosen.axes!r}")
        grays = _grays(chosen)
        if grays is not None and (grays != np.arange(len(grays))).any():
            remedy = "Read it as a whole, or convert it."
            refuse("store gray values to be read in parts", "numbers of a palette", remedy)
        letters, guessed = named(chosen.axes, chosen.shape)
        notes = (*guessed, *_notes(chosen, grays is not None))
        pixels = np.broadcast_to(np.zeros((), chosen.dtype), chosen.shape)
        return _with_calibration(pixels, "".join(letters), notes, images, series, described)


def header_of_tiff(path: Path, series: int) -> Header:
    """Return the header of an image of a TIFF, which is checked as by `open_lazily`."""
    with _opened(path, series, UNLIMITED) as (images, _):
        return _header_of(images[series])


@contextmanager
def _opened(
    path: Path, series: int, memory_limit: int | None
) -> Iterator[tuple[Sequence[Any], Described]]:
    """Open a TIFF, and check it as far as possible without decoding.

    Yields all images, and the description of image `series`.
    """
    import tifffile

    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        refuse("be a file", f"{kind}, {str(path)!r}", "Pass the files in it one by one.")
    with path.open("rb") as file, _quiet():
        everything = walk(file)
        pages = everything.chain
        described = describe(pages, path.name)
        with decoding():
            file.seek(0)
            images = tifffile.TiffFile(file, name=path.name).series
            if _written_one_by_one(images):
                file.seek(0)
                images = tifffile.TiffFile(file, name=path.name, is_shaped=False).series
                described = (replace(described[0], kind="plain", elements=0),)
        check_series(series, path, len(images))
        announced = described[0]
        if announced.kind == "ome" and images[series].kind == "ome":
            if len(described) != len(images):
                refuse(f"hold the {len(described)} images its OME metadata announce", len(images))
            announced = described[series]
        with decoding():
            image = images[series]
            check_image(image, announced, series, pages)
            check_pages(image, announced, pages, everything.size)
            if announced.kind in ("plain", "shaped"):
                check_unclaimed(file, images, everything)
            page = image.keyframe
            workers = min(tifffile.TIFF.MAXWORKERS, len(page.dataoffsets))
            parts = 0 if page.is_contiguous else workers * math.prod(page.chunks)  # decoded at once
            refuse_large(max(image.size, parts) * image.dtype.itemsize, memory_limit)
            for page in image:
                guard(page.keyframe)
            if announced.kind == "plain":
                _try_others(image, pages)
        yield images, announced


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


def _decoded(image: Array, indices: bool) -> tuple[HostArray, str, tuple[str, ...]]:
    """Decode an image: pixels in C order, native, axes in the order T, C, Z, Y, X, and notes."""
    image, shape, axes = _unsqueezed(image)
    with decoding():
        pixels = image.asarray(squeeze=False)
    if pixels.shape != shape:
        refuse(f"decode to the shape {shape}", pixels.shape)
    pixels, axes, guessed = canonical(pixels, axes)
    grays = None if indices else _grays(image)
    applied = grays is not None and pixels.max(initial=0) < len(grays)
    if grays is not None and applied:
        pixels = grays[pixels]
    dtype = pixels.dtype.newbyteorder("=")
    dtype = np.dtype(np.float32) if dtype == np.float16 else dtype
    return np.ascontiguousarray(pixels, dtype), axes, (*guessed, *_notes(image, applied))


def _grays(image: Array) -> HostArray | None:
    """Return the values of a palette of grays; None if an image has none."""
    colors: HostArray = np.asarray(image.keyframe.colormap)
    if image.keyframe.photometric != 3 or colors.ndim != 2 or (colors != colors[0]).any():
        return None
    grays: HostArray = colors[0]
    steps = grays // 257
    return steps.astype(np.uint8) if (steps * 257 == grays).all() else grays


def _notes(image: Array, applied: bool) -> Iterator[str]:
    """Yield notes on what the values mean; `applied` is whether a palette of grays was applied."""
    if image.keyframe.photometric == 0:
        yield "White is 0 in this file; values are used as stored."
    if applied:
        yield "The palette is gray, and was applied."
    elif image.keyframe.photometric == 3:
        yield "The palette is not applied; values are indices of colors."
    if len(image.levels) > 1:
        yield f"The file has {len(image.levels)} resolutions; the full one was read."


def _header_of(image: Array) -> Header:
    """Return the header of an image of an open TIFF."""
    dtype = np.dtype(np.float32) if image.dtype == np.float16 else image.dtype
    _, shape, axes = _unsqueezed(image)
    return Header.of(shape, axes, dtype)


def _unsqueezed(image: Array) -> tuple[Array, tuple[int, ...], str]:
    """Return an image of an open TIFF with its axes of length 1, its shape and its axes."""
    if hasattr(image, "get_shape"):  # tifffile before 2026.5.2
        return image, tuple(image.get_shape(False)), image.get_axes(False)
    images = image.parent.series
    number = next(k for k, each in enumerate(images) if each is image)
    image = images(squeeze=False)[number]
    return image, tuple(image.shape), image.axes


def _with_calibration(
    pixels: HostArray,
    axes: str,
    notes: Sequence[str],
    images: Sequence[Any],
    series: int,
    described: Described,
) -> TiffImage:
    """Return pixels with the metadata of an image in a file that `_opened` has opened."""
    page = images[series].keyframe
    facts = calibration(described, page.tags)
    count = pixels.shape[axes.index("C")] if "C" in axes else 1
    which = (
        f"The file holds {len(images)} images; number {series} was read and no other (choose with "
        "--series, in Python series=).",
    ) * (len(images) > 1)
    channels = described.channels
    # JPEG stores colors as YCbCr (6), and is decoded to RGB (2).
    colored = page.photometric == 2 or (page.photometric == 6 and page.compression == 7)
    if not channels and colored and count in (3, 4):
        channels = ("red", "green", "blue", "alpha")[:count]
    facts |= {"channels": channels, "notes": (*which, *notes, *facts["notes"])}
    return TiffImage(pixels, axes, series=series, series_count=len(images), **facts)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings of tifffile, unless logging is set up."""
    logger, handler = logging.getLogger("tifffile"), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def write_labels(
    path: Path | str,
    labels: ArrayLike,
    *,
    axes: str,
    spacing: Mapping[str, float] | None = None,
    unit: str = "",
    interval: float | None = None,
    name: str = "labels",
) -> None:
    """Write (..., M, N) labels as OME-TIFF: tiled, compressed, in the smallest unsigned type.

    `axes` has a letter of T, C, Z, Y, X for each axis and ends in YX. `spacing` maps Z, Y and X to
    sizes in `unit`, also in resolution tags for programs such as ImageJ; `interval` is in seconds.
    Nothing in the file tells about the machine or the time. Raises ValueError for labels beyond 32
    bits.
    """
    import tifffile

    labels, sizes = np.asarray(labels), spacing or {}
    least, most = int(labels.min()), int(labels.max())
    if least < 0 or most > MOST_LABELS:
        message = (
            f"labels must be 0 to {MOST_LABELS} in an OME-TIFF; got {least} to {most}. "
            "Number them consecutively first."
        )
        raise ValueError(message)
    labels = labels.astype(np.min_scalar_type(most), copy=False)
    # A missing unit means micrometers in OME; "reference frame" means an unknown unit.
    word = {"": "reference frame", "inch": "in"}.get(unit, unit)
    metadata: dict[str, object] = {"axes": axes, "Name": name}
    metadata |= {f"PhysicalSize{axis}": float(size) for axis, size in sizes.items()}
    metadata |= {f"PhysicalSize{axis}Unit": word for axis in sizes}
    if interval is not None:
        metadata |= {"TimeIncrement": float(interval), "TimeIncrementUnit": "s"}
    # A UUID from the content: that of tifffile would tell the machine and the time.
    about = f"{labels.dtype.str} {labels.shape} {sorted(metadata.items())}"
    content = hashlib.sha256(about.encode())
    content.update(np.ascontiguousarray(labels).data)
    metadata["UUID"] = uuid.uuid5(uuid.NAMESPACE_OID, content.hexdigest()).urn
    tile = tuple(min(512, 16 * -(-size // 16)) for size in labels.shape[-2:])
    resolution: dict[str, Any] = {}
    if unit in LENGTHS and {"X", "Y"} <= set(sizes):
        centimeters = [float(LENGTHS[unit] * 100) * sizes[axis] for axis in "XY"]
        if all(FINEST < size < 1 / FINEST for size in centimeters):
            per_centimeter = [1 / size for size in centimeters]
            resolution = {"resolution": per_centimeter, "resolutionunit": "CENTIMETER"}
    with replacing(path) as unfinished, unfinished.open("w+b") as file:
        # Close on success only: closing writes, and would hide the error of a failed write.
        writer = tifffile.TiffWriter(file, ome=True, bigtiff=labels.nbytes > CLASSIC_BYTES)
        options: Any = {"photometric": "minisblack", "compression": "zlib", "tile": tile}
        writer.write(labels, **options, metadata=metadata, **resolution)
        writer.close()
