"""Files of microscope vendors (CZI, ND2, LIF, ...), read by bioio if it is installed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .errors import UnreadableImageError, decoding, refuse, refuse_large
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
    with decoding():
        stored = np.asarray(image.data)
    if stored.dtype.kind not in "buif":
        refuse("hold real numbers of a known type", stored.dtype)
    pixels, axes, notes = canonical(stored, image.dims.order)
    sizes, names = (_told(image, name) for name in ("physical_pixel_sizes", "channel_names"))
    known = {axis: positive(getattr(sizes, axis, None)) for axis in "ZYX" if axis in axes}
    spacing = {axis: size for axis, size in known.items() if size is not None}
    if not spacing:
        notes += (
            "The file gives no pixel size: lengths are in pixels, unless --spacing is given.",
        )
    if scenes > 1:
        notes += (f"The file holds {scenes} images; number {series} was read (see --series).",)
    return TiffImage(
        np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("=")),
        axes,
        spacing=spacing,
        unit="µm",
        channels=tuple(map(str, names or ())),
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

        with decoding():
            image = bioio.BioImage(path)
    except (ImportError, UnreadableImageError) as error:
        unknown = type(error.__cause__).__name__ == "UnsupportedFileFormatError"
        if not isinstance(error, ImportError) and (_is_installed(package) or not unknown):
            raise
        got = f"no {package}" if unknown else error
        message = (
            f"{path.suffix} files need bioio and {package}; got {got}. Install both with "
            f"`pip install bioio {package}`, or export the image as OME-TIFF."
        )
        raise ImportError(message) from error
    count = len(image.scenes)
    if not 0 <= series < count:
        message = f"series must be 0 to {count - 1} for {path.name!r}; got {series!r}."
        raise ValueError(message)
    image.set_scene(series)
    return image, count


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package.replace("-", "_")) is not None


def _told(image: Any, name: str) -> Any:
    try:
        return getattr(image, name)
    except Exception:  # readers raise different errors; the pixels were read
        return None
