"""Write labels as OME-TIFF, complete or not at all, with the same bytes for the same labels."""

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

CLASSIC_BYTES = 2**32 - 2**25  # what a classic TIFF can hold, less room for its directories
FINEST = 1e-8  # centimeters a pixel, in a tag with eight digits
MOST_LABELS = 2**32 - 1  # OME has no integers of 64 bits


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

    The file gets its name when it is complete; an earlier one stays until then. It is a
    BigTIFF where a classic one might not hold it. Pixel sizes are in the OME metadata and, those
    of Y and X, in the resolution tags, for programs such as ImageJ that look there. The same
    labels and arguments give the same bytes: nothing of the machine or the time is in the file.

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
        # Closed on success only: closing writes, and would hide why writing failed.
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

    tifffile's own would hold the network address of the machine and the time.
    """
    content = hashlib.sha256(
        f"{labels.dtype.str} {labels.shape} {sorted(metadata.items())}".encode()
    )
    content.update(np.ascontiguousarray(labels).data)
    return uuid.uuid5(uuid.NAMESPACE_OID, content.hexdigest()).urn


def _sizes(spacing: Mapping[str, float], unit: str) -> dict[str, object]:
    """Return pixel sizes by their names in OME, or raise ValueError."""
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


def _resolution(spacing: Mapping[str, float], unit: str) -> dict[str, Any]:
    """Return the tags that hold pixels per centimeter, if they can, as arguments of tifffile.

    A tag is a ratio of two integers of 32 bits.
    """
    if unit not in LENGTHS or not {"X", "Y"} <= set(spacing):
        return {}
    centimeters = [float(LENGTHS[unit] * 100) * spacing[axis] for axis in "XY"]
    if not all(FINEST < size < 1 / FINEST for size in centimeters):
        return {}
    return {"resolution": [1 / size for size in centimeters], "resolutionunit": "CENTIMETER"}
