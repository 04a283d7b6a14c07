"""What is known of an image besides its pixels: units, axes, and the descriptions in a TIFF.

The descriptions, by OME, ImageJ and tifffile, tell how much data there must be, so that incomplete
files are refused, and what it means: pixel sizes, the time between frames, names of channels.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from xml.etree import ElementTree

import numpy as np

from .errors import UnreadableImageError, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from numpy.typing import DTypeLike

    from equilabel.array_types import HostArray

    from .tiff_pages import Page

# ---- Units of length and time, and their spellings in files

# In meters and seconds, exact. The names are those of OME, except "inch".
LENGTHS = {
    name: Fraction(metres)
    for name, metres in {
        **{"km": "1e3", "m": "1", "dm": "1e-1", "cm": "1e-2", "mm": "1e-3", "µm": "1e-6"},
        **{"nm": "1e-9", "Å": "1e-10", "pm": "1e-12", "inch": "0.0254", "ft": "0.3048"},
    }.items()
}
TIMES = {
    name: Fraction(seconds)
    for name, seconds in {
        **{"ns": "1e-9", "µs": "1e-6", "ms": "1e-3", "s": "1"},
        **{"min": "60", "h": "3600", "d": "86400"},
    }.items()
}
PREFIXES = {"": "", "kilo": "k", "deci": "d", "centi": "c", "milli": "m", "micro": "µ"}
PREFIXES |= {"nano": "n", "pico": "p"}
WORDS = {"meter": "m", "metre": "m", "meters": "m", "metres": "m", "second": "s", "seconds": "s"}
SPELLINGS = {
    **{f"{prefix}{word}": PREFIXES[prefix] + WORDS[word] for word in WORDS for prefix in PREFIXES},
    **dict.fromkeys(("um", "μm", "\\u00b5m", "micron", "microns"), "µm"),
    **dict.fromkeys(("us", "μs", "\\u00b5s", "usec"), "µs"),
    **dict.fromkeys(("å", "angstrom", "angstroms", "ångström"), "Å"),
    **{"in": "inch", "inches": "inch", "foot": "ft", "sec": "s", "secs": "s", "msec": "ms"},
    **{"minute": "min", "minutes": "min", "hr": "h", "hour": "h", "hours": "h"},
    **{"day": "d", "days": "d"},
}
PIXELS = {"", "pixel", "pixels", "px", "voxel", "voxels"}


def spelled(unit: str) -> str:
    """Return the name of a unit in this package; unknown names are unchanged."""
    word = unit.strip()
    if word in LENGTHS or word in TIMES:
        return word
    return SPELLINGS.get(word.lower(), word)


def seconds(value: object, unit: str) -> float | None:
    """Return a duration in seconds; None unless it is positive and has a known unit."""
    number = positive(value)
    scale = TIMES.get(spelled(unit))
    return None if number is None or scale is None else float(Fraction(number) * scale)


def positive(value: object) -> float | None:
    """Return a value as a float; None unless it is finite and positive."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 < number < math.inf else None


def doubt(spacing: Mapping[str, float], unit: str) -> str:
    """Return a sentence about a pixel longer than a millimeter or shorter than a picometer."""
    metres = LENGTHS.get(spelled(unit))
    for axis, size in spacing.items():
        if metres is None or positive(size) is None:
            continue
        length = Fraction(str(size)) * metres
        if not LENGTHS["pm"] <= length <= LENGTHS["mm"]:
            than = "more than a millimeter" if length > LENGTHS["mm"] else "less than a picometer"
            return f"A pixel is {size:g} {unit} long along {axis}, {than}"
    return ""


def calibrate(
    sizes: Mapping[str, tuple[object, str]],
) -> tuple[dict[str, float], str, tuple[str, ...]]:
    """Convert pixel sizes, (size, unit) of Z, Y and X, to one unit; return it, and notes."""
    found = {
        axis: (number, spelled(sizes[axis][1]))
        for axis in "XYZ"
        if axis in sizes
        and sizes[axis][1].strip().lower() not in PIXELS
        and (number := positive(sizes[axis][0])) is not None
    }
    if not found:
        return {}, "", ()
    unit = next(iter(found.values()))[1]
    spacing: dict[str, float] = {}
    notes: list[str] = []
    for axis, (number, word) in found.items():
        if word == unit:
            spacing[axis] = number
        elif word in LENGTHS and unit in LENGTHS:
            spacing[axis] = float(Fraction(number) * LENGTHS[word] / LENGTHS[unit])
        else:
            notes.append(f"The spacing of {axis} is left out: {word!r} is not comparable.")
    if unit not in LENGTHS:
        if unit != "reference frame":  # OME's term for an unknown unit
            notes.append(f"The unit {unit!r} is no length this package knows; it is left out.")
        unit = ""
    return {axis: spacing[axis] for axis in "ZYX" if axis in spacing}, unit, tuple(notes)


# ---- Images once they are read, with axes in the order T, C, Z, Y, X

AXES = "TCZYX"
UNNAMED = "QI"  # letters of tifffile for unknown axes
NAMES = {
    "T": {"t", "time", "times", "frame", "frames", "timepoint"},
    "C": {"c", "ch", "channel", "channels", "wavelength", "lambda"},
    "Z": {"z", "depth", "plane", "slice"},
    "Y": {"y", "height", "row"},
    "X": {"x", "width", "column"},
}


@dataclass(frozen=True)
class TiffImage:
    """An image that was read from a file: its pixels, and what the file says of them.

    Attributes
    ----------
    pixels : array
        The pixels, in C order and native byte order.
    axes : str
        A letter of T, C, Z, Y, X for each axis of `pixels`, in this order.
    spacing : dict of str to float
        Pixel size in `unit`, of those of Z, Y and X that are known.
    unit : str
        Unit of length, such as "µm"; "" if unknown.
    interval : float or None
        Seconds between time points.
    channels : tuple of str
        A name for each channel, or none.
    series, series_count : int
        Index of the image in its file, and how many there are.
    notes : tuple of str
        Sentences about what was guessed or left out.
    """

    # Values as stored: palettes of colors are not applied, white-is-zero is not inverted; one-bit
    # images are bool, and float16 becomes float32.
    pixels: HostArray
    axes: str  # it ends in YX
    spacing: dict[str, float] = field(default_factory=dict)
    unit: str = ""
    interval: float | None = None
    channels: tuple[str, ...] = ()
    series: int = 0
    series_count: int = 1
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Leave out what the image has no axes for."""
        known = {axis: size for axis, size in self.spacing.items() if axis in self.axes}
        count = self.pixels.shape[self.axes.index("C")] if "C" in self.axes else 1
        kept: dict[str, Any] = {
            "spacing": known,
            "unit": self.unit if known else "",
            "interval": self.interval if "T" in self.axes else None,
            "channels": self.channels if len(self.channels) == count else (),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        """Return the pixels."""
        return self.pixels.astype(dtype or self.pixels.dtype, copy=bool(copy))


Image = TiffImage
"""Its public name."""


@dataclass(frozen=True)
class Header:
    """Shape, axes (as in `TiffImage`) and name of the NumPy type of the pixels of an image."""

    shape: tuple[int, ...]
    axes: str
    dtype: str

    @classmethod
    def of(cls, shape: Sequence[int], axes: str, dtype: DTypeLike) -> Header:
        """Return the header of an image whose file has these axes, as for `canonical`."""
        pixels, axes, _ = canonical(np.broadcast_to(np.zeros((), dtype), shape), axes)
        return cls(pixels.shape, axes, pixels.dtype.name)

    @property
    def nbytes(self) -> int:
        """Bytes of the decoded pixels."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{' x '.join(map(str, self.shape))} of {self.dtype} ({self.axes})"


def letter_of(name: str) -> str:
    """Return the letter of the axis that a name means; "" if unknown."""
    word = re.sub(r"[^a-z]", "", name.lower())
    return next((letter for letter, names in NAMES.items() if word in names), "")


def canonical(pixels: HostArray, axes: str) -> tuple[HostArray, str, tuple[str, ...]]:
    """Return pixels with axes in the order T, C, Z, Y, X, their letters, and notes on guesses.

    Axes of length 1 other than Y and X are dropped, and samples (S) become channels; for the rest
    see `named`.
    """
    if "X" not in axes:
        refuse("have an axis X", f"axes {axes!r}")
    if "Y" not in axes:
        if set(axes) - set(AXES) or len(set(axes)) < len(axes):
            refuse("have an axis Y", f"axes {axes!r}")
        pixels, axes = np.expand_dims(pixels, axes.index("X")), axes.replace("X", "YX", 1)
    needed = (axes.index("Y"), axes.index("X"))
    kept = [k for k, length in enumerate(pixels.shape) if length > 1 or k in needed]
    pixels = pixels.reshape([pixels.shape[k] for k in kept])
    letters = [axes[k] for k in kept]
    if "S" in letters and "C" in letters:
        samples = letters.index("S")
        letters.remove("S")
        channel = letters.index("C")
        pixels = np.moveaxis(pixels, samples, channel + 1)
        pixels = pixels.reshape(*pixels.shape[:channel], -1, *pixels.shape[channel + 2 :])
    letters, notes = named(letters, pixels.shape)
    order = sorted(range(len(letters)), key=lambda k: AXES.index(letters[k]))
    return pixels.transpose(order), "".join(letters[k] for k in order), notes


def named(letters: Sequence[str], shape: Sequence[int]) -> tuple[list[str], tuple[str, ...]]:
    """Return a letter of T, C, Z, Y, X for each axis, in order of the file, and notes on guesses.

    Unknown letters become Z, T or C, whichever is free first, from the last axis on.
    """
    axes = "".join(letters)
    letters = ["C" if letter == "S" else letter for letter in letters]
    guesses = []
    for k in reversed(range(len(letters))):
        if letters[k] not in AXES or letters.index(letters[k]) != k:
            free = next((axis for axis in "ZTC" if axis not in letters), None)
            if free is None:
                refuse("have no axes beside T, C, Z, Y and X", f"axes {axes!r}")
            guesses.append((free, letters[k], shape[k]))
            letters[k] = free
    stackable = "T" not in letters
    return letters, tuple(_describe(*guess, stackable=stackable) for guess in reversed(guesses))


def _describe(axis: str, letter: str, length: int, *, stackable: bool) -> str:
    """Return a note on how an axis was read, and which option changes that."""
    read, remedy = {
        "Z": ("planes read as depth", "; pass --stacked if they are times" * stackable),
        "T": ("images read as times", "; pass --no-stacked if they are not times"),
        "C": ("planes read as channels", ""),
    }[axis]
    unnamed = letter in UNNAMED
    why = "the file does not name their axis" if unnamed else f"axis {letter!r} is not known"
    return f"{length} {read}, as {why}{remedy}."


# ---- Descriptions in TIFF files

COARSEST_DPI = 200  # pixels above 1/8 mm: neither microscope nor scanner
PRINT_DPI = {72, 75, 96, 100, 120, 150, 180, 200, 240, 300, 350, 360, 400, 600, 720, 1200, 2400}
RESOLUTION, RESOLUTION_UNIT = {"X": 282, "Y": 283}, 296  # tags
RESOLUTION_UNITS = {2: "inch", 3: "cm", 4: "mm", 5: "µm"}  # 4 and 5 are extensions of tifffile
MOST_STEPS = 10**6  # of an extra axis of OME
# Found in descriptions of OME, ImageJ or tifffile even without their beginning.
MARKS = re.compile(
    r"openmicroscopy\.org|^(images|slices|hyperstack)=\w|\"(shape|axes)\": ", re.MULTILINE
)
SEVERAL_FILES = "Open the set in Fiji or Bio-Formats and save it as one file."


@dataclass(frozen=True, slots=True)
class Described:
    """An image as described in the file."""

    kind: str  # writer of the description: "ome", "imagej", "shaped" (tifffile), or "plain"
    elements: int = 0  # announced number of values in all planes; 0 for none
    values: Mapping[str, Any] = field(default_factory=dict)  # entries of the description
    channels: tuple[str, ...] = ()  # names of the channels, if all have one


def describe(pages: Sequence[Page], name: str) -> tuple[Described, ...]:
    """Read and check the descriptions of a file: one for each image of an OME-TIFF, else one."""
    for text in pages[0].descriptions:
        if text.startswith("{") and '"shape":' in text:
            return (_shaped(text, pages),)
        if text.startswith("<") and (text.endswith("OME>") or "<OME" in text[:2000]):
            return _ome(text, pages, name)
        if text.startswith(("ImageJ=", "SCIFIO=")):
            return (_imagej(text, pages),)
    if any(MARKS.search(text) for text in pages[0].descriptions):
        got = repr(pages[0].descriptions[0][:60])
        refuse("have a description that begins like those of its writer", got)
    return (Described("plain"),)


def calibration(described: Described, tags: Any) -> dict[str, Any]:
    """Return spacing, unit, interval and notes of an image, whose first page has these tags."""
    values = described.values
    if described.kind == "ome" or "PhysicalSizeX" in values:
        names = {axis: f"PhysicalSize{axis}" for axis in "XYZ"}
        spacing, unit, notes = calibrate(
            {
                axis: (values.get(name), str(values.get(f"{name}Unit", "µm")))
                for axis, name in names.items()
            }
        )
        interval = seconds(values.get("TimeIncrement"), str(values.get("TimeIncrementUnit", "s")))
        return {"spacing": spacing, "unit": unit, "interval": interval, "notes": notes}
    interval = seconds(values.get("finterval"), str(values.get("tunit", "s")))
    word = str(values.get("unit", ""))
    pixels = {axis: _inverse(tags.valueof(code)) for axis, code in RESOLUTION.items()}
    depth, notes = values.get("spacing"), tuple[str, ...]()
    if str(depth).startswith("-") and positive(str(depth)[1:]):
        depth = str(depth)[1:]
        notes = ("The spacing of Z is negative in the file; its absolute value is used.",)
    tagged = word.strip().lower() in PIXELS
    if tagged:
        code = tags.valueof(RESOLUTION_UNIT, default=2)
        word = RESOLUTION_UNITS.get(code, "") if isinstance(code, int) else ""
        if not word and (ratio := positive(depth)) not in (None, 1.0):
            notes += ("The file gives no unit; the spacing of Z is in pixels of Y and X.",)
            spacing = {"Z": float(ratio or 1), "Y": 1.0, "X": 1.0}
            return {"spacing": spacing, "interval": interval, "notes": notes}
    length, x = spelled(word.lower()), positive(pixels.get("X"))
    if x and (length == "inch" or (length == "cm" and tagged)):
        near = (dpi for dpi in PRINT_DPI if abs(2.54 / x - dpi) < dpi / 2000)
        dpi = round(1 / x, 3) if length == "inch" else next(near, math.inf)
        if dpi in PRINT_DPI or dpi < COARSEST_DPI:
            note = (
                f"{dpi:g} pixels per inch is a print resolution, not a pixel size; it is not used."
            )
            return {"interval": interval, "notes": (*notes, note)}
    units = {"X": word, "Y": values.get("yunit", word), "Z": values.get("zunit", word)}
    sizes = {**pixels, "Z": depth}
    spacing, unit, left_out = calibrate({axis: (sizes[axis], str(units[axis])) for axis in sizes})
    notes += left_out
    return {"spacing": spacing, "unit": unit, "interval": interval, "notes": notes}


def _shaped(text: str, pages: Sequence[Page]) -> Described:
    try:
        values = json.loads(text)
        elements = math.prod(int(size) for size in values["shape"])
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
        _refuse_text(text, error)
    held = sum(math.prod(page.shape) for page in pages)
    if elements > held and len(pages) > 1:  # one page may describe a contiguous stack
        refuse(f"hold the {elements} values it announces", held)
    return Described("shaped", elements, values)


def _imagej(text: str, pages: Sequence[Page]) -> Described:
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    values = {key.strip(): value.strip() for key, value in pairs}
    try:
        counts = [int(values.get(key, 1)) for key in ("frames", "slices", "channels", "images")]
    except ValueError as error:
        _refuse_text(text, error)
    frames, slices, channels, images = counts
    if min(counts) < 1:
        refuse("announce 1 plane or more", repr(text[:80]))
    planes, page = max(frames * slices * channels, images), pages[0]
    if page.shape[3] == channels > 1 and (page.separate or images == frames * slices):
        planes = frames * slices  # Bio-Formats and ImageJ store channels as samples of a page
    if len(pages) not in (1, planes):
        refuse(f"hold the {planes} planes its ImageJ description announces", len(pages))
    return Described("imagej", planes * math.prod(page.shape), values)


def _ome(text: str, pages: Sequence[Page], name: str) -> tuple[Described, ...]:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        refuse("have plain OME metadata", "XML that defines entities")
    try:
        root = ElementTree.fromstring(text)
        if root.find("{*}BinaryOnly") is not None:
            refuse("hold its own OME metadata", "a reference to another file", SEVERAL_FILES)
        _check_extra_axes(root)
        named: set[int] = set()
        images = tuple(
            _ome_image(pixels, pages, (root.get("UUID"), name), named)
            for pixels in root.iterfind("{*}Image/{*}Pixels")
        )
    except UnreadableImageError:
        raise
    except (ElementTree.ParseError, KeyError, TypeError, ValueError) as error:
        _refuse_text(text, error)
    if len(named) != len(pages):
        refuse("name each of its pages in its OME metadata", f"{len(named)} of {len(pages)}")
    return images


def _ome_image(
    pixels: Element, pages: Sequence[Page], own: tuple[str | None, str], named: set[int]
) -> Described:
    sizes = {axis: int(pixels.attrib[f"Size{axis}"]) for axis in "XYZCT"}
    channels = pixels.findall("{*}Channel")
    samples = int(channels[0].get("SamplesPerPixel", 1)) if channels else 1
    if min(*sizes.values(), samples) < 1 or sizes["C"] % samples:
        refuse("have 1 pixel or more along every axis", f"{sizes} in its OME metadata")
    elements, held = math.prod(sizes.values()), 0
    sizes["C"] //= samples
    for data in pixels.iterfind("{*}TiffData"):
        uuid = data.find("{*}UUID")
        if uuid is not None and uuid.text != own[0]:
            file = uuid.get("FileName", "")
            if own[0] is not None or file.lower() != own[1].lower():
                refuse("hold all of its planes", f"OME planes in {file!r}", SEVERAL_FILES)
        first = int(data.get("IFD", 0))
        count = int(data.get("PlaneCount", data.get("NumPlanes", "IFD" in data.attrib)))
        count = count or len(pages)
        start = [int(data.get(f"First{axis}", 0)) for axis in "ZCT"]
        inside = all(0 <= a < sizes[axis] for a, axis in zip(start, "ZCT", strict=True))
        if not (inside and 0 <= first < first + count <= len(pages)):
            got = f"page {first + count - 1} of {len(pages)}"
            refuse("hold the planes its OME metadata announces", got)
        named.update(range(first, first + count))
        held += sum(math.prod(page.shape) for page in pages[first : first + count])
        if held > elements:
            break
    if held != elements:
        got = f"{len(pages)} pages for {sizes}"
        refuse("hold the planes its OME metadata announces, no fewer and no more", got)
    names = [channel.get("Name", "") for channel in channels]
    complete = samples == 1 and len(names) == sizes["C"] and all(names)
    return Described("ome", elements, pixels.attrib, tuple(names) if complete else ())


def _check_extra_axes(root: Element) -> None:
    """Refuse axes with very many steps, for which tifffile would allocate memory."""
    for along in root.iterfind(".//{*}Modulo/*"):
        if "Start" in along.attrib:
            start, stop, step = (float(along.get(key, 1)) for key in ("Start", "End", "Step"))
            if not abs(stop - start) <= MOST_STEPS * abs(step):
                refuse(f"have at most {MOST_STEPS} steps along an axis", along.attrib)


def _inverse(fraction: object) -> float | None:
    try:
        per_unit, units = fraction  # type: ignore[misc]
        return positive(units / per_unit)  # type: ignore[has-type]
    except (TypeError, ValueError, ArithmeticError):
        return None


def _refuse_text(text: str, error: Exception) -> NoReturn:
    refuse("have a description that can be parsed", f"{text[:60]!r} ({error})", cause=error)


# ---- Functions that take an image with its axes and pixel size

Function = TypeVar("Function", bound="Callable[..., Any]")


def knows_images(function: Function) -> Function:
    """Let a function take what `read` returns for `image`, and for `labels` if it has them.

    Spacing, unit, stack and channels are those of the image, unless they are passed.
    """
    known = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given: dict[str, Any] = dict(zip(known, args, strict=False)) | kwargs
        images = [name for name in ("image", "labels") if isinstance(given.get(name), TiffImage)]
        if not images:
            return function(*args, **kwargs)
        facts: dict[str, Any] = {}
        for name in images:
            given[name], facts = _arguments(given[name], last="channel_axis" not in known)
        own = {name: value for name, value in facts.items() if name in known}
        return function(**{**own, **given})

    return cast("Function", call)


def _arguments(image: TiffImage, *, last: bool) -> tuple[HostArray, dict[str, Any]]:
    """Return the pixels of an image, and the arguments that follow from its axes."""
    axes = image.axes.replace("C", "")
    stacked = axes[:1] == "T"
    facts: dict[str, Any] = {"stacked": stacked}
    if all(axis in image.spacing for axis in axes[stacked:]):
        facts["spacing"] = tuple(image.spacing[axis] for axis in axes[stacked:])
        facts["unit"] = image.unit or None
    if "C" not in image.axes:
        return image.pixels, facts
    axis = image.axes.index("C")
    if last:
        return np.moveaxis(image.pixels, axis, -1), facts
    return image.pixels, {**facts, "channel_axis": axis}
