"""Open TIFF files as Zarr arrays, and describe axes without reading pixels."""

from __future__ import annotations

import warnings
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .axes import canonical, named
from .directories import refuse
from .ome_zarr import find_image
from .series import opened
from .tiff import TiffImage, with_calibration
from .zarr_arrays import note_missing, open_zarr, undecoded

UNLIMITED = 2**62  # memory limit: nothing is decoded as a whole


def open_lazily(path: Path | str, *, series: int = 0) -> Any:
    """Open one image of a TIFF as a read-only zarr.Array whose chunks are pages or tiles.

    The file is checked as by `check_tiff`, except for its pixels. Raises UnreadableImageError,
    OSError, or ImportError if zarr is not installed.
    """
    import tifffile
    import zarr

    with opened(Path(path), series, UNLIMITED) as (images, _):
        shape = tuple(images[series].shape)
        # Pages that `opened` reads as one stack were written as separate images.
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
    """Return what a TIFF says about an image, without its pixels.

    Axes have the order of the file, as in `open_lazily`; pixels are zeros that take no memory.
    Raises the errors of `open_lazily`, or UnreadableImageError if color samples are stored beside
    an axis of channels, which only `read_tiff` can join.

    >>> import tempfile
    >>> import tifffile
    >>> file = Path(tempfile.mkdtemp()) / "color.tif"
    >>> tifffile.imwrite(file, np.zeros((20, 30, 3), np.uint8), photometric="rgb")
    >>> image = describe_tiff(file)
    >>> image.axes, image.pixels.shape, image.channels
    ('YXC', (20, 30, 3), ('red', 'green', 'blue'))
    """
    with opened(Path(path), series, UNLIMITED) as (images, described):
        chosen = images[series]
        if "S" in chosen.axes and "C" in chosen.axes:
            refuse("have color samples or channels to be read in parts", f"axes {chosen.axes!r}")
        letters, notes = named(chosen.axes, chosen.shape)
        pixels = np.broadcast_to(np.zeros((), chosen.dtype), chosen.shape)
        return with_calibration(pixels, "".join(letters), notes, images, series, described)


def describe_zarr(path: Path | str) -> TiffImage:
    """Return what an OME-Zarr says about its image, without its pixels.

    Axes of length 1 other than Y and X are dropped; a plain Zarr has `axes` "". Pixels are zeros
    that take no memory. Raises UnreadableImageError, or ImportError if zarr is not installed.
    """
    known = find_image(path)
    array = open_zarr(known.path)
    shape, axes = tuple(array.shape), known.axes if len(known.axes) == len(array.shape) else ""
    if axes:
        pairs = [(n, name) for n, name in zip(shape, axes, strict=True) if n > 1 or name in "YX"]
        shape, axes = tuple(length for length, _ in pairs), "".join(name for _, name in pairs)
    count = shape[axes.index("C")] if "C" in axes else 1
    spacing = {axis: size for axis, size in (known.spacing or {}).items() if axis in axes}
    return TiffImage(
        pixels=np.broadcast_to(np.zeros((), array.dtype), shape),
        axes=axes,
        spacing=spacing,
        unit=known.unit if spacing else "",
        interval=known.interval if "T" in axes else None,
        channels=known.channels if len(known.channels) == count else (),
        series=0,
        series_count=1,
        notes=known.notes,
    )


def read_zarr(path: Path | str) -> TiffImage:
    """Read the image of an OME-Zarr in full resolution.

    Axes of length 1 other than Y and X are dropped. Raises UnreadableImageError if it cannot be
    decoded or its axes have no names, ImportError if zarr is not installed. Warns if chunks are
    missing: their pixels are 0, or lost.
    """
    image = describe_zarr(path)
    refuse_plain(image)
    folder = find_image(path).path
    array = open_zarr(folder)
    everything = tuple(slice(0, length) for length in array.shape)
    try:
        pixels = np.asarray(array[everything]).reshape(image.pixels.shape)
    except Exception as error:  # zarr and its codecs raise many types
        raise undecoded(error, everything) from error
    pixels, axes, _ = canonical(pixels, image.axes)
    for note in note_missing(folder):
        warnings.warn(note, stacklevel=2)
    return replace(image, pixels=pixels, axes=axes)


def refuse_plain(image: TiffImage) -> None:
    """Raise UnreadableImageError if the axes of a Zarr have no names."""
    if not image.axes:
        remedy = "`equilabel segment` takes it; or convert it to OME-Zarr."
        refuse("be an OME-Zarr, whose axes have names", "a plain Zarr", remedy)
