"""What reads a part of an image when it is called, in any process, and what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from equilabel.array_types import HostArray


class Gray(NamedTuple):
    """Pixels of a block.

    Attributes
    ----------
    pixels : array
        Gray values to be compared with a threshold.
    values : array, or None
        Intensities to be measured, channels last if there are any; None if they were not read.
    """

    pixels: HostArray
    values: HostArray | None


class Load(Protocol):
    """Reads a part of an image or of a mask."""

    def __call__(self) -> HostArray | Gray:
        """Return pixels, or gray values with those that are measured."""
        ...


class GrayLoad(Load, Protocol):
    """That of an image whose intensities are measured."""

    def values(self) -> HostArray:
        """Return the values that are measured, alone."""
        ...
