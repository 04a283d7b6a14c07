"""What is known before an image is labeled: whether options work, and how much memory it takes."""

from __future__ import annotations

import errno
import math
import warnings
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import segment_chunked
from equilabel.forecast import BASE, LABELED, of_elements, of_pixels
from equilabel.options import SegmentOptions, options_of
from equilabel.quantities import parse
from equilabel.storage.errors import is_shortage
from equilabel.storage.images import TIFF
from equilabel.storage.memory import free, readable
from equilabel.storage.ome_zarr import is_zarr

from .errors import explain

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.array_types import HostArray
    from equilabel.storage.metadata import Header

    from .options import Options

# Options of both `segment` and `segment_chunked`; the others need all pixels at once.
TAKEN = tuple(
    name for name in options_of(SegmentOptions) if name in signature(segment_chunked).parameters
)
# Bytes per pixel: of labels that are measured, and of numbers in overlays.
MEASURED, NUMBERS = 16, 4
FIXED, DRAWN, SMALLEST, LARGEST = 40_000_000, 28, 1_400_000, 4_200_000  # pixels of overlays


def forecast(header: Header, options: Options) -> int:
    """Return the bytes of memory that labeling an image takes at most, as an estimate.

    >>> from equilabel.cli.options import Options
    >>> from equilabel.storage.metadata import Header
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
        return not takes_whole(path, options)
    if options.too_large != "chunked" or path.suffix.lower() not in TIFF:
        return False
    limit = options.memory_limit
    return limit is not None and forecast(read_header(path, series=options.series), options) > limit


def takes_whole(path: Path, options: Options) -> bool:
    """Return whether a Zarr is labeled as a whole: its options ask for that, and it fits.

    So do those of splitting: in chunks, objects that are larger than a block stay whole.
    """
    from equilabel.storage.images import read_header

    if not (needs_whole(options) or options.segment["split"]):
        return False
    try:
        need = forecast(read_header(path), options)
    except Exception:  # reported when the file is read
        return False
    return need <= (free() if options.memory_limit is None else options.memory_limit)


def needs_whole(options: Options) -> dict[str, object]:
    """Return the options that need all pixels of an image at once, such as `track`."""
    given = options.segment
    return {
        name: given[name]
        for name, (default, _) in options_of(SegmentOptions).items()
        if name not in TAKEN and given[name] != default
    }


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


# Shapes for axes YX, ZYX, TYX, and TZYX as a stack or not, each with whether it is a stack.
IMAGES = (
    ((32, 32), False),
    ((8, 16, 16), False),
    ((3, 16, 16), True),
    ((3, 8, 16, 16), True),
    ((4, 4, 16, 16), False),
)
TEMPORARY = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EAGAIN, errno.EIO)


def check(options: Options) -> str:
    """Try options on small images; return the error message if they fail on all of them, else "".

    Options that work for one kind of image pass, because the axes of a file are unknown before it
    is opened.
    """
    complaint = ""
    unit = options.unit or "µm"  # the unit of a file is unknown before it is opened
    for shape, stacked in IMAGES:
        if options.stacked is not None and stacked != (options.stacked and len(shape) > 2):
            continue
        rank = len(shape) - stacked
        distances = options.spacing or (1.0,)
        if len(distances) not in (1, rank):
            continue
        spacing = distances * rank if len(distances) == 1 else distances
        try:
            arguments = options.segment if options.spacing else _without_units(options.segment)
            with warnings.catch_warnings(action="ignore"):
                given = {**arguments, "unit": unit}
                _try(_noise(shape), options, given, stacked=stacked, spacing=spacing)
        except Exception as error:
            if is_shortage(error) or (isinstance(error, OSError) and error.errno in TEMPORARY):
                return ""  # not caused by the options; if it lasts, images fail
            complaint = complaint or explain(error)
        else:
            return ""
    return complaint


def try_axes(
    options: Options,
    rank: int,
    *,
    stacked: bool,
    spacing: tuple[float, ...] | None,
    unit: str | None,
) -> None:
    """Try options on a small image with the axes and the pixel size of a real one.

    `rank` is the number of spatial axes; the other arguments are those of `segment`. Raises the
    ValueError or TypeError of labeling the real image.
    """
    shape = next(s for s, is_stack in IMAGES if (len(s) - is_stack, is_stack) == (rank, stacked))
    with warnings.catch_warnings(action="ignore"):
        given = {**options.segment, "unit": unit}
        _try(_noise(shape), options, given, stacked=stacked, spacing=spacing)


def _noise(shape: tuple[int, ...]) -> HostArray:
    """Return pixels of two classes, in which every method finds a threshold."""
    import numpy as np

    noise = np.random.default_rng(0).normal(50, 8, shape)
    noise[..., 4:12, 4:12] += 120
    return noise


def _try(noise: HostArray, options: Options, arguments: dict[str, Any], **given: Any) -> None:
    if options.command == "measure":
        from equilabel import measure

        numbers, names = (noise > 110).astype(int), options.segment.get("properties")
        values = noise if options.overlay else None  # overlays need an image too
        own = {"stacked": given["stacked"], "track": bool(options.segment.get("track"))}
        measure(numbers, values, names, spacing=given["spacing"], **own)
        return
    from equilabel import segment

    segment(noise, **arguments, **given)


def _without_units(arguments: dict[str, Any]) -> dict[str, Any]:
    """Replace lengths with a unit by 3 pixels, because the pixel size is unknown.

    >>> _without_units({"sigma": "9mm", "block_size": ("5um", "3px"), "min_size": "5um2"})
    {'sigma': 3.0, 'block_size': (3.0, '3px'), 'min_size': '5um2'}
    """
    found = dict(arguments)
    for name in ("sigma", "block_size", "background", "closing", "opening", "split"):
        value = arguments.get(name)
        if isinstance(value, (str, tuple)):
            each = value if isinstance(value, tuple) else (value,)
            kept = tuple(3.0 if _is_physical(name, one) else one for one in each)
            found[name] = kept if isinstance(value, tuple) else kept[0]
    return found


def _is_physical(name: str, length: object) -> bool:
    return parse(name, length).is_physical
