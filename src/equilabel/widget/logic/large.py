"""Segmentation of a layer that does not fit into memory: block by block, with labels in a Zarr."""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from inspect import signature
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any

import equilabel
from equilabel.forecast import of_elements
from equilabel.quantities import without_blur_warnings
from equilabel.storage import memory
from equilabel.storage.ome_zarr import is_zarr

from . import sources
from .choices import Choices
from .outcomes import NO_OBJECTS, Outcome, describe_segmentation

ELEMENTS = 2**22  # of a block: small, so that a cancelled run ends soon
NEEDED = ("dask", "zarr")

# Fields of arguments that `segment_chunked` does not have, and how a person can leave them out.
WHOLE = {
    "background_method": ("Found with: Rolling ball", "choose Box (top-hat)"),
    "markers": ("Markers", "choose no markers"),
    "mask": ("Mask", "choose no mask"),
    "grow": ("Grow by", "set Grow by to none"),
    "track": ("Follow objects over time", "untick Follow objects over time"),
}


def explain_size(source: sources.Source, choices: Choices) -> str:
    """Say that a layer does not fit into memory; "" if it does, or without Dask and Zarr."""
    need, left = sources.forecast(source, choices.arguments(source)), memory.free()
    if need <= left or not all(find_spec(name) for name in NEEDED):
        return ""
    needed, free = memory.readable(need), memory.readable(left)
    return f"{source.name!r} needs {needed} of memory, and {free} are free"


def explain_refusal(source: sources.Source, choices: Choices, size: str) -> str:
    """Say which fields cannot be used block by block, and what to do; "" if all can."""
    taken = signature(equilabel.segment_chunked).parameters
    refused = [WHOLE[name] for name in choices.arguments(source) if name not in taken]
    measured = choices.properties or ()
    whole = ", ".join(each for each in measured if not equilabel.PROPERTIES[each].mergeable)
    refused += [(f"Statistics: {whole}", f"untick {whole}")] if whole else []
    if not refused:
        return ""
    got, remedies = map(", ".join, zip(*refused, strict=True))
    return (
        f"fields must do without the image as a whole where it does not fit into memory "
        f"({size}); got {got}. {remedies[0].upper()}{remedies[1:]}, or crop the image."
    )


def suggest_place(source: sources.Source) -> Path:
    """Suggest a path for labels: in the OME-Zarr of the image, or next to its file."""
    local = source.path and "://" not in source.path
    path = Path(source.path) if local else Path.home() / source.name
    if local and is_zarr(path):
        return path / "labels" / "objects"
    return path.with_name(f"{path.stem}_labels.zarr")


def segment_large(
    source: sources.Source, choices: Choices, place: Path | None, report: Callable[..., None]
) -> Outcome:
    """Find objects block by block, with labels in a Zarr at `place` or a temporary folder."""
    from equilabel.chunked.viewing import open_levels

    started = perf_counter()
    arguments = _arguments(source, choices)
    folder = None if place else Path(tempfile.mkdtemp(prefix="equilabel-"))
    out = place or Path(str(folder), "labels.zarr")
    try:
        found = _segment(source, choices, arguments, out=out, progress=report)
        levels = tuple(map(source.restore, open_levels(out)))
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    stored = f"Its labels are in {str(out)!r}."
    if folder is not None:
        weakref.finalize(levels[0], shutil.rmtree, folder, ignore_errors=True)
        stored += " This temporary folder is removed with its layer, or when napari ends."
    features, made = describe_segmentation(source, choices, found, chunked=True)
    made |= {"parameters": arguments, "seconds": perf_counter() - started, "stored": str(out)}
    note = "" if found.num else NO_OBJECTS.format(source.name)
    transform = sources.labels_transform(source)
    return Outcome(levels[0], features, transform, made, note, levels, stored)


def _arguments(source: sources.Source, choices: Choices) -> dict[str, Any]:
    """Return the arguments of `segment_chunked` on which the result depends."""
    arguments = choices.arguments(source)
    spacing, unit = source.pixel_size
    rank, times = len(spacing), source.roles.count("time")
    if rank in (2, 3) and times < 2:
        arguments["axes"] = "T" * times + "ZYX"[-rank:] + "C" * ("channel" in source.roles)
    return {**arguments, "spacing": spacing, "unit": unit or None}


def _segment(
    source: sources.Source, choices: Choices, arguments: dict[str, Any], **where: Any
) -> equilabel.Segmentation:
    """Segment a layer; resume an earlier run at the same place."""
    from equilabel.chunked.viewing import OtherRunError, as_dask, blocks_within

    image = as_dask(source.data, ELEMENTS)
    image = source.arrange(source.as_gray(image, choices.color))
    labels = image[..., 0] if "channel_axis" in arguments else image
    left = memory.free()
    base, each = of_elements(arguments, image.nbytes // max(1, labels.size))
    sides, workers = blocks_within(labels, (left - base) // each, ELEMENTS)
    need = base + prod(sides) * each
    if need > left:
        message = (
            f"chunks of {source.name!r} must fit into memory one by one; got "
            f"{memory.readable(need)} for one of {' x '.join(map(str, sides))}, and "
            f"{memory.readable(left)} free. Open it in smaller chunks."
        )
        raise MemoryError(message)
    how = {**arguments, **where, "chunks": sides, "workers": workers}
    with without_blur_warnings():
        try:
            return equilabel.segment_chunked(image, **how, resume=True)
        except OtherRunError:
            return equilabel.segment_chunked(image, **how)
