"""Read TIFF images: checked before they are decoded, and complete or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .directories import UnreadableImageError
from .labels import write_labels
from .metadata import calibration
from .series import decoded, opened, try_decoding
from .shapes import Header, header_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import HostArray

    from .metadata import Described

__all__ = ["TiffImage", "UnreadableImageError", "check_tiff", "read_tiff", "write_labels"]


@dataclass(frozen=True)
class TiffImage:
    """An image that was read from a file."""

    # C order, native byte order, values as stored: palettes are not applied, white-is-zero is not
    # inverted; one-bit images are bool, and float16 becomes float32
    pixels: HostArray
    axes: str  # one letter of T, C, Z, Y, X for each axis of `pixels`, in this order, ending in YX
    spacing: dict[str, float]  # pixel size in `unit` of those of Z, Y and X that are known
    unit: str  # of length, such as "µm", "nm" or "inch"; "" if unknown
    interval: float | None  # seconds between time points
    channels: tuple[str, ...]  # a name for each channel (one without axis C), or none
    series: int  # index of this image in the file
    series_count: int  # number of images in the file
    notes: tuple[str, ...]  # sentences about what was guessed or left out


def read_tiff(
    path: Path | str,
    *,
    series: int = 0,
    memory_limit: int | None = None,
    accept: Callable[[Header], None] | None = None,
) -> TiffImage:
    """Read one image of a TIFF file, completely or not at all.

    Reads plain, BigTIFF, ImageJ and OME-TIFF, in either byte order, in the compressions that
    `imagecodecs` decodes except JPEG XR, whose only decoder is no longer maintained and crashes on
    damaged files. Of a pyramid, the full resolution is read. Pages of equal shape that tifffile
    wrote one by one are one stack. An axis without a known meaning becomes Z, else T, else C, with
    a note; ImageJ too reads a plain stack as slices. OME sets of several files, complex numbers,
    and files with missing tiles are refused.

    `series` is the index of the image, in the order of OME. `memory_limit` is in bytes of decoded
    pixels, by default half of the free memory. `accept` is as for `read_image`. Raises
    UnreadableImageError, OSError, or ValueError if there is no such series.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.ome.tif"
    >>> import numpy as np
    >>> write_labels(file, np.eye(3, dtype=int), axes="YX", spacing={"Y": 2.0, "X": 2.0})
    >>> image = read_tiff(file)
    >>> image.axes, image.spacing, image.pixels.dtype
    ('YX', {'Y': 2.0, 'X': 2.0}, dtype('uint8'))
    """
    with opened(Path(path), series, memory_limit) as (images, described):
        if accept is not None:
            accept(header_of(images[series]))
        pixels, axes, notes = decoded(images[series])
        return with_calibration(pixels, axes, notes, images, series, described)


def with_calibration(
    pixels: HostArray,
    axes: str,
    notes: Sequence[str],
    images: Sequence[Any],
    series: int,
    described: Described,
) -> TiffImage:
    """Return pixels with the metadata of an image in a file that `opened` has opened."""
    chosen = images[series]
    tags = chosen.keyframe.tags
    resolution = {"X": tags.valueof(282), "Y": tags.valueof(283)}
    known = calibration(described, resolution, tags.valueof(296, default=2))
    spacing = {axis: size for axis, size in known.spacing.items() if axis in axes}
    count = pixels.shape[axes.index("C")] if "C" in axes else 1
    channels = described.channels
    if not channels and chosen.keyframe.photometric == 2 and count in (3, 4):
        channels = ("red", "green", "blue", "alpha")[:count]
    return TiffImage(
        pixels=pixels,
        axes=axes,
        spacing=spacing,
        unit=known.unit if spacing else "",
        interval=known.interval if "T" in axes else None,
        channels=channels if len(channels) == count else (),
        series=series,
        series_count=len(images),
        notes=(*_left_out(series, len(images)), *notes, *known.notes),
    )


def _left_out(series: int, count: int) -> tuple[str, ...]:
    """Return a note about which of several images was read; () if there is one."""
    if count == 1:
        return ()
    return (
        f"The file holds {count} images; number {series} was read and no other (choose with "
        "--series, in Python series=).",
    )


def check_tiff(path: Path | str, *, series: int = 0, memory_limit: int | None = None) -> None:
    """Check that `read_tiff` can read a file completely, without decoding all of it.

    The chain of pages ends; every page has complete axes; every strip and tile lies inside the
    file, shares no bytes, and can hold its pixels with the best possible compression; number and
    size of pages are what OME, ImageJ or tifffile announce; pages of a stack agree; the compression
    is known; the image fits in memory; its first and last strip or tile decode to the announced
    size and type. Arguments and errors are those of `read_tiff`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "empty.tif"
    >>> file.touch()
    >>> check_tiff(file)
    Traceback (most recent call last):
    equilabel.storage.directories.UnreadableImageError: image file must be a TIFF; got 0 bytes...
    """
    with opened(Path(path), series, memory_limit) as (images, _):
        try_decoding(images[series])
