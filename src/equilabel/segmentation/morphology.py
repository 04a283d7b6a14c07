"""Opening, closing and filling holes of a mask, and growing objects."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_flag
from equilabel.devices import fetch, is_on_cuda, library, passes, resolve, threads
from equilabel.domains.grid import Foreground
from equilabel.labeling import paint, problem_of, solve
from equilabel.labeling.output import check_fits
from equilabel.labeling.problem import make_grid
from equilabel.measuring import check_spacing
from equilabel.measuring.checks import check_labels

from .checks import beside, finite, place_like
from .filters import in_finest_pixels
from .thresholds import ThresholdedImage, from_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.quantities import Length


# ---- Opening and closing of a mask with a ball, from distances

BLOCK = 2**20  # pixels of a block, if it has four halos: a quarter of a second
SEVERAL = 8  # blocks that are as good as more of them
ROUNDING = 1 + 1e-9  # so that distances equal to the radius are within it


def close_mask(mask: Array, radii: Sequence[float]) -> Array:
    """Close a mask: gaps, cracks and bays that are too narrow for a ball become foreground.

    `radii` of the ball are in pixels along each axis, 0 along axes that are not connected. A
    background pixel stays if a ball that contains its center contains no center of the foreground.
    Everything beyond the border is background.

    >>> close_mask(np.array([[1, 1, 0, 1, 1, 0, 0, 0]], dtype=bool), (0, 1)).astype(int)
    array([[1, 1, 1, 1, 1, 0, 0, 0]])
    """
    if max(radii, default=0) < 1 or not mask.any():  # the ball does not reach a neighbor
        return mask
    margins = [math.ceil(radius) + 1 if radius >= 1 else 0 for radius in radii]
    padded = np.pad(mask, [(margin, margin) for margin in margins])
    closed = _apply(padded, radii)
    return closed[tuple(slice(m, m + side) for m, side in zip(margins, mask.shape, strict=True))]


def open_mask(mask: Array, radii: Sequence[float]) -> Array:
    """Open a mask: specks, spurs and bridges that are too narrow for a ball become background.

    A foreground pixel stays if a ball around a pixel of the image contains its center and no
    background. Balls may reach beyond the border.

    >>> open_mask(np.array([[0, 1, 0, 0, 1, 1, 1, 0]], dtype=bool), (0, 1)).astype(int)
    array([[0, 0, 0, 0, 1, 1, 1, 0]])
    """
    if max(radii, default=0) < 1 or mask.all():
        return mask
    return ~_apply(~mask, radii)


def _apply(mask: Array, radii: Sequence[float]) -> Array:
    """Close an image in blocks, in threads; a run can be called off between two of them."""
    if is_on_cuda(mask):
        return _close(mask, radii)
    halos = [2 * math.ceil(radius) if radius >= 1 else 0 for radius in radii]
    most, wanted = [], max(SEVERAL, mask.size // (4 * BLOCK))  # blocks
    for side, halo in zip(mask.shape, halos, strict=True):  # places that others depend on
        room = BLOCK * side // mask.size - 2 * halo
        most.append(-(-side // max(room, 4 * halo, 1)))
    axis = max(range(mask.ndim), key=lambda k: (min(most[k], wanted), -halos[k]))
    halo, side, count = halos[axis], mask.shape[axis], most[axis]
    ends = [side * part // count for part in range(count + 1)]
    out, before = np.empty_like(mask), (slice(None),) * axis

    def fill_block(start: int, stop: int) -> None:
        low = max(start - halo, 0)
        closed = _close(mask[(*before, slice(low, stop + halo))], radii)
        out[(*before, slice(start, stop))] = closed[(*before, slice(start - low, stop - low))]

    threads.each(fill_block, list(pairwise(ends)))
    return out


def _close(mask: Array, radii: Sequence[float]) -> Array:
    """Dilate, then erode by the same ellipsoid; nothing is eroded from beyond the border."""
    if not mask.any():
        return mask
    dilated = _near(mask, radii)
    threads.check()
    return dilated if dilated.all() else ~_near(~dilated, radii)


def _near(mask: Array, radii: Sequence[float]) -> Array:
    """Select the pixels that have a pixel of the mask within the ellipsoid around them."""
    scale = max(radii)
    sampling = [scale / radius if radius >= 1 else 2 * scale for radius in radii]
    if is_on_cuda(mask):
        return _expand(mask.view(np.uint8), scale * ROUNDING, sampling).view(np.bool_)
    from .cpu.parts import find_near

    limit, places = (scale * ROUNDING) ** 2, np.arange(max(mask.shape) + 1)
    squares = np.array([(places * length) ** 2 for length in sampling], np.float64)
    whole = {1.0, 2 * scale}.issuperset(sampling)
    dtype = np.dtype(np.int32 if whole else np.float64)
    far, limit = dtype.type(limit + 1), dtype.type(limit)
    costs = np.minimum(squares, far).astype(dtype)[:, None].repeat(2, axis=1)
    near, cells = np.empty(mask.shape, np.bool_), (~mask).view(np.uint8).reshape(-1)
    rooms = (np.empty(mask.size, dtype) for _ in range(2))
    find_near(cells, np.array(mask.shape), costs, far, limit, *rooms, near.reshape(-1))
    return near


# ---- Filling holes of a mask


def fill_mask(mask: Array, *, stacked: bool = False) -> ThresholdedImage:
    """Fill the holes of each image, as `scipy.ndimage.binary_fill_holes` does."""
    gaps = Foreground("<=", np.uint8(0), values=False)
    problem = problem_of(mask.view(np.uint8), gaps, 1, stacked, device=resolve("auto", mask))
    if 0 in mask.shape or 1 in mask.shape[int(stacked) :]:  # all pixels are at the border
        return from_mask(mask)
    if is_on_cuda(mask):
        check_fits(problem, problem.device)
        outside = passes("segmentation.holes", "cuda").find_outside(make_grid(problem))
        return ThresholdedImage(outside.reshape(mask.shape), gaps)
    from equilabel.runs.cpu.seams import mark_border

    found = solve(problem, counted=True, painted=False)
    outside, table = np.zeros(found.count + 1, np.int32), found.runs
    mark_border(table.runs, table.columns, mask.ndim - 1 - stacked, outside)
    outside[0] = 0
    threads.check()
    room = problem._replace(out=np.empty(mask.shape, np.uint8))
    return ThresholdedImage(paint(room, found, outside).labels, gaps)


# ---- Growing objects into their surroundings


def grow(
    labels: ArrayLike,
    distance: Length | None = None,
    *,
    mask: ArrayLike | None = None,
    image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
) -> HostArray:
    """Grow objects into their surroundings: cells around nuclei.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        Objects to grow from, 0 for background. They keep their pixels and their labels.
    distance : float or str, optional
        How far they grow at most: in pixels of the smallest spacing, or with a unit, "2um".
    mask : (M, N[, ...]) array of bool, optional
        Where they may grow: the foreground of the cells, from `binarize`. What is not connected to
        an object stays background.
    image : (M, N[, ...]) array, optional
        Gray values: objects meet where the image is darkest between them, instead of halfway.
    spacing, unit, stacked
        As for `split_touching`.

    Returns
    -------
    array of int
        Labels, of the type of `labels` and on its device.

    Raises
    ------
    TypeError, ValueError
        If neither `distance` nor `mask` is given, shapes differ, or an argument is out of range.

    See Also
    --------
    relate, split_touching

    Notes
    -----
    With a distance alone, a pixel gets the label of the nearest object, as by scikit-image's
    `expand_labels`: of equally near ones, that with a pixel of smaller coordinate, along the last
    axis first. With a mask or an image, scikit-image's `watershed` computes the labels on the CPU.

    Examples
    --------
    >>> grow(np.array([[0, 0, 1, 0, 0, 0, 2]]), 1)
    array([[0, 1, 1, 1, 0, 2, 2]])
    """
    source, stacked = check_labels(labels, "labels"), check_flag("stacked", stacked)
    rank = source.ndim - stacked
    distances = check_spacing(spacing, rank)
    if distance is None and mask is None:
        message = (
            "distance or mask must be given; got neither. Pass how far objects grow, such as 5."
        )
        raise ValueError(message)
    scale: Any = {"spacing": None if spacing is None else distances, "unit": unit}
    pixels = math.inf if distance is None else in_finest_pixels("distance", distance, **scale)
    far = pixels * min(distances)
    if mask is None and image is None and min(far / min(distances), max(source.shape)) <= REACH:
        even = len(set(distances)) == 1
        grown: HostArray
        grown = _expand(source, pixels if even else far, (1,) * rank if even else distances)
        return grown
    numbers = fetch(source)
    masks = None if mask is None else beside("mask", mask, numbers).astype(bool)
    images = None if image is None else beside("image", image, numbers)
    out = np.empty_like(numbers)
    for k in range(len(numbers)) if stacked else (...,):
        area, values = (None if each is None else each[k] for each in (masks, images))
        out[k] = _grow_one(numbers[k], far, area, values, distances)
    return place_like(source, out)


REACH = 2**9  # pixels from which on scikit-image is as fast


def _expand(labels: Array, far: float, spacing: Sequence[float]) -> Array:
    """Return labels grown by a distance along the last axes.

    Squared distances are whole numbers if those of neighboring pixels, `spacing`, are.
    """
    axes = labels.shape[labels.ndim - len(spacing) :]
    if not labels.size:
        return labels
    reaches = [int(min(far / step, n - 2)) + 1 for step, n in zip(spacing, axes, strict=True)]
    dtype = np.dtype(np.int32 if set(spacing) == {1} else np.float64)
    far = min(far, 1e150)
    limit = far * far  # to be compared with squares as their roots with the distance
    while math.sqrt(limit) > far:
        limit = math.nextafter(limit, 0)
    while math.sqrt(math.nextafter(limit, math.inf)) <= far:
        limit = math.nextafter(limit, math.inf)
    never = 2**29 if dtype.kind == "i" else math.inf
    kinds = dtype.type(never), dtype.type(min(limit, never))
    along = passes("segmentation.growing", "cuda" if is_on_cuda(labels) else "cpu").find_along
    squares: Any = None
    near = library(labels).ascontiguousarray(labels).reshape(-1).view(f"i{labels.itemsize}")
    for axis, (length, step, reach) in enumerate(zip(axes, spacing, reaches, strict=True)):
        inner = math.prod(axes[axis + 1 :])
        squares, near = along(near, length, inner, dtype.type(step), reach, *kinds, squares)
    return near.view(labels.dtype).reshape(labels.shape)


def _grow_one(
    labels: HostArray,
    far: float,
    mask: NDArray[np.bool_] | None,
    image: HostArray | None,
    spacing: tuple[float, ...],
) -> HostArray:
    """Grow the objects of one image."""
    from scipy.ndimage import distance_transform_edt
    from skimage.segmentation import expand_labels, watershed

    if not labels.any():
        return labels
    if mask is None and image is None:
        return np.asarray(expand_labels(labels, far, spacing=spacing), labels.dtype)
    apart = distance_transform_edt(labels == 0, sampling=spacing)
    area = apart <= far if mask is None else (apart <= far) & mask
    relief = apart if image is None else -finite(image)
    kind = np.int32 if labels.dtype.itemsize <= 4 else np.int64
    grown: HostArray = watershed(relief, labels.astype(kind), mask=area | (labels > 0))
    return grown.astype(labels.dtype)
