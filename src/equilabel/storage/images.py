"""Read an image or its header in any format: a file, an OME-Zarr, or a folder of slices."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import pictures
from .axes import Header
from .ome_zarr import describe_zarr, is_zarr, read_zarr, refuse_plain
from .slices import read_slices, slices_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from .axes import TiffImage

TIFF = (".tif", ".tiff", ".btf", ".tf8")
VENDORS = (".czi", ".nd2", ".lif", ".dv", ".sldy")  # read by bioio
SUFFIXES = (*TIFF, *pictures.SUFFIXES, *VENDORS)


def is_tiff(path: Path) -> bool:
    """Return whether a path is read as a TIFF: a file without the ending of another format."""
    return path.suffix.lower() not in (*pictures.SUFFIXES, *VENDORS) and not path.is_dir()


def read_image(
    path: Path | str,
    *,
    series: int = 0,
    memory_limit: int | None = None,
    indices: bool = False,
    accept: Callable[[Header], None] | None = None,
) -> TiffImage:
    """Read an image file with the reader for its ending; as a TIFF if the ending is unknown.

    A folder is read as a volume of slices in the order of their numbers, unless it is an OME-Zarr.
    `series` and `memory_limit` are as for `read_tiff`, `indices` as for `read_picture`. `accept` is
    called with the header of a TIFF before pixels are decoded, and may raise. Raises the errors of
    `read_tiff`, `read_picture`, `read_vendor` and `read_zarr`.
    """
    path = Path(path)
    if is_zarr(path):
        return read_zarr(path)
    if path.is_dir():
        read = partial(read_image, series=series, memory_limit=memory_limit, indices=indices)
        return read_slices(slices_in(path, SUFFIXES), read, memory_limit=memory_limit)
    if path.suffix.lower() in pictures.SUFFIXES:
        if series:
            message = f"series must be 0 for {path.name!r}; got {series!r}."
            raise ValueError(message)
        return pictures.read_picture(path, memory_limit=memory_limit, indices=indices)
    if path.suffix.lower() in VENDORS:
        from .vendors import read_vendor

        return read_vendor(path, series=series, memory_limit=memory_limit)
    from .tiff import read_tiff

    return read_tiff(path, series=series, memory_limit=memory_limit, accept=accept)


def read_header(path: Path | str, *, series: int = 0) -> Header:
    """Read the header of a file, an OME-Zarr, or a folder of slices.

    `series` is the index of the image in a file with several. Raises the errors of `read_image`
    that are known without decoding.

    >>> import tempfile
    >>> import numpy as np
    >>> from equilabel.storage.tiff import write_labels
    >>> file = Path(tempfile.mkdtemp()) / "labels.tif"
    >>> write_labels(file, np.zeros((3, 4, 5), np.uint16), axes="ZYX")
    >>> str(read_header(file))
    '3 x 4 x 5 of uint8 (ZYX)'
    """
    path = Path(path)
    if is_zarr(path):
        image = describe_zarr(path)
        refuse_plain(image)
        return Header(tuple(image.pixels.shape), image.axes, image.pixels.dtype.name)
    if path.is_dir():
        slices = slices_in(path, SUFFIXES)
        if not slices:
            return Header((0, 0, 0), "ZYX", "uint8")
        plane = read_header(slices[0], series=series)
        shape = (*plane.shape[:-2], len(slices), *plane.shape[-2:])
        return Header(shape, plane.axes.replace("YX", "ZYX"), plane.dtype)
    if path.suffix.lower() in pictures.SUFFIXES:
        return Header(*pictures.described(path))
    if path.suffix.lower() in VENDORS:
        from .vendors import described

        return Header(*described(path, series))
    from .tiff import header_of_tiff

    return header_of_tiff(path, series)
