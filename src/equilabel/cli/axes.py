"""What a file says of its axes, channels and pixel size, and notes about what was guessed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.colors import COLORS
from equilabel.storage.metadata import doubt
from equilabel.storage.ome_zarr import find_image, is_zarr

from .results import PIXEL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from equilabel.storage.metadata import TiffImage

    from .options import Options

MOST = 12  # channels listed in a message


def find_channel(image: TiffImage, wanted: int | str | None) -> tuple[int | None, int | str | None]:
    """Return the axis of channels and the index of the channel to label, or a color as gray values.

    Both are None if the image has no axis of channels. Raises ValueError if the image has no such
    channel, or has several and `wanted` is None.
    """
    if "C" not in image.axes:
        if wanted in (None, 0) or str(wanted) in image.channels:
            return None, None
        only = "".join(f" or {name!r}" for name in image.channels)
        message = (
            f"--channel must be 0{only} for an image with one channel; got {wanted!r}. "
            "Leave it out."
        )
        raise ValueError(message)
    axis = image.axes.index("C")
    count = image.pixels.shape[axis]
    if wanted is None and count == 1:
        return axis, 0
    if isinstance(wanted, int) and 0 <= wanted < count:
        return axis, wanted
    if wanted is not None and str(wanted) in image.channels:  # "488" can be a name too
        return axis, image.channels.index(str(wanted))
    colored = image.channels[:3] == COLORS[1:4]
    if colored and str(wanted).lower() in COLORS:
        return axis, str(wanted).lower()
    if colored and wanted is None:
        message = (
            "--channel must be given for an image in colors; got none. Pass --channel gray, or "
            f"one of {', '.join(COLORS[1:])}."
        )
        raise ValueError(message)
    got = "none" if wanted is None else repr(wanted)
    message = (
        f"--channel must be one of {_listed(image.channels, count)} for this image; got {got}. "
        f"{_remedy(image.channels, wanted)}"
    )
    raise ValueError(message)


def _listed(names: Sequence[str], count: int) -> str:
    """List the channels of an image as a user can type them.

    >>> _listed(("DAPI", "GFP"), 2), _listed((), 3)
    ("0 'DAPI', 1 'GFP'", '0, 1, 2')
    """
    every = [f"{number} {name!r}" for number, name in enumerate(names)] or list(
        map(str, range(count))
    )
    return ", ".join(every if count <= MOST else [*every[: MOST - 1], "...", every[-1]])


def _remedy(names: Sequence[str], wanted: int | str | None) -> str:
    """Suggest the channel with the most similar name, otherwise the first one."""
    folded = {name.casefold(): name for name in reversed(names)}
    near = get_close_matches(str(wanted).casefold(), folded, n=1, cutoff=0.5)
    if wanted is not None and near:
        return f"Did you mean {folded[near[0]]!r}?"
    return "Pass --channel 0 for the first."


def spacing_of(image: TiffImage, options: Options) -> tuple[dict[str, float], str]:
    """Return the pixel size by axis, and its unit, from the options or the file."""
    space = "".join(axis for axis in image.axes if axis in "ZYX")
    unit = image.unit if options.unit is None else options.unit
    if options.spacing is None:
        return {axis: image.spacing[axis] for axis in space if axis in image.spacing}, unit
    values = options.spacing if len(options.spacing) > 1 else options.spacing * len(space)
    if len(values) != len(space):
        message = (
            f"--spacing must be 1 or {len(space)} numbers for axes {space!r}; got {len(values)}. "
            "Pass one number for all axes, or leave it out to use that of the file."
        )
        raise ValueError(message)
    return dict(zip(space, values, strict=True)), unit


class KnownAxes(NamedTuple):
    """Meaning of the axes of an image."""

    channel_axis: int | None  # from `find_channel`
    channel: int | str | None  # from `find_channel`
    axes: str  # letters of the other axes
    stacked: bool  # whether the first of `axes` counts images
    spacing: dict[str, float]  # pixel size by axis, where it is known
    unit: str  # of the pixel size
    distances: tuple[float, ...] | None  # from `distances_of`, for the axes of one image

    @property
    def measured(self) -> dict[str, float]:
        """Pixel size by axis that the table uses; empty if that of an axis is unknown."""
        known = self.spacing if self.distances is not None else {}
        return {axis: known[axis] for axis in self.axes if axis in known}


def known_axes(image: TiffImage, options: Options, what: str = "an image") -> KnownAxes:
    """Return the meaning of the axes of an image; raise ValueError if options do not fit them."""
    channel_axis, channel = find_channel(image, options.channel)
    axes = image.axes.replace("C", "")
    spacing, unit = spacing_of(image, options)
    stacked = "T" in axes if options.stacked is None else options.stacked and len(axes) > 2
    if options.segment.get("track") and len(axes) < 3:
        message = f"--track needs {what} of several frames; got axes {axes!r}. Leave it out."
        raise ValueError(message)
    refuse_times(axes[stacked:], options)
    distances = distances_of(axes[stacked:], spacing)
    return KnownAxes(channel_axis, channel, axes, stacked, spacing, unit, distances)


def distances_of(axes: str, spacing: dict[str, float]) -> tuple[float, ...] | None:
    """Return the spacing of axes in order, 1 for time; None if it is unknown for a spatial axis."""
    if any(axis != "T" and axis not in spacing for axis in axes):
        return None
    return tuple(spacing.get(axis, 1.0) for axis in axes)


def refuse_times(axes: str, options: Options) -> None:
    """Raise ValueError if a length or a size has a unit, but an axis of objects is time.

    `axes` are the letters of the axes along which objects extend.
    """
    lengths = ("sigma", "block_size", "background", "closing", "opening")
    for name in (*lengths, "min_size", "max_size"):
        value = options.segment.get(name)
        each = value if isinstance(value, tuple) else (value,)
        if "T" in axes and any(isinstance(one, str) for one in each):
            message = (
                f"{name} must be in pixels where --no-stacked reads times as depth; got {value!r}. "
                "Pass pixels, or leave --no-stacked out."
            )
            raise ValueError(message)


def notes_of_file(image: TiffImage, options: Options) -> tuple[str, ...]:
    """Return the notes about a file; without the question about planes or times if answered."""
    if options.stacked is None:
        return image.notes
    return tuple(note for note in image.notes if "-stacked" not in note)


def notes_on_spacing(
    measured: dict[str, float], spacing: dict[str, float], unit: str, options: Options
) -> tuple[str, ...]:
    """Return notes about a pixel size that is doubtful, is not used, or has a guessed unit.

    `measured` and `spacing` are pixel sizes by axis: that of the table, and that of the file or the
    options. `unit` is the unit of `spacing`.
    """
    notes: list[str] = []
    given = options.spacing and options.unit
    if not given and (doubtful := doubt(spacing, unit)):
        notes.append(f"{doubtful}: pass --spacing and --unit if that is wrong.")
    if not measured and spacing:
        axes = "".join(spacing)
        notes.append(f"The pixel size is known along {axes} only: lengths are in pixels.")
    elif options.spacing and not options.unit and unit:
        notes.append(f"--spacing was taken to be in {unit}, the unit of the file (see --unit).")
    elif not spacing and options.unit is not None:
        notes.append("The pixel size is not known: --unit was not used.")
    return tuple(notes)


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
