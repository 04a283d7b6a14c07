"""Axes and channels of an image that are segmented, and their gray values, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from equilabel.arguments import check_flag, check_text, normalize_bools, shown
from equilabel.segmentation.binarization import comparable
from equilabel.segmentation.checks import check_channel
from equilabel.segmentation.filters import NARROWEST, gaussian, subtract_background
from equilabel.storage.files import is_remote
from equilabel.storage.ome_zarr import ZarrImage, find_image
from equilabel.storage.remote import locate

from .sources import Gray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import HostArray

    from .checkpoints import Saved
    from .engine import Engine, Progress
    from .sources import Load, Source

    Slices = tuple[slice, ...]


class Picked(NamedTuple):
    """Axes that are segmented."""

    picks: tuple[int | None, ...]  # index taken along each axis of the image; None: the whole axis
    channel_axis: int | None
    stacked: bool  # whether the first remaining axis counts independent images
    spacing: Any  # along spatial axes; None if unknown
    unit: str | None
    axes: str = ""  # one letter for each remaining axis; empty if unknown
    ome: ZarrImage | None = None  # description of the image

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return sum(pick is None for pick in self.picks) - self.stacked


def pick_axes(
    image: Any,
    base: Source,
    stacked: bool | None,
    channel_axis: int | None,
    channel: int | None,
    spacing: float | Sequence[float] | None,
    unit: str | None,
    axes: str | None = None,
) -> Picked:
    """Return the axes that are segmented; arguments and errors as for `segment_chunked`."""
    rank, told = len(base.shape), axes is not None
    unit = None if unit is None else check_text("unit", unit)
    described = _describe(image, rank)
    if axes is not None:
        described = replace(described or ZarrImage(Path()), axes=_check_axes(axes, rank))
    axes = described.axes if described is not None else ""
    if channel_axis is None and "C" in axes:
        channel_axis = axes.index("C")
    picks: list[int | None] = [None] * rank
    for axis, letter in enumerate(axes):
        if letter not in "YX" and base.shape[axis] == 1 and not told:
            picks[axis] = 0
    place = check_channel(base.shape, channel_axis, channel)
    if place is not None and channel_axis is not None:
        channel_axis %= rank
        picks[channel_axis] = place
        if axes and base.shape[channel_axis] == 1:
            channel_axis = None
    letters = "".join(axes[axis] for axis, pick in enumerate(picks) if pick is None and axes)
    first = letters.startswith("T") if stacked is None else check_flag("stacked", stacked)
    if described is not None and spacing is None and described.spacing:
        known = described.spacing
        spacing = tuple(known.get(letter, 1.0) for letter in letters[first:])
        unit = unit or described.unit
    return Picked(tuple(picks), channel_axis, first, spacing, unit or None, letters, described)


def _describe(image: Any, rank: int) -> ZarrImage | None:
    """Return the description of an OME-Zarr; None for other images."""
    if isinstance(image, str) or is_remote(image):
        image = locate("image", image)
    if not (is_remote(image) or (isinstance(image, Path) and image.is_dir())):
        return None
    described = find_image(image)
    return described if len(described.axes) == rank else None


def _check_axes(axes: Any, rank: int) -> str:
    """Return the axes of the caller; raise TypeError or ValueError unless they match the image."""
    if not isinstance(axes, str):
        message = f"axes must be letters such as 'TZYX'; got {type(axes).__name__}."
        raise TypeError(message)
    order = [letter for letter in axes if letter != "C"]
    if (
        len(axes) != rank
        or axes.count("C") > 1
        or order != [letter for letter in "TZYX" if letter in axes]
        or not axes.replace("C", "").endswith("YX")
    ):
        message = (
            f"axes must have a letter of T, Z, Y, X, in this order, and of C for each of {rank} "
            f"axes, with Y and X; got {shown(axes)}. Leave it out, or transpose the image."
        )
        raise ValueError(message)
    return str(axes)


@dataclass(frozen=True)
class GraySource:
    """An image of one or more channels, of which one is filtered to be binarized."""

    base: Source
    picks: tuple[int | None, ...]  # index taken along each axis of `base`; None: the whole axis
    channel_axis: int | None  # of `base`; its pick is the channel to binarize
    widths: tuple[float, ...]  # of the Gaussian along each remaining axis, in pixels
    background: tuple[float, ...] = ()  # radii of the box of the top-hat, likewise; empty for none
    dark: bool = False  # as for `subtract_background`
    stacked: bool = False

    @property
    def kind(self) -> str:
        """Kind of the image that the caller passed."""
        return self.base.kind

    @property
    def kept(self) -> tuple[int, ...]:
        """Axes of the base that remain."""
        return tuple(axis for axis, pick in enumerate(self.picks) if pick is None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each remaining axis."""
        return tuple(self.base.shape[axis] for axis in self.kept)

    def settled(
        self,
        engine: Engine,
        saved: Saved,
        progress: Progress,
        sides: tuple[int, ...],
        *,
        spread: bool = False,
    ) -> GraySource:
        """Return a source that is read block by block, when the run has begun."""
        whole = list(self.base.shape)
        for axis, side in zip(self.kept, sides, strict=True):
            whole[axis] = side
        spread = spread or any(self.reach)
        base = self.base.settled(engine, saved, progress, tuple(whole), spread=spread)
        return replace(self, base=base)

    @property
    def stored(self) -> tuple[int, ...] | None:
        """Sides of chunks along the remaining axes."""
        stored = self.base.stored
        return None if stored is None else tuple(stored[axis] for axis in self.kept)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the gray values."""
        return self.filtered(np.zeros((1,) * len(self.shape), self._raw_type)).dtype

    @property
    def _raw_type(self) -> np.dtype[Any]:
        return self.base.dtype.newbyteorder("=")

    @property
    def reach(self) -> list[int]:
        """How many pixels around a block must be read along each axis."""
        found = [int(4 * width + 0.5) if width >= NARROWEST else 0 for width in self.widths]
        if self.background:  # a minimum, then a maximum
            found = [far + 2 * int(each) for far, each in zip(found, self.background, strict=True)]
        return found

    def filtered(self, pixels: HostArray) -> HostArray:
        """Return gray values to compare with a threshold."""
        if self.background:
            options: Any = {"dark": self.dark, "stacked": self.stacked}
            pixels = subtract_background(pixels, self.background, **options)
        if any(self.widths):
            wide = pixels.dtype.itemsize > (4 if pixels.dtype.kind == "f" else 2)
            dtype = np.dtype(np.float64 if wide else np.float32)
            pixels = gaussian(pixels, dtype, self.widths, mode="nearest").values
        return comparable(pixels)

    def identity(self) -> dict[str, Any]:
        """Return a description that changes if the image changes."""
        return self.base.identity()

    def loader(self, part: Slices) -> GrayPart:
        """Return a loader of a block, which also reads the surroundings that filters need."""
        around, inner = expand(part, self.reach, self.shape)
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
        here = replace(self, base=cast("Any", None))  # an image is not sent to other processes
        return GrayPart(self.base.loader(wanted), here, inner)


def expand(part: Slices, reach: Sequence[int], shape: Sequence[int]) -> tuple[Slices, Slices]:
    """Return a part of an image with its surroundings, and the position of the part in that.

    >>> expand((slice(2, 8),), [4], [10])
    ((slice(0, 10, None),), (slice(2, 8, None),))
    """
    around, inner = [], []
    for one, far, length in zip(part, reach, shape, strict=True):
        start, stop = max(one.start - far, 0), min(one.stop + far, length)
        around.append(slice(start, stop))
        inner.append(slice(one.start - start, one.stop - start))
    return tuple(around), tuple(inner)


@dataclass(frozen=True, eq=False)
class GrayPart:
    """A block of an image that can be read in any process."""

    load: Load
    source: GraySource
    inner: Slices

    def __call__(self) -> Gray:
        """Read and filter it."""
        pixels, values = self._channels()
        gray = self.source.filtered(pixels)
        return Gray(np.ascontiguousarray(gray[self.inner]), values[self.inner])

    def values(self) -> HostArray:
        """Read only the intensities."""
        return self._channels()[1][self.inner]

    def _channels(self) -> tuple[HostArray, HostArray]:
        """Return the channel to binarize, and all channels, whose axis is the last."""
        picks, channel_axis = self.source.picks, self.source.channel_axis
        raw = cast("HostArray", self.load())  # the base returns one array
        raw = normalize_bools(raw.astype(raw.dtype.newbyteorder("="), copy=False))
        dropped = [
            0 if pick is not None and axis != channel_axis else slice(None)
            for axis, pick in enumerate(picks)
        ]
        values = raw[tuple(dropped)]
        if channel_axis is None:
            return values, values
        axis = sum(pick == slice(None) for pick in dropped[:channel_axis])
        values = np.moveaxis(values, axis, -1)
        return values[..., picks[channel_axis]], values
