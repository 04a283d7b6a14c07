"""Opening, closing and filling holes of a mask."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import fetch, filters, is_on_cuda, library, passes, resolve, threads
from equilabel.domains.grid import Foreground
from equilabel.labeling import paint, problem_of, solve
from equilabel.labeling.output import check_fits
from equilabel.labeling.problem import make_grid
from equilabel.runs.labeled_runs import LabeledRuns

from .binarization import ThresholdedImage, from_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array, HostArray

    Work = Callable[[Array, Sequence[float]], Array]


# ---- Opening and closing of a mask with a ball, from distances

BLOCK = 2**20  # pixels of a block: a quarter of a second, so that cancelling is soon noticed
ROUNDING = 1 + 1e-9  # so that distances equal to the radius are within it


def close_mask(mask: Array, radii: Sequence[float]) -> Array:
    """Close a mask: gaps, cracks and bays that are too narrow for a ball become foreground.

    `radii` of the ball are in pixels along each axis: an ellipsoid if they differ, and 0 along axes
    that are not connected, such as time. A background pixel stays if a ball that contains its
    center contains no center of the foreground. Everything beyond the border is background.

    >>> close_mask(np.array([[1, 1, 0, 1, 1, 0, 0, 0]], dtype=bool), (0, 1)).astype(int)
    array([[1, 1, 1, 1, 1, 0, 0, 0]])
    """
    if max(radii, default=0) < 1 or not mask.any():  # the ball does not reach a neighbor
        return mask
    margins = [math.ceil(radius) + 1 if radius >= 1 else 0 for radius in radii]
    padded = np.pad(mask, [(margin, margin) for margin in margins])
    closed = _apply(_close, padded, radii)
    return closed[tuple(slice(m, m + side) for m, side in zip(margins, mask.shape, strict=True))]


def open_mask(mask: Array, radii: Sequence[float]) -> Array:
    """Open a mask: specks, spurs and bridges that are too narrow for a ball become background.

    A foreground pixel stays if a ball around a pixel of the image contains its center and no
    background. Balls may reach beyond the border: objects are not eroded from there.

    >>> open_mask(np.array([[0, 1, 0, 0, 1, 1, 1, 0]], dtype=bool), (0, 1)).astype(int)
    array([[0, 0, 0, 0, 1, 1, 1, 0]])
    """
    if max(radii, default=0) < 1 or mask.all():
        return mask
    return _apply(_open, mask, radii)


def _apply(work: Work, mask: Array, radii: Sequence[float]) -> Array:
    """Apply `work` to each image along axes of radius 0, else to blocks in threads."""
    flat = next((axis for axis, radius in enumerate(radii) if radius < 1), None)
    if flat is not None:
        inner = [radius for axis, radius in enumerate(radii) if axis != flat]
        images = np.moveaxis(mask, flat, 0)
        out = library(mask).empty_like(images)

        def apply_to(number: int) -> None:
            out[number] = _apply(work, images[number], inner) if inner else images[number]

        numbers = [(number,) for number in range(len(images))]
        if is_on_cuda(mask) or mask.ndim < 3:
            for number in numbers:
                apply_to(*number)
        else:
            threads.each(apply_to, numbers)
        return np.moveaxis(out, 0, flat)
    return _by_blocks(work, mask, radii)


def _by_blocks(work: Work, mask: Array, radii: Sequence[float]) -> Array:
    """Apply `work` to blocks with a halo, in threads: a run can be cancelled between blocks."""
    if is_on_cuda(mask):
        return work(mask, radii)
    halo = [2 * math.ceil(radius) for radius in radii]  # pixels depend on others up to here
    out = np.empty_like(mask)

    def fill_block(*block: tuple[int, int]) -> None:
        ends = list(zip(block, halo, strict=True))
        outer = tuple(slice(max(0, start - far), stop + far) for (start, stop), far in ends)
        inner = tuple(
            slice(start - wide.start, stop - wide.start)
            for (start, stop), wide in zip(block, outer, strict=True)
        )
        out[tuple(slice(*end) for end in block)] = work(mask[outer], radii)[inner]

    threads.each(fill_block, list(product(*cut(mask.shape, halo))))
    return out


def cut(shape: Sequence[int], halo: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Cut each axis into pieces, so that a block with its halo has up to `BLOCK` pixels.

    Blocks are larger if their sides would be shorter than four times the halo.
    """
    counts = [1] * len(shape)

    def sides() -> list[int]:
        return [-(-length // count) for length, count in zip(shape, counts, strict=True)]

    while math.prod(a + 2 * b for a, b in zip(sides(), halo, strict=True)) > BLOCK:
        wide = [a / b if a >= 8 * b else 0.0 for a, b in zip(sides(), halo, strict=True)]
        axis = int(np.argmax(wide))
        if not wide[axis]:
            break
        counts[axis] += 1
    ends = [
        [length * part // count for part in range(count + 1)]
        for length, count in zip(shape, counts, strict=True)
    ]
    return [list(pairwise(each)) for each in ends]


def _close(mask: Array, radii: Sequence[float]) -> Array:
    """Dilate, then erode by the same ellipsoid; nothing is eroded from beyond the border."""
    if not mask.any():
        return mask
    dilated = _near(mask, radii)
    threads.check()
    return dilated if dilated.all() else ~_near(~dilated, radii)


def _open(mask: Array, radii: Sequence[float]) -> Array:
    """Erode, but not from beyond the border, then dilate by the same ellipsoid."""
    if mask.all():
        return mask
    eroded = ~_near(~mask, radii)
    threads.check()
    return _near(eroded, radii) if eroded.any() else eroded


def _near(mask: Array, radii: Sequence[float]) -> Array:
    """Select the pixels that have a pixel of the mask within the ellipsoid around them."""
    scale = max(radii)
    sampling = [scale / radius for radius in radii]
    if is_on_cuda(mask) and mask.ndim in (2, 3):  # CuPy supports no others
        distances = filters(mask).distance_transform_edt(
            ~mask, sampling=sampling, float64_distances=True
        )
        return distances <= scale * ROUNDING
    from .cpu.distances import find_near

    host: HostArray = np.ascontiguousarray(fetch(mask))
    limit, places = (scale * ROUNDING) ** 2, np.arange(max(host.shape) + 1)
    squares = np.array([(places * length) ** 2 for length in sampling], np.float64)
    dtype = np.dtype(np.float64 if set(sampling) != {1.0} else np.int32)  # whole numbers
    far, limit = dtype.type(limit + 1), dtype.type(limit)
    costs = np.minimum(squares, far).astype(dtype)[:, None].repeat(2, axis=1)
    near, cells = np.empty(host.shape, np.bool_), (~host).view(np.uint8).reshape(-1)
    rooms = (np.empty(host.size, dtype) for _ in range(2))
    find_near(cells, np.array(host.shape), costs, far, limit, *rooms, near.reshape(-1))
    return library(mask).asarray(near)


# ---- Filling holes of a mask


def fill_mask(mask: Array, *, stacked: bool = False) -> ThresholdedImage:
    """Fill the holes of a mask: background not connected through faces to the border of the image.

    As `scipy.ndimage.binary_fill_holes` does for each image of a stack.
    """
    gaps = Foreground("<=", np.uint8(0), values=False)
    problem = problem_of(mask.view(np.uint8), gaps, 1, stacked, device=resolve("auto", mask))
    if 0 in mask.shape or 1 in mask.shape[int(stacked) :]:  # all pixels are at the border
        return from_mask(mask)
    if is_on_cuda(mask):
        check_fits(problem, problem.device)
        outside = passes("segmentation.holes", "cuda").find_outside(make_grid(problem))
        return ThresholdedImage(outside.reshape(mask.shape), gaps)
    found = solve(problem, counted=True, painted=False)
    outside = np.zeros(found.count + 1, np.int32)
    LabeledRuns.of(found.runs, mask.shape, found.count).mark_border(int(stacked), outside)
    outside[0] = 0
    threads.check()
    room = problem._replace(out=np.empty(mask.shape, np.uint8))
    return ThresholdedImage(paint(room, found, outside).labels, gaps)
