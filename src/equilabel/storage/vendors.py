"""Files of microscope vendors (CZI, ND2, LIF, ...), read by bioio if it is installed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .errors import refuse, refuse_large, undecodable
from .metadata import Header, TiffImage, canonical, positive

# The package that adds a format to bioio, by the ending of file names.
PACKAGES = {
    ".czi": "bioio-czi",
    ".nd2": "bioio-nd2",
    ".lif": "bioio-lif",
    ".dv": "bioio-dv",
    ".sldy": "bioio-sldy",
}


def read_vendor(path: Path | str, *, series: int = 0, memory_limit: int | None = None) -> TiffImage:
    """Read one image of a file in the format of a microscope vendor.

    The ending of `path` is in `PACKAGES`; `series` is the index of the image (scene).
    `memory_limit` is in bytes of decoded pixels, by default half of the free memory. The spacing is
    in µm. Raises ImportError if bioio or its package for the format is not installed,
    UnreadableImageError if the file is too large, cannot be decoded, or has no real numbers,
    ValueError if there is no such series, or OSError.
    """
    path = Path(path)
    path.stat()
    image, scenes = _opened(path, series)
    refuse_large(math.prod(image.shape) * np.dtype(image.dtype).itemsize, memory_limit)
    try:
        stored = np.asarray(image.data)
    except MemoryError:
        raise
    except Exception as error:
        raise undecodable(error) from error
    if stored.dtype.kind not in "buif":
        refuse("hold real numbers of a known type", stored.dtype)
    pixels, axes, notes = canonical(stored, image.dims.order)
    spacing = {axis: size for axis, size in _sizes(image).items() if axis in axes}
    if not spacing:
        notes += (
            "The file gives no pixel size: lengths are in pixels, unless --spacing is given.",
        )
    if scenes > 1:
        notes += (f"The file holds {scenes} images; number {series} was read (see --series).",)
    return TiffImage.of(
        np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("=")),
        axes,
        spacing=spacing,
        unit="µm",
        channels=_names(image),
        series=series,
        series_count=scenes,
        notes=notes,
    )


def header_of_vendor(path: Path, series: int) -> Header:
    """Return shape, axes and type of the pixels of an image."""
    path.stat()
    image, _ = _opened(path, series)
    return Header.of(image.shape, image.dims.order, image.dtype)


def _opened(path: Path, series: int) -> tuple[Any, int]:
    """Open a file and choose one of its images; return it and the number of images."""
    package = PACKAGES[path.suffix.lower()]
    try:
        import bioio
    except ImportError as error:
        message = (
            f"{path.suffix} files need bioio and {package}; got no bioio. "
            f"Install both with `pip install bioio {package}`, or export the image as OME-TIFF."
        )
        raise ImportError(message) from error
    try:
        image = bioio.BioImage(path)
    except MemoryError:
        raise
    except Exception as error:
        if type(error).__name__ == "UnsupportedFileFormatError" and not _is_installed(package):
            message = (
                f"{path.suffix} files need {package}; got none installed. "
                f"Install it with `pip install {package}`, or export the image as OME-TIFF."
            )
            raise ImportError(message) from error
        raise undecodable(error) from error
    count = len(image.scenes)
    if not 0 <= series < count:
        message = f"series must be 0 to {count - 1} for {path.name!r}; got {series!r}."
        raise ValueError(message)
    image.set_scene(series)
    return image, count


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package.replace("-", "_")) is not None


def _sizes(image: Any) -> dict[str, float]:
    """Return the pixel sizes that are positive numbers; {} if the metadata cannot be read."""
    try:
        known = image.physical_pixel_sizes
    except Exception:  # readers raise different errors; the pixels were read
        return {}
    sizes = {axis: positive(getattr(known, axis, None)) for axis in "ZYX"}
    return {axis: size for axis, size in sizes.items() if size is not None}


def _names(image: Any) -> tuple[str, ...]:
    try:
        return tuple(map(str, image.channel_names or ()))
    except Exception:
        return ()
