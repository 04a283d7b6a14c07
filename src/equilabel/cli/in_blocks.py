"""Label an image of a run block by block: an OME-Zarr, or a TIFF larger than memory."""

from __future__ import annotations

import shutil
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.descriptions import describe_values
from equilabel.storage.errors import refuse_without_room
from equilabel.storage.memory import free, readable
from equilabel.storage.ome_zarr import find_image, is_zarr

from .axes import find_axes
from .chunk_choices import TAKEN, Choices, check_choices
from .options import OME_ZARR, RefusedError
from .results import Made, write_results
from .trial import drawing, forecast, of_block, try_axes

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.array_types import HostArray
    from equilabel.chunked.viewing import LazyImage
    from equilabel.storage.axes import Header

    from .axes import Axes
    from .options import Options
    from .records import Record

TYPES = (np.uint8, np.uint16, np.uint32)  # possible types of labels in a TIFF


def check_blocks(path: Path, options: Options) -> tuple[Header, str]:
    """Return the header of an image, and the reason for labeling it block by block.

    Raises ValueError if options of the run need the whole image.
    """
    from equilabel.storage.images import read_header

    why, header = "a Zarr", read_header(path, series=options.series)
    if not is_zarr(path):
        limit = readable(options.memory_limit or 0)
        need = readable(forecast(header, options))
        why = f"an image that takes about {need} of memory, more than --memory-limit {limit}"
    try:
        check_choices(options, Choices(why=why))
    except RefusedError as error:
        raise ValueError(str(error)) from error
    return header, why


def label_in_blocks(
    path: Path, own: Path, options: Options, record: Record, *, header: Header, why: str
) -> Record:
    """Segment an image block by block, and write the same results as for an image in memory.

    Labels are first stored as a Zarr. If they are to be written as a TIFF, they are copied to a
    flat file in raster order, which the system caches as far as memory allows. Both are removed.
    `own` is the beginning of the paths of results; their folder is created. `header` and `why` come
    from `check_blocks`.
    """
    from equilabel import segment_chunked

    axes = find_axes(path, options)
    image = _open(path, axes)
    sides, workers = choose_blocks(image, header, options)
    _refuse_without_room(own.parent.parent, image, options)
    own.parent.mkdir()  # fails if the run has ended and its folder is gone
    work = own.parent / "blocks"
    stored = work / "labels.zarr"
    result = segment_chunked(
        path,
        **{name: options.segment[name] for name in TAKEN},
        **axes.arguments,
        chunks=sides,
        out=stored,
        workers=workers,
    )
    if options.labels_format == OME_ZARR:
        labels = image.labels_at(stored)
    else:
        dtype = next((one for one in TYPES if result.num <= np.iinfo(one).max), np.int64)
        labels = image.flatten(stored, work / "labels", dtype, sides)
        shutil.rmtree(stored)
    letters, stacked = axes.names.replace("C", ""), axes.arguments["stacked"]
    known = (axes.known, axes.spacing, axes.file_unit, _origin(path))
    made = Made(result, labels, image, letters, stacked, *known)
    told = () if is_zarr(path) else (f"Labeled block by block: {why}.",)
    notes = (*axes.notes, *told, *filter(None, [_describe_values(image, sides)]))
    record = replace(record, notes=notes)
    record = write_results(made, own, options, record, interval=axes.interval)
    del made, labels
    shutil.rmtree(work)
    return record


def describe_blocks(path: Path, out: Path, options: Options) -> tuple[int, int, str]:
    """Return bytes of pixels, bytes of memory and a description; raise the errors of labeling."""
    header, _ = check_blocks(path, options)
    axes = find_axes(path, options)
    known = {name: axes.arguments[name] for name in ("stacked", "spacing", "unit")}
    try_axes(options, len(axes.names.replace("C", "")) - known["stacked"], **known)
    image = _open(path, axes)
    sides, workers = choose_blocks(image, header, options)
    _refuse_without_room(out, image, options)
    base, each = of_block(header, options)
    need = max(base + workers * each * prod(sides), drawing(header, options))
    return header.nbytes, need, f"{header}, {readable(header.nbytes)}, block by block"


def choose_blocks(
    image: LazyImage, header: Header, options: Options
) -> tuple[tuple[int, ...], int]:
    """Return sides of blocks that fit in --memory-limit, and how many are labeled at once.

    Raises ValueError if one stored chunk, or the overlay, does not fit.
    """
    allowed = free() if options.memory_limit is None else options.memory_limit
    base, each = of_block(header, options)
    sides, workers = image.sides_within(max(0, allowed - base) // each)
    need = max(base + workers * each * prod(sides), drawing(header, options))
    if need > allowed:
        message = (
            f"image must be labeled within --memory-limit, {readable(allowed)}; got {header}, "
            f"which takes about {readable(need)} even block by block. Pass a larger --memory-limit"
            f"{', or --no-overlay' * (drawing(header, options) > allowed)}."
        )
        raise ValueError(message)
    return sides, workers


def _refuse_without_room(folder: Path, image: LazyImage, options: Options) -> None:
    """Raise FullDiskError if the disk has no room for the labels, as a TIFF or a Zarr."""
    compressed = {} if options.labels_format == OME_ZARR else {"in_a_byte": 1}
    refuse_without_room(folder.absolute(), image.size, **compressed)


def _origin(path: Path) -> dict[str, float]:
    """Return the coordinate of the first pixel of an OME-Zarr along each spatial axis."""
    found = find_image(path) if is_zarr(path) else None
    if found is None or not found.levels:
        return {}
    pairs = zip(found.axes, found.levels[0].translation, strict=True)
    return {axis: first for axis, first in pairs if axis in "ZYX"}


def _open(path: Path, axes: Axes) -> LazyImage:
    """Open the channel of an image that is labeled."""
    from equilabel.chunked.viewing import LazyImage

    given = axes.arguments
    names = ("stacked", "channel_axis", "channel")
    return LazyImage(path, *(given.get(name) for name in names))


def _describe_values(image: LazyImage, sides: tuple[int, ...]) -> str:
    """Return what `describe_values` says about an image, from as few blocks as possible."""
    seen: list[HostArray] = []
    for part in image.parts(sides):
        pixels = image[part]
        finite = pixels[np.isfinite(pixels)]
        seen += [np.array([finite.min(), finite.max()])] if finite.size else []
        if seen and not describe_values(np.concatenate(seen)):
            return ""
    return describe_values(np.concatenate(seen) if seen else np.array([np.nan]))
