"""Images and labels on disk, read on demand: for the command line and for a viewer."""

from __future__ import annotations

import os
import sys
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from equilabel.storage.ome_zarr import find_image

from .blocks import LARGE, Blocks, large_sides
from .checkpoints import OtherRunError
from .checks import pick_axes
from .results import open_labels
from .sources import GraySource, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from equilabel.array_types import HostArray


__all__ = ["LazyImage", "OtherRunError", "as_dask", "blocks_within", "open_labels", "open_levels"]


class LazyImage:
    """One channel of an OME-Zarr or a TIFF, which indexing reads."""

    def __init__(
        self, path: Path, stacked: bool | None, channel_axis: int | None, channel: int | None
    ) -> None:
        base = open_source(path)
        picked = pick_axes(path, base, stacked, channel_axis, channel, None, None)
        widths = (0.0,) * sum(pick is None for pick in picked.picks)
        self._source = GraySource(base, picked.picks, picked.channel_axis, widths)
        self.shape, self.chunksize = self._source.shape, self._source.stored
        self.ndim, self.size = len(self.shape), prod(self.shape)

    def __getitem__(self, wanted: tuple[int | slice, ...]) -> HostArray:
        """Read a part; axes without an index are read as a whole."""
        padded = (*wanted, *(slice(None),) * (self.ndim - len(wanted)))
        part = tuple(
            slice(*one.indices(length)) if isinstance(one, slice) else slice(one, one + 1)
            for one, length in zip(padded, self.shape, strict=True)
        )
        values = self._source.loader(part).values()
        axis = self._source.channel_axis
        if axis is not None:
            values = values[..., self._source.picks[axis]]
        return values[tuple(slice(None) if isinstance(one, slice) else 0 for one in padded)]

    def parts(self, sides: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
        """Yield the part of each block."""
        return Blocks(self.shape, sides).parts()

    def flatten(
        self, stored: Path, flat: Path, dtype: npt.DTypeLike, sides: tuple[int, ...]
    ) -> HostArray:
        """Copy labels from a Zarr to a new memory-mapped file in C order, part by part."""
        array = open_labels(stored)
        with flat.open("xb") as file:
            if sys.platform == "linux":  # a full disk kills a process that writes to a mapped file
                os.posix_fallocate(file.fileno(), 0, self.size * np.dtype(dtype).itemsize)
        labels = np.memmap(flat, dtype, "r+", shape=self.shape)
        for part in self.parts(sides):
            labels[part] = array[part]
        return labels


def as_dask(image: Any, room: int) -> Any:
    """Return any array as a Dask array of its chunks, or of chunks of up to `room` elements."""
    import dask.array

    if isinstance(image, dask.array.Array):
        return image
    if type(image).__module__.partition(".")[0] == "zarr":
        return dask.array.from_zarr(image)
    sides = large_sides(image.shape, (1,) * image.ndim, room)
    return dask.array.from_array(image, chunks=sides)


def blocks_within(image: Any, elements: int, most: int = LARGE) -> tuple[tuple[int, ...], int]:
    """Return sides of blocks of whole chunks, and how many fit into `elements`, at least 1."""
    workers = threads.available()
    most = min(most, max(1, elements // workers))
    sides = large_sides(image.shape, image.chunksize, most)
    return sides, max(1, min(workers, elements // prod(sides)))


def open_levels(labels: Path) -> list[Any]:
    """Open labels stored by `segment_chunked`: a Dask array for each resolution, finest first."""
    import dask.array
    import zarr

    found = find_image(labels)
    paths = [level.path for level in found.levels] or [found.path]
    return [dask.array.from_zarr(zarr.open_array(path, mode="r")) for path in paths]
