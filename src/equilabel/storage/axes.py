"""Images once they are read: pixels, their axes in the order T, C, Z, Y, X, and what is known."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike

    from equilabel.array_types import HostArray

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
    """An image that was read from a file."""

    # C order, native byte order, values as stored: palettes are not applied, white-is-zero is not
    # inverted; one-bit images are bool, and float16 becomes float32
    pixels: HostArray
    axes: str  # one letter of T, C, Z, Y, X for each axis of `pixels`, in this order, ending in YX
    spacing: dict[str, float]  # pixel size in `unit` of those of Z, Y and X that are known
    unit: str  # of length, such as "µm", "nm" or "inch"; "" if unknown
    interval: float | None  # seconds between time points
    channels: tuple[str, ...]  # a name for each channel (one without axis C), or none
    series: int  # index of this image in the file
    series_count: int  # number of images in the file
    notes: tuple[str, ...]  # sentences about what was guessed or left out

    @classmethod
    def of(
        cls,
        pixels: HostArray,
        axes: str,
        *,
        spacing: Mapping[str, float] | None = None,
        unit: str = "",
        interval: float | None = None,
        channels: tuple[str, ...] = (),
        series: int = 0,
        series_count: int = 1,
        notes: tuple[str, ...] = (),
    ) -> TiffImage:
        """Return an image with what a file says about it, as far as it has the axes for that."""
        known = {axis: size for axis, size in (spacing or {}).items() if axis in axes}
        unit, interval = unit if known else "", interval if "T" in axes else None
        count = pixels.shape[axes.index("C")] if "C" in axes else 1
        channels = channels if len(channels) == count else ()
        return cls(pixels, axes, known, unit, interval, channels, series, series_count, notes)


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
    """Return the letter of the axis that a name means; "" if unknown.

    >>> letter_of("Time"), letter_of("z"), letter_of("position")
    ('T', 'Z', '')
    """
    word = re.sub(r"[^a-z]", "", name.lower())
    return next((letter for letter, names in NAMES.items() if word in names), "")


def canonical(pixels: HostArray, axes: str) -> tuple[HostArray, str, tuple[str, ...]]:
    """Return pixels with axes in the order T, C, Z, Y, X, their letters, and notes on guesses.

    `axes` has a letter for each axis, from tifffile. Axes of length 1 other than Y and X are
    dropped, and samples (S) become channels. Unknown letters become Z, T or C, whichever is free
    first, starting with the last axis. Raises UnreadableImageError if there is no image plane, or
    there are too many axes.

    >>> canonical(np.zeros((7, 1, 5, 4)), "QCYX")[1:]
    ('ZYX', ('7 planes read as depth, as the file does not name their axis; ...',))
    >>> canonical(np.zeros((2, 5, 4, 3)), "ZYXS")[0].shape
    (3, 2, 5, 4)
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
        pixels = np.moveaxis(pixels, letters.index("S"), -1)
        letters.remove("S")
        channel = letters.index("C")
        pixels = np.moveaxis(pixels, -1, channel + 1)
        shape = pixels.shape
        merged = (*shape[:channel], shape[channel] * shape[channel + 1], *shape[channel + 2 :])
        pixels = pixels.reshape(merged)
    letters, notes = named(letters, pixels.shape)
    order = sorted(range(len(letters)), key=lambda k: AXES.index(letters[k]))
    return pixels.transpose(order), "".join(letters[k] for k in order), notes


def named(letters: Sequence[str], shape: Sequence[int]) -> tuple[list[str], tuple[str, ...]]:
    """Return a letter of T, C, Z, Y, X for each axis, in order of the file, and notes on guesses.

    Raises UnreadableImageError if there are too many axes.

    >>> named("YXS", (5, 4, 3))
    (['Y', 'X', 'C'], ())
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
    what = ("planes read as depth", "images read as times", "planes read as channels")
    read = dict(zip("ZTC", what, strict=True))
    other = {"Z": "--stacked if they are times", "T": "--no-stacked if they are not times"}
    unnamed = letter in UNNAMED
    why = "the file does not name their axis" if unnamed else f"axis {letter!r} is not known"
    remedy = f"; pass {other[axis]}" if axis in other and (stackable or axis == "T") else ""
    return f"{length} {read[axis]}, as {why}{remedy}."
