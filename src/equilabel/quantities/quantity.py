"""A number with its unit, parsed from text."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from equilabel.arguments import check_number, check_text, shown
from equilabel.storage.units import LENGTHS, PIXELS, SPELLINGS, spelled

from .derived import PIXEL, POWERS

LONGEST = 100  # characters of a length
KINDS = {1: "a length", 2: "an area", 3: "a volume"}
_FORM = re.compile(
    r"\s*(?P<number>[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?|nan\b|inf(?:inity)?\b))\s*"
    r"(?:(?P<unit>[^\W\d_]+)(?:(?:\s*(?:\^|\*\*)\s*)?(?P<power>[123]))?)?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quantity:
    """A number of pixels, a length, an area or a volume."""

    value: Fraction  # exactly as written; 0 or more
    unit: str  # "px", or a name in `equilabel.storage.units.LENGTHS`
    power: int  # 1: length, 2: area, 3: volume, 0: pixels of either kind, such as "30px"

    @property
    def is_physical(self) -> bool:
        """True if its number of pixels depends on the pixel size."""
        return self.unit != PIXEL

    def __str__(self) -> str:
        """Return text that can be parsed again: "2 px", "5 µm²"."""
        return f"{float(self.value):.15g} {self.unit}{POWERS.get(self.power, '')}"


def parse(name: str, value: object) -> Quantity:
    """Parse a length or a size: a number of pixels, or text with a number and a unit.

    Raises TypeError for other types; ValueError if it is negative or not finite, or the text is
    wrong or has an unknown unit. `name` is the parameter in messages.

    >>> print(parse("sigma", 2), parse("sigma", "0.3um"), parse("min_size", "5 um^2"), sep=", ")
    2 px, 0.3 µm, 5 µm²
    >>> parse("sigma", "0.3 mikron")
    Traceback (most recent call last):
    ...
    ValueError: sigma must be in px or one of ['km', ...]; got '0.3 mikron'. Did you mean 'µm'?
    """
    if isinstance(value, str):
        return _read(name, value)
    kinds, remedy = "a number of pixels, or text such as '0.3um'", "Pass 0 for none."
    number = check_number(name, value, 0, finite=True, kinds=kinds, remedy=remedy)
    return Quantity(Fraction(number), PIXEL, 0)


def _read(name: str, text: str) -> Quantity:
    known = unicodedata.normalize("NFKC", text)  # "µm²" becomes "μm2"
    found = _FORM.fullmatch(known) if len(known) <= LONGEST else None
    if found is None:
        remedy = "Write a point in place of the comma" if "," in text else "Write '2px' or '0.3um'"
        message = (
            f"{name} must be a number and, if it is not in pixels, its unit; got {shown(text)}. "
            f"{remedy}."
        )
        raise ValueError(message)
    if not 0 <= float(found["number"]) < math.inf:
        message = f"{name} must be 0 or more, and finite; got {shown(text)}. Pass 0 for none."
        raise ValueError(message)
    word, power = spelled(found["unit"] or ""), int(found["power"] or 0)
    if word.lower() in PIXELS:
        return Quantity(Fraction(found["number"]), PIXEL, power)
    if word not in LENGTHS:
        known = f"px or one of {list(LENGTHS)}"
        message = f"{name} must be in {known}; got {shown(text)}. {_suggest(word)}"
        raise ValueError(message)
    return Quantity(Fraction(found["number"]), word, power or 1)


def known_unit(name: str, unit: str | None) -> str | None:
    """Return a unit of length as spelled in this package; None for pixels or None.

    Raises ValueError for an unknown unit; `name` is the parameter in the message.

    >>> known_unit("unit", "micron"), known_unit("unit", None), known_unit("unit", "px")
    ('µm', None, None)
    """
    word = "" if unit is None else spelled(check_text(name, unit))
    if word.lower() in PIXELS:
        return None
    if word not in LENGTHS:
        message = f"{name} must be one of {list(LENGTHS)}; got {shown(unit)}. {_suggest(word)}"
        raise ValueError(message)
    return word


def _suggest(word: str) -> str:
    known = [name for name in (*LENGTHS, *SPELLINGS) if spelled(name) in LENGTHS and len(name) > 1]
    near = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f"Did you mean {spelled(near[0])!r}?" if near else "Pass for instance 'um'."
