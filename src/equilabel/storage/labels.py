"""Write labels as OME-TIFF: atomically, with the same bytes for the same labels."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from .axes import AXES
from .files import replacing
from .units import LENGTHS, positive

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray

CLASSIC_BYTES = 2**32 - 2**25  # limit of a classic TIFF, minus space for its directories
FINEST = 1e-8  # centimeters per pixel, in a tag with eight digits
MOST_LABELS = 2**32 - 1  # OME has no 64-bit integers


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
    """Write labels as OME-TIFF: tiled, compressed, in the smallest unsigned type.

    `labels` is an (..., M, N) array of bool or int, 0 to 4,294,967,295; `axes` has a letter of T,
    C, Z, Y, X for each axis and ends in YX. `spacing` maps Z, Y and X to pixel sizes in `unit` (""
    if unknown, see `TiffImage.unit`), and `interval` is in seconds between time points. The file is
    replaced when the new one is complete, and is a BigTIFF if a classic one may be too small. Pixel
    sizes are stored in the OME metadata, and for Y and X also in the resolution tags, which
    programs such as ImageJ read. The file contains nothing about the machine or the time. Raises
    TypeError, ValueError, or OSError with `path`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from equilabel.storage.tiff import read_tiff
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
    metadata["UUID"] = _identifier(labels, metadata)
    tile = tuple(min(512, 16 * -(-size // 16)) for size in labels.shape[-2:])
    with replacing(path) as unfinished, unfinished.open("w+b") as file:
        # Close on success only: closing writes, and would hide the error of a failed write.
        writer = tifffile.TiffWriter(file, ome=True, bigtiff=labels.nbytes > CLASSIC_BYTES)
        writer.write(
            labels,
            photometric="minisblack",
            compression="zlib",
            tile=tile,
            metadata=metadata,
            **_resolution(spacing or {}, unit),
        )
        writer.close()


def _storable(labels: ArrayLike, axes: str) -> NDArray[np.unsignedinteger[Any]]:
    """Return labels in the smallest unsigned type, or raise TypeError or ValueError."""
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


def _identifier(labels: HostArray, metadata: Mapping[str, object]) -> str:
    """Return the UUID of an OME file, computed from its content.

    That of tifffile would contain the network address of the machine and the time.
    """
    content = hashlib.sha256(
        f"{labels.dtype.str} {labels.shape} {sorted(metadata.items())}".encode()
    )
    content.update(np.ascontiguousarray(labels).data)
    return uuid.uuid5(uuid.NAMESPACE_OID, content.hexdigest()).urn


def _sizes(spacing: Mapping[str, float], unit: str) -> dict[str, object]:
    """Return pixel sizes by their OME names, or raise ValueError."""
    if unit not in ("", *LENGTHS):
        message = f"unit must be one of {['', *LENGTHS]}; got {unit!r}."
        raise ValueError(message)
    # A missing unit means micrometers in OME; "reference frame" means an unknown unit.
    word = {"": "reference frame", "inch": "in"}.get(unit, unit)
    metadata: dict[str, object] = {}
    for axis, size in spacing.items():
        if axis not in ("Z", "Y", "X") or positive(size) is None:
            message = f"spacing must map Z, Y or X to positive numbers; got {dict(spacing)!r}."
            raise ValueError(message)
        metadata |= {f"PhysicalSize{axis}": float(size), f"PhysicalSize{axis}Unit": word}
    return metadata


def _resolution(spacing: Mapping[str, float], unit: str) -> dict[str, Any]:
    """Return tags with pixels per centimeter as arguments of tifffile; {} if they cannot be stored.

    A tag is a ratio of two 32-bit integers.
    """
    if unit not in LENGTHS or not {"X", "Y"} <= set(spacing):
        return {}
    centimeters = [float(LENGTHS[unit] * 100) * spacing[axis] for axis in "XY"]
    if not all(FINEST < size < 1 / FINEST for size in centimeters):
        return {}
    return {"resolution": [1 / size for size in centimeters], "resolutionunit": "CENTIMETER"}
