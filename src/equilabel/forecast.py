"""Forecast the memory that `segment` and `segment_chunked` take at most, from their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .options import ImageOptions, SegmentOptions, options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

# Bytes per pixel at most, besides the image, measured on images of 16 million pixels. Those of an
# option stand beside it.
LABELED = 8
KNOWN = {**options_of(SegmentOptions), **options_of(ImageOptions)}
EACH = {name: option.bytes_each for name, (_, option) in KNOWN.items() if option.bytes_each}
LOCAL, PER_OBJECT, METHODS, BALL, FLOODED = 4, 60, 12, 36, 28
BLOCK, SMOOTHED, SPLIT = 24, 16, 60  # bytes per element of a block; more if filtered, or split
FILTERS = ("sigma", "background", "opening", "closing")  # which use neighbors of a pixel
BASE, BALLS = 8_000_000, 40_000_000  # of any image; additional ones for opening or closing
SHARED = ({"opening", "closing"}, {"min_size", "max_size", "exclude_border"})  # share memory
NOTHING = (None, False, 0, 0.0, "0", "0px")


def of_pixels(given: Mapping[str, Any], each: int = LABELED) -> tuple[int, int]:
    """Return the bytes that `segment` takes besides the image: a constant, and bytes per pixel.

    `given` are its arguments; `each` is the number of bytes per pixel without optional stages.

    >>> of_pixels({"split_by": "shape"}), of_pixels({"sigma": 2, "split": True})
    ((8000000, 8), (8000000, 72))
    """
    asked = {name for name in EACH if given.get(name) not in (*NOTHING, KNOWN[name][0])}
    for name in sorted(asked):
        if not any(name in group and name != min(asked & group) for group in SHARED):
            each += EACH[name]
    each += LOCAL * (given.get("threshold") == "local")
    each += PER_OBJECT * (given.get("threshold") == "per_object" and given.get("split") in NOTHING)
    each += METHODS * (given.get("method", "auto") not in ("auto", "runs"))
    each += FLOODED * ({"grow", "mask"} <= asked)
    each += BALL * (given.get("background_method") == "rolling_ball")
    return _base(asked), each


def of_elements(given: Mapping[str, Any], bytes_each: int) -> tuple[int, int]:
    """Return the bytes that `segment_chunked` takes: a constant, and per element of current blocks.

    `given` are its arguments; `bytes_each` is the size of an element with all its channels.

    >>> of_elements({"sigma": "2px"}, 2)
    (8000000, 44)
    """
    asked = {name for name in FILTERS if given.get(name) not in NOTHING}
    filtered = SMOOTHED * bool(asked or given.get("threshold") == "local")
    split = given.get("split") not in NOTHING or given.get("threshold") == "per_object"
    filtered += SPLIT * split
    return _base(asked), BLOCK + filtered + 2 * bytes_each


def _base(asked: set[str]) -> int:
    return BASE + BALLS * bool(asked & {"opening", "closing"})
