"""Read shape, axes and type of an image without decoding pixels."""

from __future__ import annotations

from pathlib import Path

from . import pictures
from .images import SUFFIXES, VENDORS
from .lazy import UNLIMITED, describe_zarr, refuse_plain
from .ome_zarr import is_zarr
from .series import opened
from .shapes import Header, header_of
from .slices import slices_in

__all__ = ["Header", "read_header"]


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
    with opened(path, series, UNLIMITED) as (images, _):
        return header_of(images[series])
