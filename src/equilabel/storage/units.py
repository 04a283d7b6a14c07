"""Units of length and time, and their spellings in files."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
SPELLINGS = {
    **dict.fromkeys(("um", "μm", "\\u00b5m", "micron", "microns"), "µm"),
    **dict.fromkeys(("micrometer", "micrometers", "micrometre", "micrometres"), "µm"),
    **dict.fromkeys(("nanometer", "nanometers", "nanometre", "nanometres"), "nm"),
    **dict.fromkeys(("millimeter", "millimeters", "millimetre", "millimetres"), "mm"),
    **dict.fromkeys(("centimeter", "centimeters", "centimetre", "centimetres"), "cm"),
    **dict.fromkeys(("meter", "meters", "metre", "metres"), "m"),
    **{"kilometer": "km", "decimeter": "dm", "picometer": "pm", "foot": "ft"},
    **dict.fromkeys(("å", "angstrom", "angstroms", "ångström"), "Å"),
    **dict.fromkeys(("in", "inches"), "inch"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "μs", "\\u00b5s", "usec", "microsecond", "microseconds"), "µs"),
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
}
PIXELS = {"", "pixel", "pixels", "px", "voxel", "voxels"}


def spelled(unit: str) -> str:
    r"""Return the name of a unit in this package; unknown names are unchanged.

    >>> [spelled(word) for word in ("micron", "um", r"\u00B5m", "inches", "sec", "parsec")]
    ['µm', 'µm', 'µm', 'inch', 's', 'parsec']
    """
    word = unit.strip()
    if word in LENGTHS or word in TIMES:
        return word
    return SPELLINGS.get(word.lower(), word)


def seconds(value: object, unit: str) -> float | None:
    """Return a duration in seconds; None unless it is positive and has a known unit.

    >>> seconds(250, "ms"), seconds("2", "min"), seconds(0, "s"), seconds(1, "beats")
    (0.25, 120.0, None, None)
    """
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
    """Return a sentence about a pixel larger than a millimeter or smaller than a picometer, or "".

    >>> doubt({"Y": 0.1, "X": 0.1}, "cm"), doubt({"Y": 100.0, "X": 100.0}, "cm")
    ('', 'A pixel is 100 cm long along Y, more than a millimeter')
    """
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
    """Convert the pixel sizes of a file to one unit; return spacing, unit and notes.

    `sizes` maps Z, Y and X to (size, unit) in the file. The spacing has only positive sizes that
    are not in pixels, in the unit of X if it has one; the unit is "" if it is not a length.

    >>> calibrate({"X": (0.5, "um"), "Z": (1500, "nm")})
    ({'Z': 1.5, 'X': 0.5}, 'µm', ())
    """
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
