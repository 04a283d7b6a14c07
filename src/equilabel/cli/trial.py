"""What is known before an image is labeled: its axes, whether options work, and its memory."""

from __future__ import annotations

import errno
import math
import re
import warnings
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.colors import COLORS
from equilabel.forecast import BASE, LABELED, of_pixels
from equilabel.options import SegmentOptions, options_of
from equilabel.quantities import parse
from equilabel.storage import metadata
from equilabel.storage.errors import is_shortage
from equilabel.storage.images import TIFF, read_header
from equilabel.storage.memory import free, readable
from equilabel.storage.metadata import Header, TiffImage, doubt
from equilabel.storage.ome_zarr import find_image, is_zarr
from equilabel.storage.pictures import GRAY

from .inputs import FILE, kind_of, quoted
from .options import LENGTHS, OME_ZARR, ChunkOptions, Options, as_typed, refuse
from .records import PIXEL
from .streams import explain

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pandas as pd

    from equilabel.array_types import HostArray


# ---- What a file says of its axes, channels and pixel size, and notes about what was guessed


def find_channel(image: TiffImage, wanted: int | str | None) -> tuple[int | None, int | str | None]:
    """Return the axis of channels (None without), and the channel to label, or a color as gray."""
    if "C" not in image.axes:
        if wanted in (None, 0) or str(wanted) in image.channels:
            return None, None
        if GRAY in image.notes and (wanted in (1, 2) or str(wanted).lower() in COLORS[:4]):
            return None, None  # a blank field among others in colors
        only = "".join(f" or {name!r}" for name in image.channels)
        refuse(
            f"--channel must be 0{only} for an image with one channel; got {wanted!r}. "
            "Leave it out."
        )
    axis = image.axes.index("C")
    count = image.pixels.shape[axis]
    if wanted is None and count == 1:
        return axis, 0
    if isinstance(wanted, int) and 0 <= wanted < count:
        return axis, wanted
    if wanted is not None and image.channels.count(str(wanted)) == 1:  # "488" can be a name too
        return axis, image.channels.index(str(wanted))
    colored = image.channels[:3] == COLORS[1:4]
    if colored and str(wanted).lower() in COLORS:
        return axis, str(wanted).lower()
    got = "none" if wanted is None else repr(wanted)
    every = ", ".join(f"{k} {name!r}" for k, name in enumerate(image.channels))
    every = ", ".join(COLORS) if colored else every or ", ".join(map(str, range(count)))
    folded = {name.casefold(): name for name in reversed(image.channels)}
    near = get_close_matches(str(wanted or "").casefold(), folded, n=1, cutoff=0.5)
    remedy = "Pass --channel gray." if colored else "Pass --channel 0 for the first."
    if near and wanted not in image.channels:  # else several have this name
        remedy = f"Did you mean {folded[near[0]]!r}?"
    refuse(f"--channel must be one of {every} for this image; got {got}. {remedy}")


def spacing_of(image: TiffImage, options: Options) -> tuple[dict[str, float], str]:
    """Return the pixel size by axis, and its unit, from the options or the file."""
    space = "".join(axis for axis in image.axes if axis in "ZYX")
    unit = image.unit if options.unit is None else options.unit
    if options.spacing is None:
        known = {axis: image.spacing[axis] for axis in space if axis in image.spacing}
        if image.unit != unit and image.unit in metadata.LENGTHS:  # the file's, to that of --unit
            ratio = metadata.LENGTHS[image.unit] / metadata.LENGTHS[unit]
            known = {axis: float(Fraction(str(size)) * ratio) for axis, size in known.items()}
        return known, unit
    values = options.spacing if len(options.spacing) > 1 else options.spacing * len(space)
    if len(values) != len(space):
        refuse(
            f"--spacing must be 1 or {len(space)} numbers for axes {space!r}; got {len(values)}. "
            "Pass one number for all axes, or leave it out to use that of the file."
        )
    return dict(zip(space, values, strict=True)), unit


@dataclass(frozen=True)
class KnownAxes:
    """Meaning of the axes of an image; a plain Zarr has no `axes`."""

    channel_axis: int | None  # from `find_channel`
    channel: int | str | None  # from `find_channel`
    axes: str  # letters of the other axes
    stacked: bool  # whether the first of `axes` counts images
    spacing: dict[str, float]  # pixel size by axis, where it is known
    unit: str  # of the pixel size
    distances: (
        float | tuple[float, ...] | None
    )  # of the axes of one image, 1 for time; None if unknown
    notes: tuple[str, ...] = ()  # on the file, and on its pixel size

    @property
    def measured(self) -> dict[str, float]:
        """Pixel size by axis that the table uses; empty if that of an axis is unknown."""
        known = self.spacing if self.distances is not None else {}
        return {axis: known[axis] for axis in self.axes if axis in known}

    @property
    def length(self) -> str:
        """Unit of lengths in the table."""
        return PIXEL if self.distances is None else self.unit

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `segment`."""
        unit = None if self.distances is None else self.unit
        return {"spacing": self.distances, "unit": unit, "stacked": self.stacked}


def known_axes(image: TiffImage, options: Options, what: str = "an image") -> KnownAxes:
    """Return the meaning of the axes of an image; raise ValueError if options do not fit them."""
    channel_axis, channel = find_channel(image, options.channel)
    axes = image.axes.replace("C", "")
    spacing, unit = spacing_of(image, options)
    stacked = "T" in axes if options.stacked is None else options.stacked and len(axes) > 2
    if options.segment.get("track") and not stacked:
        remedy = "Leave it out" + ", or pass --stacked if the first axis is time" * (len(axes) > 2)
        refuse(f"--track needs {what} of several frames; got axes {axes!r}. {remedy}.")
    if options.outlines and len(axes) not in ((3,) if stacked else (2, 3)):
        refuse(
            f"--outlines needs {what} of two axes, frames or planes; got axes {axes!r}. Leave it "
            "out, or pass the volumes one by one."
        )
    space = axes[stacked:]
    for name in (*LENGTHS, "min_size", "max_size"):
        value = options.segment.get(name)
        each = value if isinstance(value, tuple) else (value,)
        if "T" in space and any(isinstance(one, str) for one in each):
            refuse(
                f"{as_typed(name)} must be in pixels where --no-stacked reads times as depth; got "
                f"{value!r}. Pass pixels, or leave --no-stacked out."
            )
    complete = all(axis == "T" or axis in spacing for axis in space)
    distances = tuple(spacing.get(axis, 1.0) for axis in space) if complete else None
    known = KnownAxes(channel_axis, channel, axes, stacked, spacing, unit, distances)
    notes = (*notes_of_file(image, options), *_notes_on_spacing(known, options))
    return replace(known, notes=notes)


def notes_of_file(image: TiffImage, options: Options) -> tuple[str, ...]:
    """Return the notes about a file; without the question about planes or times if answered."""
    if options.stacked is None:
        return image.notes
    return tuple(note for note in image.notes if "-stacked" not in note)


def _notes_on_spacing(known: KnownAxes, options: Options) -> tuple[str, ...]:
    """Return notes about a pixel size that is doubtful, is not used, or has a guessed unit."""
    measured, spacing, unit = known.measured, known.spacing, known.unit
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


def find_axes(path: Path, options: Options) -> tuple[TiffImage, KnownAxes, dict[str, Any]]:
    """Return an image without its pixels, its axes, and arguments of `segment_chunked` for them."""
    from equilabel.storage.ome_zarr import describe_zarr, note_missing
    from equilabel.storage.tiff import describe_tiff

    image = describe_zarr(path, options.series) if is_zarr(path) else describe_tiff(path)
    if image.axes:
        known = known_axes(image, options)
        _refuse_for_blocks(known)
    elif options.channel is not None:
        refuse(
            "--channel needs the axes of an OME-Zarr; got a plain Zarr, whose axes have no names. "
            "Leave it out."
        )
    else:
        given, unit = options.spacing, options.unit or ""
        distances = given[0] if given is not None and len(given) == 1 else given
        known = KnownAxes(None, None, "", bool(options.stacked), {}, unit, distances)
    arguments = {**known.arguments, "unit": known.unit or None, "channel": known.channel}
    if known.axes and known.distances is None:
        arguments |= {"unit": None, "spacing": (1.0,) * (len(known.axes) - known.stacked)}
    if not is_zarr(path):
        return image, known, {**arguments, "channel_axis": known.channel_axis}
    missing = note_missing(find_image(path).path)
    return image, replace(known, notes=(*known.notes, *missing)), arguments


def _refuse_for_blocks(known: KnownAxes) -> None:
    """Raise RefusedError if an image with these axes cannot be read block by block."""
    if isinstance(known.channel, str):
        refuse(
            f"--channel {known.channel} needs the image as a whole, not chunks. Pass red, green, "
            "blue or a number, or label it in memory, with a larger --memory-limit."
        )
    if known.axes != "".join(sorted(known.axes, key="TZYX".index)):
        refuse(
            "image must have its axes in the order T, Z, Y, X to be read in chunks; got "
            f"{known.axes!r}. Convert it to OME-Zarr in that order."
        )


# ---- Memory, and whether an image is labeled block by block


@cache
def in_blocks() -> tuple[str, ...]:
    """List the options of `segment` that `segment_chunked` has; others need all pixels at once."""
    from equilabel import segment_chunked

    known = signature(segment_chunked).parameters
    return tuple(name for name in options_of(SegmentOptions) if name in known)


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
    channels, pixels = channels_and_pixels(header)
    image = header.nbytes * (2 if channels > 1 else 1)  # a copy with channels last is measured
    measured = MEASURED if options.command == "measure" else LABELED
    base, each = of_pixels({**options.segment, **options.beside}, measured)
    drawn = drawing(header, options) - BASE
    return base + image + max(pixels * each, pixels * NUMBERS + drawn)  # not at the same time


def channels_and_pixels(header: Header) -> tuple[int, int]:
    """Return the number of channels, and that of the pixels of each."""
    channels = header.shape[header.axes.index("C")] if "C" in header.axes else 1
    return channels, math.prod(header.shape) // max(1, channels)


def drawing(header: Header, options: Options) -> int:
    """Return the bytes that the overlay of an image that is not in memory takes."""
    pixels = min(LARGEST, max(SMALLEST, channels_and_pixels(header)[1]))
    return BASE + (FIXED + DRAWN * pixels if options.overlay else 0)


def takes_whole(path: Path, options: Options) -> bool:
    """Return whether a Zarr is labeled as a whole: options or splitting ask for it, and it fits."""
    given = options.segment
    asked = needs_whole(options) or given["split"] or given["threshold"] in ("per_object", "li")
    return bool(asked) and _excess(path, options) == ""


def _excess(path: Path, options: Options) -> str | None:
    """Return why an image does not fit into memory; "" if it does, None if it cannot be read."""
    try:
        need = forecast(read_header(path, series=options.series), options)
    except Exception:  # reported when the file is read
        return None
    limit = free() if options.memory_limit is None else options.memory_limit
    if need <= limit:
        return ""
    return (
        f"an image that takes about {readable(need)} of memory, more than --memory-limit "
        f"{readable(limit)}"
    )


def needs_whole(options: Options) -> dict[str, object]:
    """Return the options that need all pixels of an image at once."""
    given = options.segment
    whole = {
        name: given[name]
        for name, (default, _) in options_of(SegmentOptions).items()
        if name not in in_blocks() and given[name] != default
    }
    return whole | options.beside


def refuse_too_large(path: Path, header: Header, options: Options) -> None:
    """Raise ValueError if an image needs more memory than the memory limit of the run."""
    need, allowed = forecast(header, options), options.memory_limit
    if allowed is not None and need > allowed:
        blocks = "crop it. `equilabel.segment_chunked` works block by block."
        is_tiff = path.suffix.lower() in TIFF and not (options.series or options.slices)
        if options.command == "batch" and is_tiff and find_spec("zarr") is not None:
            blocks = "pass --too-large chunked, to label it block by block."
        refuse(
            f"image must be labeled within --memory-limit, {readable(allowed)}; got {header}, "
            f"which takes about {readable(need)}. Pass a larger --memory-limit, with fewer --jobs "
            f"if memory is short, or {blocks}"
        )


# ---- Whether an image is labeled block by block, and whether its options allow it


def why_in_blocks(path: Path, options: Options, *, chunked: bool = False) -> str:
    """Return why an image is labeled block by block, or ""; refuse `chunked` if it cannot be."""
    if options.command != "batch" or (options.slices and not chunked):
        return ""
    if is_zarr(path):
        return "" if takes_whole(path, options) and not chunked else "a Zarr"
    is_tiff = kind_of(path) == FILE and path.suffix.lower() in TIFF
    if chunked:
        if not is_tiff:
            refuse(f"--chunked needs a TIFF or a Zarr; got {quoted(path)}. Leave it out.")
        return "--chunked"
    return (is_tiff and options.too_large == "chunked" and _excess(path, options)) or ""


def is_zarr_of_labels(out: Path) -> bool:
    """Return whether a path is that of the Zarr of labels itself, not of a folder for results."""
    return out.suffix.lower() == ".zarr" or is_among_labels(out)


def is_among_labels(out: Path) -> bool:
    """Return whether a path is in the folder of labels of an OME-Zarr."""
    image = out.parent.parent
    if out.parent.name != "labels" or not is_zarr(image):
        return False
    try:
        return find_image(image).group is not None
    except ValueError:
        return False


def chooses_chunks(path: Path, out: Path, options: Options, typed: Collection[str]) -> bool:
    """Return whether --out or an option of chunks that was typed chooses them, for a Zarr."""
    if not is_zarr(path) or is_zarr_of_labels(out):
        return is_zarr(path)
    return not {*options_of(ChunkOptions)}.isdisjoint(typed) and not needs_whole(options)


def refuse_own(path: Path, options: Options, typed: Collection[str]) -> None:
    """Raise RefusedError if the user typed an option that only images in chunks have."""
    for name in [name for name in options_of(ChunkOptions) if name in typed]:
        whole = next(iter(needs_whole(options)), "") if is_zarr(path) else ""
        got = f"{as_typed(whole)}, which needs the image as a whole" if whole else "neither"
        refuse(
            f"--{name} needs an image in chunks: a Zarr, or a TIFF with --chunked; got {got}. "
            "Leave one of them out."
        )


def check_formats(options: Options) -> None:
    """Raise RefusedError if tables or labels cannot be written in their formats."""
    for option, value, package, other in (
        ("format", "parquet", "pyarrow", "csv"),
        ("outlines", "roi", "roifile", "geojson"),
        ("labels_format", OME_ZARR, "zarr", "tiff"),
    ):
        if getattr(options, option) == value and find_spec(package) is None:
            word = as_typed(option)
            refuse(
                f"{word} {value} needs {package}; got none installed. Install it with "
                f"`pip install {package}`, or pass {word} {other}."
            )


# ---- A trial of the options, on small images

# Shapes for axes YX, ZYX, TYX, and TZYX as a stack or not, each with whether it is a stack.
IMAGES = (
    ((32, 32), False),
    ((8, 16, 16), False),
    ((3, 16, 16), True),
    ((3, 8, 16, 16), True),
    ((4, 4, 16, 16), False),
)
WORDS = re.compile(r"[^\W\d]\w*")  # of a condition on columns
TEMPORARY = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EAGAIN, errno.EIO)


def check(options: Options, *, compiling: bool = False) -> str:
    """Try options on images; return the error message if they fail on all of them, else "".

    The axes of a file are unknown before it is opened. With `compiling`, the images have pixels.
    """
    complaint = ""
    unit = options.unit or "µm"  # the unit of a file is unknown before it is opened
    for small, stacked in IMAGES:
        shape = small if compiling else (*small[:-1], 0)
        if options.stacked is not None and stacked != (options.stacked and len(shape) > 2):
            continue
        rank = len(shape) - stacked
        distances = options.spacing or (1.0,)
        if len(distances) not in (1, rank):
            continue
        spacing = distances * rank if len(distances) == 1 else distances
        try:
            arguments = options.segment if options.spacing else _without_units(options.segment)
            given = {"unit": unit, "stacked": stacked, "spacing": spacing}
            _try(shape, options, {**arguments, **given})
        except Exception as error:
            if is_shortage(error) or (isinstance(error, OSError) and error.errno in TEMPORARY):
                return ""  # not caused by the options; if it lasts, images fail
            complaint = complaint or explain(error)
        else:
            return ""
    return complaint


def try_axes(options: Options, axes: str, given: dict[str, Any]) -> None:
    """Try options on an image without pixels that has the axes of a real one; see `segment`."""
    _try((*[1] * (len(axes) - 1), 0), options, {**options.segment, **given})


def _try(shape: tuple[int, ...], options: Options, given: dict[str, Any]) -> None:
    """Segment or measure pixels of two classes, in which every method finds a threshold."""
    from equilabel import segment

    noise = np.random.default_rng(0).normal(50, 8, shape)
    noise[..., 4:12, 4:12] += 120
    with warnings.catch_warnings(action="ignore"):
        if options.command == "measure":
            values = noise if options.overlay else None  # overlays need an image too
            own = {name: given[name] for name in ("spacing", "stacked")}
            measure_labels((noise > 110).astype(int), values, options, **own)
        else:
            given = {**given, "split_by": "shape"} if options.markers else given
            segment(noise, **given)


def measure_labels(
    numbers: HostArray, values: HostArray | None, options: Options, **given: Any
) -> tuple[HostArray, pd.DataFrame]:
    """Measure labels; return those of the objects that stay, and their table."""
    from equilabel import PROPERTIES, default_properties, filter_objects, measure

    chosen, rank = options.segment, numbers.ndim - given["stacked"]
    track, names = bool(chosen.get("track")), chosen.get("properties")
    if not options.writes_labels:
        return numbers, measure(numbers, values, names, track=track, **given)
    if names is None:
        names = default_properties(rank, given["spacing"] or (1.0,) * rank, given["stacked"])
        names = [name for name in names if values is not None or not PROPERTIES[name].intensity]
    wanted = [] if chosen.get("keep") is None else [f"({chosen['keep']})"]
    condition = " and ".join(wanted + ["not touches_border"] * bool(chosen.get("exclude_border")))
    words = dict.fromkeys(["label", *WORDS.findall(condition)])
    extra = [name for name in words if name in PROPERTIES and name not in names]
    if set(words).difference(PROPERTIES, ("and", "or", "not")):
        filter_objects(numbers, condition, image=values, **given)  # says what columns there are
    table = measure(numbers, values, [*names, *extra], **given)
    kept: Any = filter_objects(numbers, condition, table, **given)
    numbers, table = kept
    table = table[[name for name in table if name.split("-")[0] not in extra]]
    if track:
        tracks = measure(numbers, properties=["label"], track=True, **given)
        place = sum(name in ("label", "frame") for name in names[:2])
        for name in ("event", "parent", "track", "frame"):
            if name not in table:
                table.insert(place, name, tracks[name])
    return numbers, table


def _without_units(arguments: dict[str, Any]) -> dict[str, Any]:
    """Replace lengths with a unit by 3 pixels, because the pixel size is unknown.

    >>> _without_units({"sigma": "9mm", "block_size": ("5um", "3px"), "min_size": "5um2"})
    {'sigma': 3.0, 'block_size': (3.0, '3px'), 'min_size': '5um2'}
    """
    found = dict(arguments)
    for name in (*LENGTHS, "split"):
        value = arguments.get(name)
        if isinstance(value, (str, tuple)):
            each = value if isinstance(value, tuple) else (value,)
            kept = tuple(3.0 if parse(name, one).power == 1 else one for one in each)
            found[name] = kept if isinstance(value, tuple) else kept[0]
    return found
