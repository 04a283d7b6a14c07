"""Read an image in any supported format: a file, an OME-Zarr, or a folder of slices."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import pictures
from .ome_zarr import is_zarr

if TYPE_CHECKING:
    from collections.abc import Callable

    from .shapes import Header
    from .tiff import TiffImage

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
        from .lazy import read_zarr

        return read_zarr(path)
    if path.is_dir():
        from .slices import read_slices, slices_in

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
