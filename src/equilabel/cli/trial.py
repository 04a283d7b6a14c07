"""Try options on small images, to refuse those that fit no image before work begins."""

from __future__ import annotations

import errno
import warnings
from typing import TYPE_CHECKING, Any

from equilabel.quantities import parse
from equilabel.storage.errors import is_shortage

from .errors import explain

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .options import Options

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
