"""Overlays: the image in gray, with its objects outlined in color.

Images with more than two axes become a montage of planes, because a projection would show outlines
that no plane has. Planes are spread evenly: up to nine along one leading axis (time or depth),
three by three along two, the middle one along any further axis.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .files import replacing
from .numbers import draw_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

LONGEST = 2048  # most pixels of the longer side of a picture
GOOD = 1200  # small images are enlarged to about this side
CAPTION = 28, 110  # height and width in pixels of the caption of a plane
BAND = 512  # rows of a plane read at once
GAP = 6  # pixels between the planes of a montage
BRIGHTEST = 215  # gray of the brightest pixels: darker than outlines
GAMMA = 0.7  # below 1 makes dim objects visible beside bright ones
PALETTE = np.array(
    [
        (255, 225, 0),  # yellow
        (0, 229, 255),  # cyan
        (255, 77, 240),  # magenta
        (57, 255, 106),  # green
        (255, 140, 26),  # orange
        (122, 155, 255),  # blue
        (255, 75, 75),  # red
    ],
    dtype=np.uint8,
)


def write_overlay(
    path: Path | str,
    image: HostArray,
    labels: NDArray[np.integer],
    *,
    spacing: Sequence[float] | None = None,
    numbered: bool = True,
) -> None:
    """Write a PNG of an image with the outlines of its objects, and their numbers.

    `image` is an (..., Y, X) array, or an object whose rows are read by indexing; NaN is black.
    `labels` has the same shape. `spacing` is the pixel size along all axes or the last ones: rows
    or columns are repeated until pixels are nearly square. Gray is stretched from the 0.5th to the
    99.8th percentile. Large images are reduced by blocks to at most 2048 pixels (gray by the mean,
    labels by the maximum, so that no object is lost), small ones are enlarged by a whole factor.
    Outlines are inside their objects, and neighboring objects have different colors. Raises
    ValueError if shapes differ, or there are fewer than two axes or no pixels.

    >>> image = np.zeros((40, 60), np.uint8)
    >>> image[10:20, 10:30] = 200
    >>> write_overlay("overlay.png", image, (image > 0).astype(np.int32))  # doctest: +SKIP
    """
    from PIL import Image

    image, labels = (a if hasattr(a, "shape") else np.asarray(a) for a in (image, labels))
    if image.shape != labels.shape:
        message = (
            f"labels must have the shape of the image, {image.shape}; got {labels.shape}. "
            "Pass one channel."
        )
        raise ValueError(message)
    if image.ndim < 2 or image.size == 0:
        message = f"image must have at least two axes and one element; got shape {image.shape}."
        raise ValueError(message)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are drawn too
        picture = _draw(image, labels, _proportions(spacing), numbered=numbered)
    with replacing(Path(path)) as unfinished:
        Image.fromarray(picture).save(unfinished, format="PNG")


def _draw(
    image: HostArray, labels: HostArray, repeat: tuple[int, int], *, numbered: bool
) -> NDArray[np.uint8]:
    """Draw the chosen planes side by side; `repeat` makes their pixels nearly square."""
    height, width = image.shape[-2] * repeat[0], image.shape[-1] * repeat[1]
    chosen, columns = _planes(image.shape[:-2], height / width)
    rows = -(-len(chosen) // columns)
    sides = list(zip(image.shape[-2:], repeat, (rows, columns), strict=True))
    step = next(
        step
        for step in count(1)
        if all(-(-side // step) * r * n + GAP * (n - 1) <= LONGEST for side, r, n in sides)
    )
    factor = min(16, max(1, round(GOOD / max(height * rows, width * columns))))

    grays = [_reduced(np.add, image, index, step, np.float32) for index in chosen]
    planes = [_reduced(np.maximum, labels, index, step, labels.dtype) for index in chosen]
    shades, known, colors = _shades(grays), *_colors(planes)
    panels, corner = [], CAPTION if len(chosen) > 1 else (0, 0)

    def color_of(numbers: HostArray) -> NDArray[np.uint8]:
        return PALETTE[_lookup(numbers, known, colors)]

    for shade, plane in zip(shades, planes, strict=True):
        panel = np.repeat(_enlarge(shade, factor, repeat)[..., None], 3, axis=2)
        plane = _enlarge(plane, factor, repeat)
        edge = _edges(plane, min(4, (factor + 1) // 2))
        panel[edge] = color_of(plane[edge])
        if numbered:
            panel = draw_numbers(panel, plane, color_of, kept_free=corner)
        panels.append(panel)
    if len(panels) == 1:
        return panels[0]
    return _montage(panels, [_caption(index, image.shape) for index in chosen], columns)


# ---------------------------------------------------------------------------- planes and sizes


def _proportions(spacing: Sequence[float] | None) -> tuple[int, int]:
    """Return how often to repeat rows and columns so that pixels are nearly square."""
    if spacing is None or len(spacing) < 2:
        return 1, 1
    down, across = float(spacing[-2]), float(spacing[-1])
    if not (np.isfinite([down, across]).all() and down > 0 and across > 0):
        return 1, 1
    return min(16, max(1, round(down / across))), min(16, max(1, round(across / down)))


def _planes(leading: tuple[int, ...], proportion: float) -> tuple[list[tuple[int, ...]], int]:
    """Choose planes, whose height to width is `proportion`; return leading indices and columns."""
    if not leading:
        return [()], 1
    if len(leading) == 1:
        shown = min(leading[0], 9)
        columns = min(range(1, shown + 1), key=lambda n: (max(n, -(-shown // n) * proportion), -n))
        columns = -(-shown // -(-shown // columns))  # without empty columns
        return [(index,) for index in _spread(leading[0], shown)], columns
    across = _spread(leading[-1], 3)
    middle = tuple(size // 2 for size in leading[:-2])
    return [(*middle, i, j) for i in _spread(leading[-2], 3) for j in across], len(across)


def _spread(size: int, most: int) -> list[int]:
    """Choose at most `most` of `size` indices, evenly: the middles of equal parts."""
    parts = min(size, most)
    return [(2 * part + 1) * size // (2 * parts) for part in range(parts)]


def _reduced(
    combine: np.ufunc, image: Any, index: tuple[int, ...], step: int, dtype: npt.DTypeLike
) -> HostArray:
    """Reduce a plane in bands of rows, so that a plane in a file is never in memory as a whole."""
    rows = step * max(1, BAND // step)
    bands = (slice(top, top + rows) for top in range(0, image.shape[-2], rows))
    parts = [_blocks(combine, np.asarray(image[(*index, band)]), step, dtype) for band in bands]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _blocks(combine: np.ufunc, plane: HostArray, step: int, dtype: npt.DTypeLike) -> HostArray:
    """Reduce blocks of `step` by `step` pixels, also incomplete ones; sums become means."""
    if step == 1:
        return plane.astype(dtype)
    for _ in range(2):  # rows, then columns
        reduced = plane[::step].astype(dtype)
        for start in range(1, min(step, len(plane))):
            part = plane[start::step]
            combine(reduced[: len(part)], part, out=reduced[: len(part)], casting="unsafe")
        if combine is np.add:
            starts = np.arange(0, len(plane), step)
            reduced /= np.diff(starts, append=len(plane))[:, None]
        plane = reduced.T
    return plane


def _enlarge(plane: HostArray, factor: int, repeat: tuple[int, int]) -> HostArray:
    return plane.repeat(factor * repeat[0], axis=0).repeat(factor * repeat[1], axis=1)


# ---------------------------------------------------------------------------- gray and outlines


def _shades(grays: list[NDArray[np.float32]]) -> list[NDArray[np.uint8]]:
    """Stretch the contrast of all planes equally, and brighten dark parts."""
    values = np.concatenate([gray[np.isfinite(gray)] for gray in grays])
    black, white = np.percentile(values, (0.5, 99.8)) if values.size else (0, 0)
    if black == white and values.size:  # sparse images: nearly all pixels are equal
        black, white = values.min(), values.max()
    scale = 1 / (white - black) if white > black else 0
    levels = [np.nan_to_num((gray.clip(black, white) - black) * scale) for gray in grays]
    return [(level**GAMMA * BRIGHTEST).astype(np.uint8) for level in levels]


def _edges(plane: HostArray, width: int) -> NDArray[np.bool_]:
    """Mark the outermost `width` pixels of each object; the border of the picture is no edge."""
    edge = np.zeros(plane.shape, dtype=bool)
    for distance in range(1, width + 1):
        down = plane[distance:] != plane[:-distance]
        edge[distance:] |= down
        edge[:-distance] |= down
        across = plane[:, distance:] != plane[:, :-distance]
        edge[:, distance:] |= across
        edge[:, :-distance] |= across
    edge &= plane != 0
    return edge


def _colors(planes: list[HostArray]) -> tuple[HostArray, NDArray[np.intp]]:
    """Return sorted labels and their colors, such that neighboring objects differ if possible.

    Neighbors are found on a coarse map of nearest objects; objects that are not on it are colored
    by their number.
    """
    from scipy.ndimage import distance_transform_edt

    found = [np.empty((0, 2), dtype=planes[0].dtype)]
    for plane in planes:
        coarse = plane[:: -(-plane.shape[0] // 512), :: -(-plane.shape[1] // 512)]
        if not coarse.any():
            continue
        nearest = distance_transform_edt(coarse == 0, return_distances=False, return_indices=True)
        owner = coarse[tuple(nearest)]
        for one, other in ((owner[1:], owner[:-1]), (owner[:, 1:], owner[:, :-1])):
            found += [
                np.stack([one, other], -1)[one != other],
                np.stack([other, one], -1)[one != other],
            ]
        found.append(np.repeat(np.unique(owner)[:, None], 2, axis=1))  # labels without neighbors
    pairs = np.unique(np.concatenate(found), axis=0)
    known, starts = np.unique(pairs[:, 0], return_index=True)
    neighbors = np.split(np.searchsorted(known, pairs[:, 1]), starts[1:])
    colors = np.full(known.size, -1, dtype=np.intp)
    used = np.zeros(len(PALETTE), dtype=np.intp)
    for number in range(known.size):
        taken = np.bincount(colors[neighbors[number]] + 1, minlength=len(PALETTE) + 1)[1:]
        colors[number] = np.lexsort((used, taken))[0]
        used[colors[number]] += 1
    return known, colors


def _lookup(labels: HostArray, known: HostArray, colors: NDArray[np.intp]) -> NDArray[np.intp]:
    if not known.size:
        return (labels % len(PALETTE)).astype(np.intp)
    place = np.searchsorted(known, labels).clip(max=known.size - 1)
    return np.where(known[place] == labels, colors[place], labels % len(PALETTE)).astype(np.intp)


# --------------------------------------------------------------------------------------- montage


def _montage(
    panels: list[NDArray[np.uint8]], captions: list[str], columns: int
) -> NDArray[np.uint8]:
    """Arrange panels of one size in a grid, row by row, each with its caption."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = panels[0].shape[:2]
    rows = -(-len(panels) // columns)
    size = rows * (height + GAP) - GAP, columns * (width + GAP) - GAP
    sheet = Image.new("RGB", size[::-1], (40, 40, 40))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(18)
    for number, (panel, caption) in enumerate(zip(panels, captions, strict=True)):
        x, y = number % columns * (width + GAP), number // columns * (height + GAP)
        sheet.paste(Image.fromarray(panel), (x, y))
        draw.text((x + 6, y + 4), caption, (255, 255, 255), font, stroke_width=2, stroke_fill=0)
    return np.asarray(sheet)


def _caption(index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    return ", ".join(f"{place + 1}/{size}" for place, size in zip(index, shape, strict=False))
