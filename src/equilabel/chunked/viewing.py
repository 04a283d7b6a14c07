"""Images and labels in chunks as Dask arrays, which a viewer draws piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.storage.ome_zarr import find_image

from .blocks import large_sides, sides_within
from .workfolder import OtherRunError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["OtherRunError", "as_dask", "blocks_within", "open_levels"]


def as_dask(image: Any, room: int) -> Any:
    """Return an array of any kind as a Dask array; nothing is read.

    Parameters
    ----------
    image : array
        Of Dask or Zarr, which have chunks; or of NumPy, say, or a file mapped to memory.
    room : int
        Elements of a chunk, where an array has none.

    Examples
    --------
    >>> import numpy as np
    >>> as_dask(np.zeros((20, 30)), 100).chunksize
    (8, 8)
    """
    import dask.array

    if isinstance(image, dask.array.Array):
        return image
    if type(image).__module__.partition(".")[0] == "zarr":
        return dask.array.from_zarr(image)
    sides = large_sides(image.shape, (1,) * image.ndim, room)
    return dask.array.from_array(image, chunks=sides)


def blocks_within(image: Any, elements: int, most: int) -> tuple[tuple[int, ...], int]:
    """Return the sides of blocks of a Dask array, and how many to work on at once.

    Parameters
    ----------
    image : dask.array.Array
        Blocks are whole chunks of it.
    elements, most : int
        Most of all blocks in work, and of one of them; a single chunk may have more.

    Examples
    --------
    >>> import dask.array
    >>> blocks_within(dask.array.zeros((64, 64), chunks=(4, 4)), 20, 20)
    ((4, 4), 1)
    """
    return sides_within(image.shape, tuple(max(one) for one in image.chunks), elements, most)


def open_levels(labels: Path) -> list[Any]:
    """Open labels that `segment_chunked` stored: each resolution as a Dask array, finest first."""
    import dask.array
    import zarr

    found = find_image(labels)
    paths = [level.path for level in found.levels] or [found.path]
    return [dask.array.from_zarr(zarr.open_array(path, mode="r")) for path in paths]
