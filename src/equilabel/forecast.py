"""How much memory `segment` and `segment_chunked` take at most, by their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Most bytes per pixel beside the image itself, measured on images of 16 million pixels.
LABELED = 8
STEPS = {  # of `segment`, where they are asked for
    "sigma": 4,
    "background": 4,
    "opening": 7,
    "closing": 7,
    "fill_holes": 2,
    "min_size": 6,
    "max_size": 6,
    "exclude_border": 6,
    "split": 100,
}
LOCAL, METHODS, BALL = 4, 12, 36
BLOCK, SMOOTHED = 24, 16  # bytes for an element of a block; more where it is filtered
FILTERS = ("sigma", "background", "opening", "closing")  # which look at what lies around a pixel
BASE, BALLS = 8_000_000, 60_000_000  # of any image; where it is opened or closed
SHARED = ({"opening", "closing"}, {"min_size", "max_size", "exclude_border"})  # memory used again
NOTHING = (None, False, 0, 0.0, "0", "0px")


def of_pixels(given: Mapping[str, Any], each: int = LABELED) -> tuple[int, int]:
    """Return the bytes that `segment` takes beside the image.

    Parameters
    ----------
    given : mapping of str to object
        Its arguments.
    each : int
        Bytes for a pixel, if no step is asked for.

    Returns
    -------
    base, each : int
        For any image, and for each pixel.

    Examples
    --------
    >>> of_pixels({}), of_pixels({"sigma": 2, "split": True})
    ((8000000, 8), (8000000, 112))
    """
    asked = {name for name in STEPS if given.get(name) not in NOTHING}
    for name in sorted(asked):
        if not any(name in group and name != min(asked & group) for group in SHARED):
            each += STEPS[name]
    each += LOCAL * (given.get("threshold") == "local")
    each += METHODS * (given.get("method", "auto") not in ("auto", "runs"))
    each += BALL * (given.get("background_method") == "rolling_ball")
    return _base(asked), each


def of_elements(given: Mapping[str, Any], bytes_each: int) -> tuple[int, int]:
    """Return the bytes that `segment_chunked` takes.

    Parameters
    ----------
    given : mapping of str to object
        Its arguments.
    bytes_each : int
        Of an element of the image, with all of its channels.

    Returns
    -------
    base, each : int
        For any image, and for each element of a block in work.

    Examples
    --------
    >>> of_elements({"sigma": "2px"}, 2)
    (8000000, 44)
    """
    asked = {name for name in FILTERS if given.get(name) not in NOTHING}
    filtered = SMOOTHED * bool(asked or given.get("threshold") == "local")
    return _base(asked), BLOCK + filtered + 2 * bytes_each


def _base(asked: set[str]) -> int:
    return BASE + BALLS * bool(asked & {"opening", "closing"})
