"""How much memory an image will take: a forecast from its header and the options."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from equilabel.storage.images import TIFF
from equilabel.storage.memory import readable
from equilabel.storage.ome_zarr import is_zarr

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.storage.headers import Header

    from .options import Options

# Most bytes per pixel beside the image itself, measured on images of 16 million pixels.
LABELED, MEASURED, NUMBERS = 8, 16, 4
FIXED, DRAWN, SMALLEST, LARGEST = 40_000_000, 28, 1_400_000, 4_200_000  # pixels of overlays
STEPS = {  # of `segment`, where they are asked for
    "sigma": 4,
    "background": 4,
    "opening": 7,
    "closing": 7,
    "fill_holes": 2,
    "min_size": 6,
    "max_size": 6,
    "exclude_border": 6,
    "split": 100,
}
LOCAL, METHODS, BALL = 4, 12, 36
BLOCK, SMOOTHED = 24, 16  # bytes for an element of a block; more where it is filtered
FILTERS = ("sigma", "background", "opening", "closing")  # which look at what lies around a pixel
BASE, BALLS = 8_000_000, 60_000_000  # of any image; of blocks that are opened or closed
SHARED = ({"opening", "closing"}, {"min_size", "max_size", "exclude_border"})  # memory used again


def forecast(header: Header, options: Options) -> int:
    """Return how many bytes of memory labeling an image takes at most, as far as can be told.

    Parameters
    ----------
    header : Header
        Of the image.
    options : Options
        What is to be done.

    Examples
    --------
    >>> from equilabel.cli.options import Options
    >>> from equilabel.storage.headers import Header
    >>> forecast(Header((1000, 1000), "YX", "uint8"), Options(overlay=False))
    17000000
    """
    channels = header.shape[header.axes.index("C")] if "C" in header.axes else 1
    pixels = math.prod(header.shape) // max(1, channels)
    image = header.nbytes * (2 if channels > 1 else 1)  # measured with its channels last
    each = MEASURED if options.command == "measure" else LABELED
    given = options.segment
    asked = {name for name in STEPS if given.get(name) not in (None, False, 0, 0.0, "0", "0px")}
    for name in sorted(asked):
        if not any(name in group and name != min(asked & group) for group in SHARED):
            each += STEPS[name]
    each += LOCAL * (given.get("threshold") == "local")
    each += METHODS * (given.get("method", "auto") not in ("auto", "runs"))
    each += BALL * (given.get("background_method") == "rolling_ball")
    base = BASE + BALLS * bool(asked & {"opening", "closing"})
    drawn = _drawn(pixels, options)
    return base + image + max(pixels * each, pixels * NUMBERS + drawn)  # one after the other


def _drawn(pixels: int, options: Options) -> int:
    return FIXED + DRAWN * min(LARGEST, max(SMALLEST, pixels)) if options.overlay else 0


def drawing(header: Header, options: Options) -> int:
    """Return how many bytes an overlay takes, of an image that is not in memory."""
    return BASE + _drawn(math.prod(header.shape), options)


def of_block(header: Header, options: Options) -> tuple[int, int]:
    """Return the bytes that an image takes that is labeled block by block, at most.

    Returns
    -------
    base, each : int
        For the image, and for each element of a block in work.
    """
    channels = header.shape[header.axes.index("C")] if "C" in header.axes else 1
    given = options.segment
    asked = {name for name in FILTERS if given.get(name) not in (None, 0, 0.0, "0", "0px")}
    filtered = SMOOTHED * bool(asked or given.get("threshold") == "local")
    base = BASE + BALLS * bool(asked & {"opening", "closing"})
    return base, BLOCK + filtered + 2 * channels * np.dtype(header.dtype).itemsize


def is_in_blocks(path: Path, options: Options) -> bool:
    """Return whether an image of a run is labeled block by block.

    Raises
    ------
    UnreadableImageError, OSError, ValueError
        If it cannot be read.
    """
    from equilabel.storage.headers import read_header

    if options.command != "batch" or options.slices:
        return False
    if is_zarr(path):
        return True
    if options.too_large != "chunked" or path.suffix.lower() not in TIFF:
        return False
    limit = options.memory_limit
    return limit is not None and forecast(read_header(path, series=options.series), options) > limit


def refuse_too_large(path: Path, header: Header, options: Options) -> None:
    """Raise ValueError if an image needs more memory than a run may use for one."""
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
