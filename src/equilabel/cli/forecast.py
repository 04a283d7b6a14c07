"""Forecast of the memory an image takes, from its header and the options."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from equilabel.forecast import BASE, LABELED, of_elements, of_pixels
from equilabel.storage.images import TIFF
from equilabel.storage.memory import readable
from equilabel.storage.ome_zarr import is_zarr

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.storage.axes import Header

    from .options import Options

# Bytes per pixel: of labels that are measured, and of numbers in overlays.
MEASURED, NUMBERS = 16, 4
FIXED, DRAWN, SMALLEST, LARGEST = 40_000_000, 28, 1_400_000, 4_200_000  # pixels of overlays


def forecast(header: Header, options: Options) -> int:
    """Return the bytes of memory that labeling an image takes at most, as an estimate.

    >>> from equilabel.cli.options import Options
    >>> from equilabel.storage.axes import Header
    >>> forecast(Header((1000, 1000), "YX", "uint8"), Options(overlay=False))
    17000000
    """
    channels, pixels = _channels(header), _pixels(header)
    image = header.nbytes * (2 if channels > 1 else 1)  # a copy with channels last is measured
    measured = MEASURED if options.command == "measure" else LABELED
    base, each = of_pixels(options.segment, measured)
    drawn = _drawn(pixels, options)
    return base + image + max(pixels * each, pixels * NUMBERS + drawn)  # not at the same time


def _channels(header: Header) -> int:
    return header.shape[header.axes.index("C")] if "C" in header.axes else 1


def _pixels(header: Header) -> int:
    """Return the number of pixels in one channel."""
    return math.prod(header.shape) // max(1, _channels(header))


def _drawn(pixels: int, options: Options) -> int:
    return FIXED + DRAWN * min(LARGEST, max(SMALLEST, pixels)) if options.overlay else 0


def drawing(header: Header, options: Options) -> int:
    """Return the bytes that the overlay of an image that is not in memory takes."""
    return BASE + _drawn(_pixels(header), options)


def of_block(header: Header, options: Options) -> tuple[int, int]:
    """Return bytes for an image labeled block by block: a constant, and per element of a block."""
    return of_elements(options.segment, _channels(header) * np.dtype(header.dtype).itemsize)


def is_in_blocks(path: Path, options: Options) -> bool:
    """Return whether an image of a run is labeled block by block.

    Raises UnreadableImageError, OSError or ValueError if it cannot be read.
    """
    from equilabel.storage.images import read_header

    if options.command != "batch" or options.slices:
        return False
    if is_zarr(path):
        return True
    if options.too_large != "chunked" or path.suffix.lower() not in TIFF:
        return False
    limit = options.memory_limit
    return limit is not None and forecast(read_header(path, series=options.series), options) > limit


def refuse_too_large(path: Path, header: Header, options: Options) -> None:
    """Raise ValueError if an image needs more memory than the memory limit of the run."""
    need, allowed = forecast(header, options), options.memory_limit
    if allowed is not None and need > allowed:
        blocks = "crop it. `equilabel.segment_chunked` works block by block."
        is_tiff = path.suffix.lower() in TIFF and not (options.series or options.slices)
        if options.command == "batch" and is_tiff and find_spec("zarr") is not None:
            blocks = "pass --too-large chunked, to label it block by block."
        message = (
            f"image must be labeled within --memory-limit, {readable(allowed)}; got {header}, "
            f"which takes about {readable(need)}. Pass a larger --memory-limit, with fewer --jobs "
            f"if memory is short, or {blocks}"
        )
        raise ValueError(message)
