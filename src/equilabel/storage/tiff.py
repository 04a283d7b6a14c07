"""Images and labels as TIFF: checked before they are read, complete when they are written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .axes import AXES
from .directories import UnreadableImageError
from .files import replacing
from .metadata import calibration
from .series import decoded, opened
from .units import LENGTHS, positive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = ["TiffImage", "UnreadableImageError", "check_tiff", "read_tiff", "write_labels"]

MOST_BYTES = 2**34
CLASSIC_BYTES = 2**32 - 2**25  # what a classic TIFF can hold, less room for its directories
MOST_LABELS = 2**32 - 1  # OME has no integers of 64 bits


@dataclass(frozen=True)
class TiffImage:
    """An image as it was read, and what its file says of it.

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
        A name for each channel, or none.
    series, series_count : int
        Which image of the file this is, and how many there are.
    notes : tuple of str
        Sentences on what had to be guessed or left out.
    """

    pixels: NDArray[Any]
    axes: str
    spacing: dict[str, float]
    unit: str
    interval: float | None
    channels: tuple[str, ...]
    series: int
    series_count: int
    notes: tuple[str, ...]


def read_tiff(path: Path | str, *, series: int = 0, max_bytes: int = MOST_BYTES) -> TiffImage:
    """Read one image of a TIFF file, whole or not at all.

    Plain, BigTIFF, ImageJ and OME-TIFF, in either byte order and in the compressions that
    `imagecodecs` decodes. Of a pyramid the full resolution is read.

    Parameters
    ----------
    path : path
        File to read.
    series : int
        Which image, where there are several; OME's order.
    max_bytes : int
        Largest image to read, in bytes when decoded. Default 16 GiB.

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
    >>> write_labels(file, np.eye(3, dtype=int), axes="YX", spacing={"Y": 2.0, "X": 2.0})
    >>> image = read_tiff(file)
    >>> image.axes, image.spacing, image.pixels.dtype
    ('YX', {'Y': 2.0, 'X': 2.0}, dtype('uint8'))
    """
    with opened(Path(path), series, max_bytes) as (images, described):
        chosen = images[series]
        pixels, axes, notes = decoded(chosen)
        tags = chosen.keyframe.tags
        resolution = {"X": tags.valueof(282), "Y": tags.valueof(283)}
        known = calibration(described, resolution, tags.valueof(296, default=2))
        color = chosen.keyframe.photometric == 2
    spacing = {axis: size for axis, size in known.spacing.items() if axis in axes}
    count = pixels.shape[axes.index("C")] if "C" in axes else 0
    channels = described.channels
    if not channels and color and count in (3, 4):
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
        notes=(*notes, *known.notes),
    )


def check_tiff(path: Path | str, *, series: int = 0, max_bytes: int = MOST_BYTES) -> None:
    """Refuse a file that `read_tiff` would not read whole, without decoding it.

    The chain of pages ends and does not loop; every page has whole axes; every strip and tile
    lies inside the file and can hold its pixels, also when its compression is as good as can
    be; pages are as many and as large as OME, ImageJ or tifffile announce; pages of a stack
    agree; the compression is known.

    Parameters
    ----------
    path : path
        File to check.
    series : int
        Which image, where there are several.
    max_bytes : int
        Largest image to accept, in bytes when decoded.

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
    with opened(Path(path), series, max_bytes):
        pass


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
    """Write labels as an OME-TIFF: deflated, tiled, in the smallest unsigned type.

    The file gets its name when it is complete; an earlier one stays until then. It is a
    BigTIFF where a classic one might not hold it.

    Parameters
    ----------
    path : path
        File to write, ``.ome.tif`` by convention.
    labels : (..., M, N) array of bool or int
        Labels from 0 to 4,294,967,295.
    axes : str
        One letter of T, C, Z, Y, X for each axis of `labels`, ending in YX.
    spacing : mapping, optional
        Axis to pixel size, of Z, Y and X.
    unit : str
        Unit of `spacing`, as `TiffImage.unit`; "" where it is unknown.
    interval : float, optional
        Seconds between time points.
    name : str
        Name of the image in the file.

    Raises
    ------
    TypeError
        If labels are not integers.
    ValueError
        If labels are negative, too large or none, or axes, spacing or unit do not fit.
    OSError
        If the file cannot be written; the error carries `path`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.ome.tif"
    >>> write_labels(file, np.arange(300).reshape(3, 10, 10), axes="ZYX")
    >>> read_tiff(file).pixels.dtype
    dtype('uint16')
    """
    import tifffile

    labels = _storable(labels, axes)
    metadata = {"axes": axes, "Name": name, **_sizes(spacing or {}, unit)}
    if interval is not None:
        if positive(interval) is None:
            message = f"interval must be a positive number of seconds or None; got {interval!r}."
            raise ValueError(message)
        metadata |= {"TimeIncrement": float(interval), "TimeIncrementUnit": "s"}
    tile = tuple(min(512, 16 * -(-size // 16)) for size in labels.shape[-2:])
    with replacing(path) as unfinished, unfinished.open("w+b") as file:
        # Closed on success only: closing writes, and would hide why writing failed.
        writer = tifffile.TiffWriter(file, ome=True, bigtiff=labels.nbytes > CLASSIC_BYTES)
        writer.write(
            labels, photometric="minisblack", compression="zlib", tile=tile, metadata=metadata
        )
        writer.close()


def _storable(labels: ArrayLike, axes: str) -> NDArray[np.unsignedinteger[Any]]:
    """Return labels in the smallest unsigned type, or raise."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "bui":
        message = f"labels must be of bool or an integer type; got {labels.dtype}."
        raise TypeError(message)
    fits = len(set(axes)) == len(axes) == labels.ndim and set(axes) <= set(AXES)
    if not (fits and axes.endswith("YX")):
        message = (
            f"axes must name each axis of labels once with letters of {AXES!r} and end in 'YX'; "
            f"got {axes!r} for {labels.ndim} axes."
        )
        raise ValueError(message)
    if not labels.size:
        message = f"labels must have 1 pixel or more; got shape {labels.shape}."
        raise ValueError(message)
    least, most = int(labels.min()), int(labels.max())
    if least < 0 or most > MOST_LABELS:
        message = (
            f"labels must be 0 to {MOST_LABELS} in an OME-TIFF; got {least} to {most}. "
            "Number them consecutively first."
        )
        raise ValueError(message)
    dtype = next(t for t in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(t).max)
    return labels.astype(dtype, copy=False)


def _sizes(spacing: Mapping[str, float], unit: str) -> dict[str, object]:
    """Return pixel sizes as OME names them, or raise."""
    if unit not in ("", *LENGTHS):
        message = f"unit must be one of {['', *LENGTHS]}; got {unit!r}."
        raise ValueError(message)
    # OME takes a missing unit for micrometres; its word for a scale of its own is this one.
    word = {"": "reference frame", "inch": "in"}.get(unit, unit)
    metadata: dict[str, object] = {}
    for axis, size in spacing.items():
        if axis not in ("Z", "Y", "X") or positive(size) is None:
            message = f"spacing must map Z, Y or X to positive numbers; got {dict(spacing)!r}."
            raise ValueError(message)
        metadata |= {f"PhysicalSize{axis}": float(size), f"PhysicalSize{axis}Unit": word}
    return metadata
