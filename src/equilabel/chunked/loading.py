"""Interfaces for reading parts of an image in any process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from equilabel.array_types import HostArray


class Gray(NamedTuple):
    """Pixels of a block."""

    pixels: HostArray  # to compare with a threshold
    values: HostArray | None  # intensities, channels last; None if they were not read


class Load(Protocol):
    """Reads a part of an image or of a mask."""

    def __call__(self) -> HostArray | Gray:
        """Return pixels, or gray values with the intensities to measure."""
        ...


class GrayLoad(Load, Protocol):
    """Reads a part of an image whose intensities are measured."""

    def values(self) -> HostArray:
        """Return only the intensities."""
        ...
