"""Descriptions of images that OME, ImageJ and tifffile write into TIFF files.

They tell how much data there must be, so that incomplete files are refused, and what it means:
pixel sizes, the time between frames, names of channels.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from .errors import UnreadableImageError, refuse, unreadable
from .units import PIXELS, calibrate, positive, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from xml.etree.ElementTree import Element

    from .tiff_pages import Page

COARSEST_DPI = 200  # pixels above 1/8 mm: neither microscope nor scanner
PRINT_DPI = {72, 75, 96, 100, 120, 150, 180, 200, 240, 300, 350, 360, 400, 600, 720, 1200, 2400}
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


class Calibration(NamedTuple):
    """Pixel sizes of Z, Y and X, their unit, seconds between frames, and notes."""

    spacing: dict[str, float]
    unit: str
    interval: float | None
    notes: tuple[str, ...]


def describe(pages: Sequence[Page], name: str) -> tuple[Described, ...]:
    """Read the description of a file, and check it against its pages.

    Returns one item for each image of an OME-TIFF, otherwise exactly one. `name` is the name of the
    file, to which OME may refer. Raises UnreadableImageError if the description cannot be parsed,
    announces more than the pages hold, or refers to planes in other files.
    """
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


def calibration(
    described: Described, resolution: Mapping[str, object], resolution_unit: object
) -> Calibration:
    """Return pixel sizes and the interval of an image.

    `resolution` maps "X" and "Y" to pixels per unit as a fraction (int, int), from the tags; it may
    be empty. `resolution_unit` is TIFF's code: 1 none, 2 inch, 3 centimeter.

    >>> values = {"unit": "micron", "spacing": "1.5", "finterval": "30"}
    >>> calibration(Described("imagej", values=values), {"X": (4, 1), "Y": (4, 1)}, 1)[:3]
    ({'Z': 1.5, 'Y': 0.25, 'X': 0.25}, 'µm', 30.0)
    """
    values = described.values
    if described.kind == "ome" or "PhysicalSizeX" in values:
        return Calibration(*_ome_sizes(values))
    interval = seconds(values.get("finterval"), str(values.get("tunit", "s")))
    word = str(values.get("unit", ""))
    pixels = {axis: _inverse(fraction) for axis, fraction in resolution.items()}
    depth, notes = values.get("spacing"), []
    if depth is not None and positive(depth) is None and (turned := _negated(depth)):
        depth = turned
        notes.append("The spacing of Z is negative in the file; its absolute value is used.")
    if word.strip().lower() in PIXELS:
        word = RESOLUTION_UNITS.get(resolution_unit, "") if isinstance(resolution_unit, int) else ""
        if not word and (ratio := positive(depth)) not in (None, 1.0):
            notes.append("The file gives no unit; the spacing of Z is in pixels of Y and X.")
            return Calibration(
                {"Z": float(ratio or 1), "Y": 1.0, "X": 1.0}, "", interval, (*notes,)
            )
    if word.strip().lower() in ("inch", "in") and (x := positive(pixels.get("X"))):
        dpi = round(1 / x, 3)
        if dpi in PRINT_DPI or dpi < COARSEST_DPI:
            notes.append(
                f"{dpi:g} pixels per inch is a print resolution, not a pixel size; it is not used."
            )
            return Calibration({}, "", interval, (*notes,))
    units = {"X": word, "Y": values.get("yunit", word), "Z": values.get("zunit", word)}
    sizes = {**pixels, "Z": depth}
    spacing, unit, left_out = calibrate({axis: (sizes[axis], str(units[axis])) for axis in sizes})
    return Calibration(spacing, unit, interval, (*notes, *left_out))


def _shaped(text: str, pages: Sequence[Page]) -> Described:
    try:
        values = json.loads(text)
        elements = math.prod(int(size) for size in values["shape"])
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
        raise _unparsable(text, error) from error
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
        raise _unparsable(text, error) from error
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
        raise _unparsable(text, error) from error
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


def _ome_sizes(
    values: Mapping[str, Any],
) -> tuple[dict[str, float], str, float | None, tuple[str, ...]]:
    sizes = {
        axis: (values.get(f"PhysicalSize{axis}"), str(values.get(f"PhysicalSize{axis}Unit", "µm")))
        for axis in "XYZ"
    }
    spacing, unit, notes = calibrate(sizes)
    interval = seconds(values.get("TimeIncrement"), str(values.get("TimeIncrementUnit", "s")))
    return spacing, unit, interval, notes


def _inverse(fraction: object) -> float | None:
    try:
        per_unit, units = fraction  # type: ignore[misc]
        return positive(units / per_unit)  # type: ignore[has-type]
    except (TypeError, ValueError, ArithmeticError):
        return None


def _negated(depth: object) -> float | None:
    try:
        return positive(-float(depth))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _unparsable(text: str, error: Exception) -> UnreadableImageError:
    return unreadable("have a description that can be parsed", f"{text[:60]!r} ({error})")
