"""Images and labels in chunks as Dask arrays for a viewer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.storage.ome_zarr import find_image

from .blocks import large_sides, sides_within
from .workfolder import OtherRunError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["OtherRunError", "as_dask", "blocks_within", "open_levels"]


def as_dask(image: Any, room: int) -> Any:
    """Return any array as a Dask array, without reading it.

    Dask and Zarr arrays keep their chunks; for others, chunks have up to `room` elements.

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
    """Return the sides of blocks of whole chunks of a Dask array, and how many to process at once.

    Blocks processed at once have up to `elements` elements in total, and each up to `most`, unless
    a single chunk has more.
    """
    return sides_within(image.shape, tuple(max(one) for one in image.chunks), elements, most)


def open_levels(labels: Path) -> list[Any]:
    """Open labels stored by `segment_chunked`: a Dask array for each resolution, finest first."""
    import dask.array
    import zarr

    found = find_image(labels)
    paths = [level.path for level in found.levels] or [found.path]
    return [dask.array.from_zarr(zarr.open_array(path, mode="r")) for path in paths]
