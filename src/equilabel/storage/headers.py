"""What a file says of its image: shape, axes and type, without decoding a pixel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import pictures
from .axes import canonical
from .images import SUFFIXES, VENDORS
from .lazy import UNLIMITED
from .series import opened
from .slices import slices_in

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


def read_header(path: Path | str, *, series: int = 0) -> Header:
    """Read what a file, or a folder of slices, says of its image.

    Parameters
    ----------
    path : path
        As for `read_image`.
    series : int
        Which image, where there are several.

    Raises
    ------
    UnreadableImageError, OSError, ValueError, ImportError
        As `read_image`, where that can be told without decoding.

    Examples
    --------
    >>> import tempfile
    >>> from equilabel.storage.tiff import write_labels
    >>> file = Path(tempfile.mkdtemp()) / "labels.tif"
    >>> write_labels(file, np.zeros((3, 4, 5), np.uint16), axes="ZYX")
    >>> str(read_header(file))
    '3 x 4 x 5 of uint8 (ZYX)'
    """
    path = Path(path)
    if path.is_dir():
        slices = slices_in(path, SUFFIXES)
        if not slices:
            return Header((0, 0, 0), "ZYX", "uint8")
        plane = read_header(slices[0], series=series)
        shape = (*plane.shape[:-2], len(slices), *plane.shape[-2:])
        return Header(shape, plane.axes.replace("YX", "ZYX"), plane.dtype)
    if path.suffix.lower() in pictures.SUFFIXES:
        return Header(*pictures.described(path))
    if path.suffix.lower() in VENDORS:
        from .vendors import described

        return Header(*described(path, series))
    with opened(path, series, UNLIMITED) as (images, _):
        return header_of(images[series])


def header_of(image: Array) -> Header:
    """Return what an image of a TIFF that is open says of itself."""
    dtype = np.dtype(np.float32) if image.dtype == np.float16 else image.dtype
    form = np.broadcast_to(np.zeros((), dtype), image.get_shape(False))
    pixels, axes, _ = canonical(form, image.get_axes(False))
    return Header(pixels.shape, axes, dtype.newbyteorder("=").name)
