"""The foreground of an image as a mask, block by block: compared, closed, opened, or stored."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.labeling import problem_of
from equilabel.segmentation.binarization import compare_locally, compare_with, from_mask
from equilabel.segmentation.morphology import close_mask, open_mask

from .gray_source import expand
from .loading import Gray

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem

    from .gray_source import GraySource
    from .histograms import Level
    from .job import Filter
    from .loading import GrayLoad, Load
    from .outputs import Output

    Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Compared:
    """Foreground is what compares with a threshold."""

    level: Level
    dark: bool
    reach: tuple[int, ...] = ()

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the foreground."""
        value, constant = self.level
        mask: HostArray = compare_with(pixels, value, dark=self.dark, strict=constant).mask()
        return mask


@dataclass(frozen=True)
class ComparedLocally:
    """Foreground is what compares with the Gaussian mean around it.

    Attributes
    ----------
    widths : tuple of float
        Of the Gaussian, in pixels; 0 along the axis of a stack.
    shift : float
        Subtracted from the mean.
    dark, stacked : bool
    constant : frozenset of int
        Images of the stack that have no foreground, as all their pixels are equal.
    """

    widths: tuple[float, ...]
    shift: float
    dark: bool
    stacked: bool
    constant: frozenset[int]

    @property
    def reach(self) -> tuple[int, ...]:
        """How far the Gaussian reaches."""
        return tuple(int(4 * width + 0.5) for width in self.widths)

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the foreground."""
        mask = np.zeros(pixels.shape, np.bool_)
        widths = self.widths[self.stacked :]
        for place in range(len(pixels)) if self.stacked else (...,):
            image = first + place if isinstance(place, int) else 0
            if image not in self.constant:
                mask[place] = compare_locally(pixels[place], widths, self.shift, dark=self.dark)
        return mask


@dataclass(frozen=True)
class Rounded:
    """A mask that is closed or opened with a ball.

    Attributes
    ----------
    radii : tuple of float
        Of the ball along each axis, in pixels.
    opens : bool
        Whether it is opened.
    """

    radii: tuple[float, ...]
    opens: bool

    @property
    def reach(self) -> tuple[int, ...]:
        """How far pixels depend on each other: the ball moves twice."""
        return tuple(2 * math.ceil(radius) for radius in self.radii)

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the mask, closed or opened."""
        mask: HostArray = (open_mask if self.opens else close_mask)(pixels, self.radii)
        return mask


@dataclass(frozen=True)
class FilteredMask:
    """A mask that is made of an image, block by block."""

    base: GraySource | FilteredMask | StoredMask
    filter: Filter

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.base.shape

    def loader(self, part: Slices) -> FilteredPart:
        """Return what makes the mask of a block from what lies in and around it."""
        reach = self.filter.reach or (0,) * len(part)
        around, inner = expand(part, reach, self.shape)
        return FilteredPart(self.base.loader(around), self.filter, around[0].start, inner)


@dataclass(frozen=True, eq=False)
class FilteredPart:
    """A block of a mask, to be made in any process."""

    load: Load
    filter: Filter
    first: int
    inner: Slices

    def __call__(self) -> HostArray:
        """Read pixels, and make a mask of them."""
        read = self.load()
        pixels = read.pixels if isinstance(read, Gray) else read
        return np.ascontiguousarray(self.filter.apply(pixels, self.first)[self.inner])


@dataclass(frozen=True)
class StoredMask:
    """A mask that has been written."""

    output: Output
    shape: tuple[int, ...]

    def loader(self, part: Slices) -> StoredPart:
        """Return what reads a block."""
        return StoredPart(self.output, part)


@dataclass(frozen=True, eq=False)
class StoredPart:
    """A block of a mask, to be read in any process."""

    output: Output
    part: Slices

    def __call__(self) -> HostArray:
        """Read it."""
        return self.output.read(self.part)


Mask = FilteredMask | StoredMask


@dataclass(frozen=True)
class MaskedSource:
    """A mask to be labeled, and the image that is measured under it."""

    mask: Mask
    gray: GraySource

    @property
    def _values(self) -> GraySource:
        """The image as it is, unfiltered."""
        return replace(self.gray, widths=(0.0,) * len(self.gray.widths), background=())

    def loader(self, part: Slices) -> MaskedPart:
        """Return what reads a block of both."""
        return MaskedPart(self.mask.loader(part), self._values.loader(part))


@dataclass(frozen=True, eq=False)
class MaskedPart:
    """A block of a mask and of an image, to be read in any process."""

    load: Callable[[], HostArray]
    image: GrayLoad

    def __call__(self) -> Gray:
        """Make the mask; the image is left unread."""
        return Gray(self.load(), None)

    def values(self) -> HostArray:
        """Read the image."""
        return self.image.values()


@dataclass(frozen=True)
class Masked:
    """Components are those of a mask, or of what it leaves out.

    Attributes
    ----------
    connectivity : int or None
    stacked : bool
    method, device : str
    inverted : bool
        Whether pixels outside of the mask are labeled.
    """

    connectivity: int | None
    stacked: bool
    method: str = "auto"
    device: str = "cpu"
    inverted: bool = False

    def problem(self, pixels: HostArray) -> Problem:
        """Return what `solve` labels."""
        foreground = from_mask(~pixels if self.inverted else pixels)
        how: Any = {"stacked": self.stacked, "method": self.method, "device": self.device}
        return problem_of(*foreground, self.connectivity, **how)
