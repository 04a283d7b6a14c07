"""Draw the numbers of objects in a picture, as many as can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

SIZE = 15  # pixels of the font
STROKE = 2  # pixels of the dark outline of digits
COARSE = 1024  # pixels of the longer side of the map that is searched for places
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
    *,
    kept_free: tuple[int, int] = (0, 0),
) -> NDArray[np.uint8]:
    """Return an (M, N, 3) picture with the numbers of objects, which do not overlap.

    `plane` has the (M, N) labels; `color_of` returns colors for an array of labels. A number is
    drawn in the middle of its object; if the object is too small, beside it where no other object
    is hidden; otherwise not at all. Larger objects come first. No number is drawn in the upper left
    corner of height and width `kept_free`.
    """
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.fromarray(panel)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(SIZE)
    taken = np.zeros(plane.shape, dtype=bool)
    taken[: kept_free[0], : kept_free[1]] = True
    for place in _places(plane):
        text = str(place.label)
        left, top, right, bottom = (int(edge) for edge in font.getbbox(text, stroke_width=STROKE))
        height, width = bottom - top, right - left
        for y, x, may_cover in _corners(place, height, width, plane.shape):
            box = slice(y, y + height), slice(x, x + width)
            hides = not may_cover and plane[box].any()
            if y < 0 or x < 0 or hides or taken[box].any():
                continue
            taken[box] = True
            fill = tuple(color_of(np.array([place.label]))[0].tolist())
            at = x - left, y - top
            draw.text(at, text, fill, font, stroke_width=STROKE, stroke_fill=(0, 0, 0))
            break
    return np.asarray(picture)


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


def _places(plane: HostArray) -> list[Place]:
    """Return the place of each object in a coarse map, the largest objects first."""
    from scipy.ndimage import distance_transform_edt

    stride = -(-max(plane.shape) // COARSE)
    coarse = np.pad(
        plane[::stride, ::stride], 1, mode="edge"
    )  # the border of a picture is not an edge
    inside = coarse != 0
    inside[1:] &= coarse[1:] == coarse[:-1]
    inside[:, 1:] &= coarse[:, 1:] == coarse[:, :-1]
    if inside.all() or not coarse.any():
        reach = np.where(coarse != 0, float(min(coarse.shape)), 0.0)
    else:
        reach = distance_transform_edt(inside)
    reach, coarse = reach[1:-1, 1:-1], coarse[1:-1, 1:-1]
    rows, columns = np.nonzero(coarse)
    labels, reaches = coarse[rows, columns], reach[rows, columns]
    order = np.lexsort((reaches, labels))
    last = order[np.flatnonzero(np.diff(labels[order], append=-1))]
    largest = last[np.lexsort((labels[last], -reaches[last]))][:MOST]
    return [
        Place(
            int(labels[k]),
            int(rows[k]) * stride,
            int(columns[k]) * stride,
            float(reaches[k]) * stride,
        )
        for k in largest
    ]
