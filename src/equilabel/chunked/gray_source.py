"""Gray values of blocks: one channel, smoothed with what lies around; and all channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.thresholding.foreground import comparable
from equilabel.thresholding.smoothing import NARROWEST, gaussian

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray

    from .sources import Source

    Slices = tuple[slice, ...]


class Gray(NamedTuple):
    """Pixels of a block.

    Attributes
    ----------
    pixels : array
        Gray values to be compared with a threshold.
    values : array
        Intensities to be measured, channels last if there are any.
    """

    pixels: HostArray
    values: HostArray


@dataclass(frozen=True)
class GraySource:
    """An image of one channel or more, whose first axis may count images.

    Attributes
    ----------
    base : Source
    picks : tuple of int or None
        For each axis of `base` the index that is taken; None where all are.
    channel_axis : int, or None
        Axis of `base` that counts channels; its pick is the channel to binarize.
    widths : tuple of float
        Standard deviation of the Gaussian, in pixels, along each axis that is left.
    """

    base: Source
    picks: tuple[int | None, ...]
    channel_axis: int | None
    widths: tuple[float, ...]

    @property
    def kind(self) -> str:
        """What a caller passed."""
        return self.base.kind

    @property
    def kept(self) -> tuple[int, ...]:
        """Axes of the base that are left."""
        return tuple(axis for axis, pick in enumerate(self.picks) if pick is None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis that is left."""
        return tuple(self.base.shape[axis] for axis in self.kept)

    @property
    def stored(self) -> tuple[int, ...] | None:
        """Sides of chunks along these."""
        stored = self.base.stored
        return None if stored is None else tuple(stored[axis] for axis in self.kept)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the gray values."""
        return self.smoothed_type if any(self.widths) else comparable(self._empty).dtype

    @property
    def smoothed_type(self) -> np.dtype[Any]:
        """Type that `smooth` returns."""
        dtype = self.base.dtype
        wide = dtype.itemsize > (4 if dtype.kind == "f" else 2)
        return np.dtype(np.float64 if wide else np.float32)

    @property
    def _empty(self) -> HostArray:
        return np.empty(0, self.base.dtype.newbyteorder("="))

    def identity(self) -> dict[str, Any]:
        """Return what changes when the image does."""
        return self.base.identity()

    def loader(self, part: Slices) -> GrayPart:
        """Return what reads a block, with what lies around it where it is smoothed."""
        reach = [int(4 * width + 0.5) if width >= NARROWEST else 0 for width in self.widths]
        around, inner = [], []
        for one, far, length in zip(part, reach, self.shape, strict=True):
            start, stop = max(one.start - far, 0), min(one.stop + far, length)
            around.append(slice(start, stop))
            inner.append(slice(one.start - start, one.stop - start))
        whole = iter(around)
        wanted = tuple(
            next(whole)
            if pick is None
            else slice(None)
            if axis == self.channel_axis
            else slice(pick, pick + 1)
            for axis, pick in enumerate(self.picks)
        )
        wanted = tuple(
            slice(*one.indices(length)) for one, length in zip(wanted, self.base.shape, strict=True)
        )
        return GrayPart(
            self.base.loader(wanted),
            self.picks,
            self.channel_axis,
            self.widths,
            self.smoothed_type.str,
            tuple(inner),
        )


@dataclass(frozen=True, eq=False)
class GrayPart:
    """A block of an image, to be read in any process."""

    load: Callable[[], HostArray]
    picks: tuple[int | None, ...]
    channel_axis: int | None
    widths: tuple[float, ...]
    smoothed_type: str
    inner: Slices

    def __call__(self) -> Gray:
        """Read and smooth it."""
        raw = self.load()
        raw = raw.astype(raw.dtype.newbyteorder("="), copy=False)
        dropped = [
            0 if pick is not None and axis != self.channel_axis else slice(None)
            for axis, pick in enumerate(self.picks)
        ]
        values = raw[tuple(dropped)]
        pixels = values
        if self.channel_axis is not None:
            axis = sum(pick == slice(None) for pick in dropped[: self.channel_axis])
            values = np.moveaxis(values, axis, -1)
            pixels = values[..., self.picks[self.channel_axis]]
        if any(self.widths):
            pixels = gaussian(pixels.astype(self.smoothed_type), self.widths, mode="nearest")
        return Gray(np.ascontiguousarray(comparable(pixels)[self.inner]), values[self.inner])
