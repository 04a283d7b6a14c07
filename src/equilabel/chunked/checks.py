"""Checks of the arguments of `label_chunked` and `segment_chunked`."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import (
    check_choice,
    check_flag,
    check_names,
    check_sequence,
    check_text,
    check_whole,
    shown,
)
from equilabel.colors import check_channel
from equilabel.measuring.properties import PROPERTIES, resolve_names
from equilabel.segmentation.filters import as_pixels
from equilabel.storage.files import is_remote
from equilabel.storage.ome_zarr import ZarrImage, find_image
from equilabel.storage.remote import locate

from .blocks import large_sides
from .sources import MemorySource, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equilabel.array_types import HostArray

    from .sources import Source


MANY = 100_000  # with more chunks, labels are stored in shards


def check_chunks(chunks: Any, source: Source) -> tuple[int, ...]:
    """Return the sides of a block: `chunks`, where -1 is the whole axis, or a default."""
    shape = source.shape
    if chunks is None:
        if source.stored is None:
            message = (
                "chunks must be given for an array of NumPy; got None. Pass the sides of a block, "
                "such as chunks=256."
            )
            raise ValueError(message)
        stored = tuple(max(side, 1) for side in source.stored)
        return stored if source.kind == "dask" else large_sides(shape, stored)
    if isinstance(chunks, (str, Integral)):
        sides = [check_whole("chunks", chunks)] * len(shape)
    else:
        kinds = "whole numbers, one or one for each axis"
        given = check_sequence("chunks", chunks, kinds)
        sides = [check_whole("chunks", side) for side in given]
    if len(sides) != len(shape) or any(side < 1 and side != -1 for side in sides):
        message = (
            f"chunks must be 1 or more (or -1: all) for each of {len(shape)} axes; got "
            f"{shown(chunks)}."
        )
        raise ValueError(message)
    pairs = zip(sides, shape, strict=True)
    return tuple(length if side == -1 else min(side, length) for side, length in pairs)


def check_numbering(numbering: Any) -> bool:
    """Return whether objects are numbered block by block; raise ValueError."""
    return check_choice("numbering", numbering, ("raster", "blocks")) == "blocks"


def check_shards(
    shards: Any, source: Source, sides: tuple[int, ...], version: str = ""
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Return the sides of the chunks of labels, and of shards or None.

    Chunks are those of the image if blocks consist of them. A shard is a block, so that it has one
    writer. NGFF of `version` 0.4 has none.
    """
    shards = None if shards is None else check_flag("shards", shards)
    if version == "0.4" and shards:
        message = (
            "shards needs Zarr of format 3, which an OME-Zarr of version 0.4 is not; got True. "
            "Leave it out."
        )
        raise ValueError(message)
    chunks, stored = sides, source.stored
    if stored is not None:
        pairs = zip(sides, stored, source.shape, strict=True)
        if all(side % chunk == 0 or side == length for side, chunk, length in pairs):
            chunks = tuple(map(min, sides, stored))
    if shards is None:
        number = prod(-(-length // side) for length, side in zip(source.shape, chunks, strict=True))
        shards = number > MANY and version != "0.4"
    whole = tuple(-(-side // chunk) * chunk for side, chunk in zip(sides, chunks, strict=True))
    return chunks, whole if shards else None


def check_out(out: Any, source: Source, *, resume: bool) -> Any:
    """Return the path for labels; raise TypeError or ValueError if it is missing or not allowed."""
    if out is None:
        if source.kind in ("zarr", "path"):
            message = (
                "out must be the path of a new Zarr where the image is a Zarr or a file; got None. "
                "Pass a path, such as out='labels.zarr'."
            )
            raise ValueError(message)
        if resume:
            message = "resume needs out, the path of the labels that were begun; got out=None."
            raise ValueError(message)
        return None
    path = locate("out", out, writes=True)
    if is_remote(path):
        return path
    if within := source.places.intersection(map(str, path.resolve().parents)):
        message = f"out must not be in the image, {min(within)!r}; got {str(path)!r}. Move it."
        raise ValueError(message)
    return path.absolute()


def check_array(
    array: Any, source: Source, sides: tuple[int, ...], *, shared: bool, resume: bool
) -> None:
    """Raise TypeError or ValueError if a NumPy or Zarr array cannot take labels.

    `sides` are those of blocks; `shared` says whether workers can write to arrays of this process.
    """
    if not shared or resume:
        given = "resume=True" if resume else "a scheduler of other processes"
        message = f"out must be a path to go on with, or for workers elsewhere; got {given}."
        raise ValueError(message)
    if tuple(array.shape) != source.shape:
        message = f"out must have the shape of the image, {source.shape}; got {array.shape}."
        raise ValueError(message)
    dtype = np.dtype(array.dtype)
    if dtype.kind not in "iu" or dtype.itemsize < 4 or not dtype.isnative:
        message = f"out must be of a type of 32 or 64 bits, such as int32; got {dtype}."
        raise TypeError(message)
    if isinstance(array, np.ndarray):
        if not (array.flags.c_contiguous and array.flags.writeable):
            message = "out must be in C order and writeable; got an array that is not."
            raise ValueError(message)
        if isinstance(source, MemorySource) and np.may_share_memory(source.array, array):
            message = "out must not overlap label_image; got the same memory. Make it a new array."
            raise ValueError(message)
        return
    if source.path is not None and source.path == folder_of(array):
        message = f"out must not be the image; got {source.path!r} for both. Make it a new array."
        raise ValueError(message)
    chunks = array.shards or array.chunks
    pairs = zip(sides, chunks, source.shape, strict=True)
    if any(side % chunk and side != length for side, chunk, length in pairs):
        message = (
            f"out must have chunks that blocks of {sides} consist of; got {chunks}. Pass chunks=, "
            "multiples of its sides."
        )
        raise ValueError(message)
    if array.read_only:
        message = "out must be writable; got a Zarr opened to be read. Open it with mode='r+'."
        raise ValueError(message)


def pretend(source: Source) -> HostArray:
    """Return an array like an image that takes no memory, for checking arguments."""
    dtype = source.dtype.newbyteorder("=")
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    return np.broadcast_to(np.zeros((), dtype), source.shape)


def check_pixels(shape: tuple[int, ...], base: Source) -> None:
    """Raise TypeError or ValueError if the pixels of an image cannot be segmented."""
    as_pixels(pretend(base))
    if 0 in shape:
        message = f"image must have no empty axis; got shape {base.shape}. Use `segment` for it."
        raise ValueError(message)


def check_mergeable(properties: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of columns; raise ValueError if one needs all pixels of an object at once."""
    names = check_names("properties", properties)
    for _, key in resolve_names(names):
        if not PROPERTIES[key].mergeable:
            message = (
                f"properties must be counts that blocks add up to, for an image in chunks; got "
                f"{key!r}. Leave it out, or measure objects that fit into memory with "
                "`regionprops_table`."
            )
            raise ValueError(message)
    return names


def check_depth(sides: tuple[int, ...], shape: tuple[int, ...], halo: int, stacked: bool) -> None:
    """Raise ValueError if a column needs more neighbors than a block has layers."""
    spatial = list(zip(sides, shape, strict=True))[int(stacked) :]
    if any(side < halo and side < length for side, length in spatial):
        message = (
            f"chunks must be {halo} or more along each spatial axis to measure perimeters; got "
            f"{sides!r}. Pass larger chunks."
        )
        raise ValueError(message)


# ---- Axes of an image that are segmented


class Picked(NamedTuple):
    """Axes that are segmented."""

    picks: tuple[int | None, ...]  # index taken along each axis of the image; None: the whole axis
    channel_axis: int | None
    stacked: bool  # whether the first remaining axis counts independent images
    spacing: Any  # along spatial axes; None if unknown
    unit: str | None
    axes: str = ""  # one letter for each remaining axis; empty if unknown
    ome: ZarrImage | None = None  # description of the image

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return sum(pick is None for pick in self.picks) - self.stacked


def pick_axes(
    image: Any,
    base: Source,
    stacked: bool | None,
    channel_axis: int | None,
    channel: int | None,
    spacing: float | Sequence[float] | None,
    unit: str | None,
    axes: str | None = None,
) -> Picked:
    """Return the axes that are segmented; arguments and errors as for `segment_chunked`."""
    rank, told = len(base.shape), axes is not None
    unit = None if unit is None else check_text("unit", unit)
    described = _describe(image, rank)
    if axes is not None:
        described = replace(described or ZarrImage(Path()), axes=_check_axes(axes, rank))
    axes = described.axes if described is not None else ""
    if channel_axis is None and "C" in axes:
        channel_axis = axes.index("C")
    picks: list[int | None] = [None] * rank
    for axis, letter in enumerate(axes):
        if letter not in "YX" and base.shape[axis] == 1 and not told:
            picks[axis] = 0
    place = check_channel(base.shape, channel_axis, channel)
    if place is not None and channel_axis is not None:
        channel_axis %= rank
        picks[channel_axis] = place
        if axes and base.shape[channel_axis] == 1:
            channel_axis = None
    letters = "".join(axes[axis] for axis, pick in enumerate(picks) if pick is None and axes)
    first = letters.startswith("T") if stacked is None else check_flag("stacked", stacked)
    if described is not None and spacing is None and described.spacing:
        known = described.spacing
        spacing = tuple(known.get(letter, 1.0) for letter in letters[first:])
        unit = unit or described.unit
    return Picked(tuple(picks), channel_axis, first, spacing, unit or None, letters, described)


def _describe(image: Any, rank: int) -> ZarrImage | None:
    """Return the description of an OME-Zarr; None for other images."""
    if isinstance(image, str) or is_remote(image):
        image = locate("image", image)
    if not (is_remote(image) or (isinstance(image, Path) and image.is_dir())):
        return None
    described = find_image(image)
    return described if len(described.axes) == rank else None


def _check_axes(axes: Any, rank: int) -> str:
    """Return the axes of the caller; raise TypeError or ValueError unless they match the image."""
    if not isinstance(axes, str):
        message = f"axes must be letters such as 'TZYX'; got {type(axes).__name__}."
        raise TypeError(message)
    order = [letter for letter in axes if letter != "C"]
    if (
        len(axes) != rank
        or axes.count("C") > 1
        or order != [letter for letter in "TZYX" if letter in axes]
        or not axes.replace("C", "").endswith("YX")
    ):
        message = (
            f"axes must have a letter of T, Z, Y, X, in this order, and of C for each of {rank} "
            f"axes, with Y and X; got {shown(axes)}. Leave it out, or transpose the image."
        )
        raise ValueError(message)
    return str(axes)
