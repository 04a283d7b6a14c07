"""TIFF files as arrays of Zarr, decoded page by page or tile by tile when they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .series import opened

UNLIMITED = 2**62  # nothing is decoded as a whole


def open_lazily(path: Path | str, *, series: int = 0) -> Any:
    """Open one image of a TIFF without reading its pixels.

    Parameters
    ----------
    path : path
        File to open. It is checked as `check_tiff` does, but for its pixels.
    series : int
        Which image, where there are several.

    Returns
    -------
    zarr.Array
        Read-only; a chunk is a page or a tile.

    Raises
    ------
    UnreadableImageError
        If the file is refused; the message says why.
    OSError
        If there is no such file or the system cannot read it.
    ImportError
        If zarr is not installed.
    """
    import tifffile
    import zarr

    with opened(Path(path), series, UNLIMITED):
        pass
    store = tifffile.imread(path, series=series, level=0, aszarr=True)
    return zarr.open_array(store, mode="r")
