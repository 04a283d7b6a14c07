"""Draw the numbers of objects in a picture, as many as can be read."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

SIZE = 15  # pixels of the font
STROKE = 2  # pixels of the dark outline of digits
SHADES = 5  # of a color, for smooth digits: the last one is the color itself
COARSE = 512  # pixels of the longer side of the map that is searched for places
DENSE = 2**22  # labels below this are looked up in a table
MOST = 5000  # objects tried, the largest first; more would not be readable


class Place(NamedTuple):
    """The pixel of an object that is furthest from its edge; `reach` is that distance in pixels."""

    label: int
    y: int
    x: int
    reach: float


def draw_numbers(
    panel: NDArray[np.uint8],
    plane: HostArray,
    color_of: Callable[[HostArray], NDArray[np.uint8]],
    factors: tuple[int, int],
    *,
    kept_free: tuple[int, int] = (0, 0),
) -> list[int]:
    """Draw numbers of objects, which do not overlap, in a picture of palette indices; list them.

    `plane` has the labels of the (M, N) `panel`, before rows and columns were repeated by
    `factors`; `color_of` returns the indices of the darkest shades of the colors of labels. A
    number is drawn in the middle of its object; if the object is too small, beside it where no
    other object is hidden; otherwise not at all. Larger objects come first. No number is drawn in
    the upper left corner of height and width `kept_free`.
    """
    down, across = factors
    taken = np.zeros(panel.shape, dtype=bool)
    taken[: kept_free[0], : kept_free[1]] = True
    places = _places(plane, factors)
    drawn, colors = [], color_of(np.array([place.label for place in places], plane.dtype))
    for place, color in zip(places, colors.tolist(), strict=True):
        dark, levels = _number(str(place.label))
        height, width = dark.shape
        for y, x, may_cover in _corners(place, height, width, panel.shape):
            if y < 0 or x < 0:
                continue
            box = slice(y, y + height), slice(x, x + width)
            if taken[box].any():
                continue
            under = plane[y // down : (y + height - 1) // down + 1]
            if not may_cover and under[:, x // across : (x + width - 1) // across + 1].any():
                continue
            taken[box] = True
            part = panel[box]
            part[dark] = 0
            np.copyto(part, levels + np.uint8(color - 1), where=levels > 0)
            drawn.append(place.label)
            break
    return drawn


@lru_cache(maxsize=10_000)
def _number(text: str) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Return where a number is dark, and the shade of its digits there, 0 outside, (M, N)."""
    glyphs = _glyphs()
    starts = np.cumsum([0, *(glyphs[each][0] for each in text)])
    dark = np.zeros((glyphs["0"][1].shape[0], int(starts[-1]) + 2 * STROKE), bool)
    levels = np.zeros(dark.shape, np.uint8)
    for each, start in zip(text, starts.tolist(), strict=False):
        _, stroke, fill = glyphs[each]
        width = stroke.shape[1]
        dark[:, start : start + width] |= stroke
        np.maximum(levels[:, start : start + width], fill, out=levels[:, start : start + width])
    return dark, levels


@cache
def _glyphs() -> dict[str, tuple[int, NDArray[np.bool_], NDArray[np.uint8]]]:
    """Map digits to the pixels to the next one, their dark outlines and their shades, (M, N)."""
    from PIL import Image, ImageDraw, ImageFont

    font, found = ImageFont.load_default(SIZE), {}
    _, top, _, bottom = (int(edge) for edge in font.getbbox("0123456789-", stroke_width=STROKE))
    for each in "0123456789-":
        advance = round(font.getlength(each))
        size, at = (advance + 2 * STROKE, bottom - top), (STROKE, -top)
        drawn = []
        for stroke in (STROKE, 0):
            glyph = Image.new("L", size)
            ImageDraw.Draw(glyph).text(at, each, 255, font, stroke_width=stroke)
            drawn.append(np.asarray(glyph))
        levels = (drawn[1].astype(int) * SHADES + 127) // 255
        found[each] = advance, drawn[0] > 127, levels.astype(np.uint8)
    return found


def _corners(
    place: Place, height: int, width: int, shape: tuple[int, ...]
) -> Iterator[tuple[int, int, bool]]:
    """Yield possible upper left corners of a number, and whether it may cover objects."""
    y = min(max(place.y - height // 2, 0), shape[0] - height)
    if 2 * place.reach >= height:
        yield y, min(max(place.x - width // 2, 0), shape[1] - width), True
        return
    gap = int(place.reach) + 2
    if place.x + gap + width <= shape[1]:
        yield y, place.x + gap, False
    yield y, place.x - gap - width, False


def compact(labels: HostArray) -> tuple[HostArray, NDArray[np.intp]]:
    """Return the sorted labels of an array, and for each element which of them it is.

    >>> compact(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    if not labels.size or labels.min() < 0 or labels.max() >= DENSE:
        known, numbers = np.unique(labels, return_inverse=True)
        return known, numbers.reshape(labels.shape)
    seen = np.zeros(int(labels.max()) + 1, bool)
    seen[labels] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[labels]


def _places(plane: HostArray, factors: tuple[int, int]) -> list[Place]:
    """Return the place of each object in a coarse map, the largest objects first."""
    from scipy.ndimage import distance_transform_cdt

    stride = -(-max(plane.shape) // COARSE)
    coarse = np.ascontiguousarray(plane[::stride, ::stride])
    inside = coarse != 0
    inside[1:] &= coarse[1:] == coarse[:-1]
    inside[:, 1:] &= coarse[:, 1:] == coarse[:, :-1]
    if inside.all() or not coarse.any():
        reach = np.where(coarse != 0, min(coarse.shape), 0)
    else:  # the border of a picture is not an edge
        reach = distance_transform_cdt(inside, "chessboard")
    places = np.flatnonzero(coarse)
    labels, numbers = compact(coarse.ravel()[places])
    depths = reach.ravel()[places].astype(np.uint16)
    order = np.argsort(depths, kind="stable")
    reaches = np.empty(labels.size, np.uint16)
    reaches[numbers[order]] = depths[order]  # the largest of each object stays
    deepest = np.flatnonzero(depths == reaches[numbers])
    deepest = deepest[np.argsort(numbers[deepest], kind="stable")]
    counts = np.bincount(numbers[deepest])
    middle = deepest[np.cumsum(counts) - (counts + 1) // 2]
    rows, columns = np.divmod(places[middle], coarse.shape[1])
    down, across = factors
    return [
        Place(
            int(labels[k]),
            int(rows[k]) * stride * down + down // 2,
            int(columns[k]) * stride * across + across // 2,
            float(reaches[k]) * stride * min(factors),
        )
        for k in np.argsort(-reaches.astype(int), kind="stable")[:MOST].tolist()
    ]
