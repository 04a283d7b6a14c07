"""The shape, the axes and the type that an image has once it is read."""

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
    """Shape, axes and type that the pixels of an image will have.

    Attributes
    ----------
    shape : tuple of int
        Along `axes`.
    axes : str
        As in `TiffImage`.
    dtype : str
        Name of a NumPy type.
    """

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
    """Return what an image of a TIFF that is open says of itself."""
    dtype = np.dtype(np.float32) if image.dtype == np.float16 else image.dtype
    _, shape, axes = unsqueezed(image)
    pixels, axes, _ = canonical(np.broadcast_to(np.zeros((), dtype), shape), axes)
    return Header(pixels.shape, axes, dtype.newbyteorder("=").name)


def unsqueezed(image: Array) -> tuple[Array, tuple[int, ...], str]:
    """Return an image of a TIFF that is open with its axes of length 1; and its shape and axes."""
    if hasattr(image, "get_shape"):  # tifffile before 2026.5.2
        return image, tuple(image.get_shape(False)), image.get_axes(False)
    images = image.parent.series
    number = next(k for k, each in enumerate(images) if each is image)
    image = images(squeeze=False)[number]
    return image, tuple(image.shape), image.axes
