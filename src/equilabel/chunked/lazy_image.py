"""The channel of an image that is labeled, read as far as it is asked for."""

from __future__ import annotations

import os
import sys
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks import Blocks, sides_within
from .gray_source import GraySource
from .picking import pick_axes
from .results import open_labels
from .sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from equilabel.array_types import HostArray


class LazyImage:
    """One channel of an image at a path; indexing reads it.

    Parameters
    ----------
    path : path
        Of an OME-Zarr or a TIFF.
    stacked, channel_axis, channel
        As for `segment_chunked`.
    """

    def __init__(
        self, path: Path, stacked: bool | None, channel_axis: int | None, channel: int | None
    ) -> None:
        base = open_source(path)
        picked = pick_axes(path, base, stacked, channel_axis, channel, None, None)
        widths = (0.0,) * sum(pick is None for pick in picked.picks)
        self._source = GraySource(base, picked.picks, picked.channel_axis, widths)
        self.shape = self._source.shape
        self.ndim, self.size = len(self.shape), prod(self.shape)

    def __getitem__(self, wanted: tuple[int | slice, ...]) -> HostArray:
        """Read a part; axes that no index is given for are read as a whole."""
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

    def sides_within(self, elements: int) -> tuple[tuple[int, ...], int]:
        """Return the sides of blocks, and how many to label at once.

        Parameters
        ----------
        elements : int
            Most of all blocks that are labeled at once; a chunk that is stored may have more.
        """
        return sides_within(self.shape, self._source.stored or self.shape, elements)

    def parts(self, sides: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
        """Yield the part of each block."""
        blocks = Blocks(self.shape, sides)
        return map(blocks.slices, range(blocks.number))

    def labels_at(self, stored: Path) -> Any:
        """Open labels of this image that `segment_chunked` has written; indexing reads them."""
        return open_labels(stored)

    def flatten(
        self, stored: Path, flat: Path, dtype: npt.DTypeLike, sides: tuple[int, ...]
    ) -> HostArray:
        """Copy the labels of this image from a Zarr to a file in C order, which is memory-mapped.

        Parameters
        ----------
        stored : Path
            As `segment_chunked` has written it.
        flat : Path
            The new file.
        dtype : dtype
            That holds all labels.
        sides : tuple of int
            Of the parts that are copied at once.
        """
        array = self.labels_at(stored)
        with flat.open("xb") as file:
            if sys.platform == "linux":  # writing to a mapped file on a full disk is fatal
                os.posix_fallocate(file.fileno(), 0, self.size * np.dtype(dtype).itemsize)
        labels = np.memmap(flat, dtype, "r+", shape=self.shape)
        for part in self.parts(sides):
            labels[part] = array[part]
        return labels
