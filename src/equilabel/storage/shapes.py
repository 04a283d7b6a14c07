"""Shape, axes and type that an image has once it is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .axes import canonical

if TYPE_CHECKING:
    from equilabel.array_types import Array


@dataclass(frozen=True)
class Header:
    """Shape, axes (as in `TiffImage`) and name of the NumPy type of the pixels of an image."""

    shape: tuple[int, ...]
    axes: str
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes of the decoded pixels."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{' x '.join(map(str, self.shape))} of {self.dtype} ({self.axes})"


def header_of(image: Array) -> Header:
    """Return the header of an image of an open TIFF."""
    dtype = np.dtype(np.float32) if image.dtype == np.float16 else image.dtype
    _, shape, axes = unsqueezed(image)
    pixels, axes, _ = canonical(np.broadcast_to(np.zeros((), dtype), shape), axes)
    return Header(pixels.shape, axes, dtype.newbyteorder("=").name)


def unsqueezed(image: Array) -> tuple[Array, tuple[int, ...], str]:
    """Return an image of an open TIFF with its axes of length 1, its shape and its axes."""
    if hasattr(image, "get_shape"):  # tifffile before 2026.5.2
        return image, tuple(image.get_shape(False)), image.get_axes(False)
    images = image.parent.series
    number = next(k for k, each in enumerate(images) if each is image)
    image = images(squeeze=False)[number]
    return image, tuple(image.shape), image.axes
