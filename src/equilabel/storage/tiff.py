"""TIFF images: checked before they are read, and read completely or not at all."""

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
    """An image that was read from a file: pixels, axes, spacing, notes.

    Attributes
    ----------
    pixels : array
        In C order and native byte order, as stored: palettes are not applied, white-is-zero is
        not inverted, one-bit images are bool; float16 becomes float32.
    axes : str
        One letter of T, C, Z, Y, X for each axis of `pixels`, in this order, ending in YX. Other
        axes of length 1 are dropped; the samples of color images are channels.
    spacing : dict
        Axis to pixel size in `unit`; of Z, Y and X those that `axes` has and the file gives.
    unit : str
        Unit of length, such as "µm", "nm" or "inch"; "" when unknown.
    interval : float or None
        Seconds between time points.
    channels : tuple of str
        A name for each channel, or none; of an image without an axis C, of its only one.
    series, series_count : int
        Which image of the file this is, and how many there are.
    notes : tuple of str
        Sentences on what had to be guessed or left out.
    """

    pixels: HostArray
    axes: str
    spacing: dict[str, float]
    unit: str
    interval: float | None
    channels: tuple[str, ...]
    series: int
    series_count: int
    notes: tuple[str, ...]


def read_tiff(
    path: Path | str,
    *,
    series: int = 0,
    memory_limit: int | None = None,
    accept: Callable[[Header], None] | None = None,
) -> TiffImage:
    """Read one image of a TIFF file, completely or not at all.

    Plain, BigTIFF, ImageJ and OME-TIFF, in either byte order and in the compressions that
    `imagecodecs` decodes, but for JPEG XR: its only decoder, no longer cared for, ends the
    program where a file is damaged. Of a pyramid the full resolution is read.

    Parameters
    ----------
    path : path
        File to read.
    series : int
        Which image, where there are several; OME's order.
    memory_limit : int, optional
        Largest image to read, in bytes when decoded; by default half of the memory that is free
        (to this process, where a container or a batch system limits it).
    accept : callable, optional
        As for `read_image`.

    Returns
    -------
    TiffImage
        Pixels, axes and calibration.

    Raises
    ------
    UnreadableImageError
        If `check_tiff` refuses the file or its pixels cannot be decoded.
    OSError
        If there is no such file or the system cannot read it.
    ValueError
        If there is no such series.

    Notes
    -----
    An axis without a known meaning becomes Z if there is no Z, else T, else C; ImageJ too takes
    a plain stack for slices. `TiffImage.notes` says so. Pages of one shape that tifffile wrote
    one by one are one stack. An OME set of several files is refused, and so are complex numbers
    and files that leave out tiles.

    Examples
    --------
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
    """Add what a file says of an image to its pixels; the file is one that `opened` has opened."""
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
    """Return a note on which of several images was read; empty if there is one."""
    if count == 1:
        return ()
    return (
        f"The file holds {count} images; number {series} was read and no other (choose with "
        "--series, in Python series=).",
    )


def check_tiff(path: Path | str, *, series: int = 0, memory_limit: int | None = None) -> None:
    """Check that `read_tiff` can read a file completely, without decoding all of it.

    The chain of pages ends and does not loop; every page has whole axes; every strip and tile
    lies inside the file, in a place of its own, and can hold its pixels, also when its
    compression is as good as can be; pages are as many and as large as OME, ImageJ or tifffile
    announce; pages of a stack agree; the compression is known; the image fits into memory; its
    first and last strip or tile decode to the size and type that are announced.

    Parameters
    ----------
    path : path
        File to check.
    series : int
        Which image, where there are several.
    memory_limit : int, optional
        Largest image to accept, as in `read_tiff`.

    Raises
    ------
    UnreadableImageError
        If the file is refused; the message says why.
    OSError
        If there is no such file or the system cannot read it.
    ValueError
        If there is no such series.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "empty.tif"
    >>> file.touch()
    >>> check_tiff(file)
    Traceback (most recent call last):
    equilabel.storage.directories.UnreadableImageError: image file must be a TIFF; got 0 bytes...
    """
    with opened(Path(path), series, memory_limit) as (images, _):
        try_decoding(images[series])
