"""Meaning of the axes of a chunked image, as arguments of `segment_chunked`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from equilabel.storage.ome_zarr import find_image, is_zarr

from .columns import PIXEL
from .notes import notes_of_file, notes_on_spacing
from .pixelsize import known_axes

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.storage.axes import TiffImage

    from .options import Options


@dataclass(frozen=True)
class Axes:
    """Meaning of the axes of an image."""

    arguments: dict[str, Any]  # keyword arguments of `segment_chunked`
    shape: tuple[int, ...]  # of the image
    names: str = ""  # a letter for each axis of the image; "" for a plain Zarr
    spacing: dict[str, float] = field(default_factory=dict)  # pixel size by axis, where it is used
    unit: str = PIXEL  # of lengths in the table
    notes: tuple[str, ...] = ()  # about what was guessed
    known: dict[str, float] = field(default_factory=dict)  # pixel size by axis, used or not
    file_unit: str = ""  # unit of `known`
    interval: float | None = None  # seconds between frames


def find_axes(path: Path, options: Options) -> Axes:
    """Return the meaning of the axes of an image, from its file and the options.

    Raises ValueError, OSError or ImportError if the image cannot be read, or if options do not fit
    its axes.
    """
    from equilabel.storage.ome_zarr import describe_zarr, note_missing
    from equilabel.storage.tiff import describe_tiff

    if not is_zarr(path):
        return _named(describe_tiff(path), options, is_file=path.is_file())
    image = describe_zarr(path)
    found = (_named if image.axes else _plain)(image, options)
    return replace(found, notes=(*found.notes, *note_missing(find_image(path).path)))


def _plain(image: TiffImage, options: Options) -> Axes:
    """Return the meaning of axes without names."""
    if options.channel is not None:
        message = (
            "--channel needs the axes of an OME-Zarr; got a plain Zarr, whose axes have no names. "
            "Leave it out."
        )
        raise ValueError(message)
    distances = options.spacing
    arguments = {
        "spacing": distances[0] if distances is not None and len(distances) == 1 else distances,
        "unit": options.unit,
        "stacked": bool(options.stacked),
    }
    unit = PIXEL if distances is None else options.unit or ""
    return Axes(arguments, image.pixels.shape, unit=unit)


def _named(image: TiffImage, options: Options, *, is_file: bool = False) -> Axes:
    """Return the meaning of axes with names."""
    known = known_axes(image, options)
    channel_axis, channel, axes, stacked, spacing, unit, distances = known
    if axes != "".join(sorted(axes, key="TZYX".index)):
        message = (
            f"image must have its axes in the order T, Z, Y, X to be read in chunks; got {axes!r}. "
            "Convert it to OME-Zarr in that order."
        )
        raise ValueError(message)
    measured = known.measured
    arguments = {
        "spacing": (1.0,) * len(axes[stacked:]) if distances is None else distances,
        "unit": None if distances is None else unit or None,
        "stacked": stacked,
        "channel": channel,
    }
    if is_file:
        arguments["channel_axis"] = channel_axis
    return Axes(
        arguments,
        image.pixels.shape,
        image.axes,
        measured,
        unit if measured else PIXEL,
        (*notes_of_file(image, options), *notes_on_spacing(measured, spacing, unit, options)),
        spacing,
        unit,
        image.interval,
    )
