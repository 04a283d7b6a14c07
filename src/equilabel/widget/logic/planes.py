"""The visible plane of a layer: smooth it, apply the threshold, outline the foreground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel

from .smoothing import widths_of, without_questions
from .sources import gray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .choices import Choices
    from .sources import Source

LARGEST = 2**24  # pixels of a plane; of larger ones every n-th pixel is shown
LARGEST_SPLIT = 2**22  # pixels of a plane whose objects are split while a person looks on
OUTSIDE, INSIDE, EDGE = 0, 1, 2
DEPTH = 0.8  # pixels, the default of `equilabel.split_touching`


def take_plane(
    source: Source,
    choices: Choices,
    point: Sequence[int],
    displayed: Sequence[int],
) -> tuple[HostArray, int]:
    """Return the plane of a layer that is on the screen.

    Parameters
    ----------
    source : Source
        The layer.
    choices : Choices
        Says which channel and color to take.
    point : sequence of int
        Position along each axis of the layer.
    displayed : (int, int)
        Axes on the screen.

    Returns
    -------
    plane : 2D array
        Its axes in the order of the layer.
    step : int
        The plane holds every step-th pixel; 1 unless it is very large.
    """
    shown = sorted(displayed)
    size = int(np.prod([source.shape[axis] for axis in shown], dtype=np.int64))
    step = 1
    while size // step**2 > LARGEST:
        step += 1
    index: list[Any] = []
    for axis, length in enumerate(source.shape):
        if axis in shown:
            index.append(slice(None, None, step))
        elif choices.roles[axis] == "channel":
            index.append(min(choices.channel, length - 1))
        else:
            index.append(int(np.clip(point[axis], 0, length - 1)))
    plane = np.asarray(source.data[tuple(index)])
    return (gray(plane, choices.color) if source.rgb else plane), step


def smooth_plane(
    plane: HostArray,
    source: Source,
    choices: Choices,
    displayed: Sequence[int],
    step: int = 1,
) -> HostArray:
    """Smooth a plane as the run does, but in two dimensions only.

    A displayed axis of time is not smoothed.
    """
    if not choices.sigma:
        return plane
    space = source.arrangement(choices.roles).space
    widths = dict(zip(space, widths_of(source, choices), strict=True))
    shown = [widths.get(axis, 0.0) / step for axis in sorted(displayed)]
    with without_questions():
        return equilabel.smooth(plane, shown)


def find_mask(
    plane: HostArray, choices: Choices, threshold: float | tuple[float, float] | None
) -> NDArray[np.bool_]:
    """Return the foreground of a smoothed plane.

    Parameters
    ----------
    plane : 2D array
        Smoothed.
    choices : Choices
        The values of the form.
    threshold : float, (float, float) or None
        Found before; None for a local threshold.

    Returns
    -------
    2D array of bool
        As `equilabel.binarize` finds it.
    """
    if threshold is None:
        if choices.threshold != "local":
            return np.zeros(plane.shape, np.bool_)
        return equilabel.binarize(
            plane,
            "local",
            dark=choices.dark,
            block_size=choices.block_size,
            offset=choices.offset,
        )
    return equilabel.binarize(plane, threshold, dark=choices.dark)


def split_plane(
    mask: NDArray[np.bool_],
    source: Source,
    choices: Choices,
    displayed: Sequence[int],
    step: int = 1,
) -> HostArray:
    """Split the objects of a plane as the run does, but in two dimensions only.

    Returns
    -------
    2D array
        Labels; the mask itself if nothing is to be split, or the plane is very large.
    """
    if choices.split is False or mask.size > LARGEST_SPLIT:
        return mask
    if choices.fill_holes:
        from scipy.ndimage import binary_fill_holes

        mask = binary_fill_holes(mask)
    space = source.arrangement(choices.roles).space
    spacing = dict(zip(space, source.spacing(choices.roles)[0], strict=True))
    finest = min(spacing.values())
    steps = [spacing.get(axis, finest) for axis in sorted(displayed)]
    depth = DEPTH if choices.split is True else choices.split
    tolerance = depth * finest / (min(steps) * step)  # in pixels of the plane
    flat = None if choices.connectivity is None else min(choices.connectivity, 2)
    return equilabel.split_touching(mask, tolerance=tolerance, spacing=steps, connectivity=flat)


def outline(labels: HostArray, width: int = 1) -> NDArray[np.uint8]:
    """Return outside, inside and edge of a mask, or of labels.

    Parameters
    ----------
    labels : (M, N) array of bool or int
    width : int
        Width of the edge in pixels: more than 1 if the image is drawn smaller than it is.

    Returns
    -------
    (M, N) array of uint8
        `OUTSIDE`, `INSIDE` or `EDGE`. The border of the image is no edge.

    Examples
    --------
    >>> outline(np.pad(np.ones((3, 3), bool), 1))
    array([[0, 0, 0, 0, 0],
           [0, 2, 2, 2, 0],
           [0, 2, 1, 2, 0],
           [0, 2, 2, 2, 0],
           [0, 0, 0, 0, 0]], dtype=uint8)
    """
    mask = labels != 0
    inner = mask.copy()
    if labels.dtype != np.bool_:
        for axis in (0, 1):
            sides = np.moveaxis(labels, axis, 0)
            differ = sides[1:] != sides[:-1]
            edges = np.moveaxis(inner, axis, 0)
            edges[1:] &= ~differ
            edges[:-1] &= ~differ
    for _ in range(width - (labels.dtype != np.bool_)):
        before = inner.copy()
        inner[1:] &= before[:-1]
        inner[:-1] &= before[1:]
        inner[:, 1:] &= before[:, :-1]
        inner[:, :-1] &= before[:, 1:]
    code = mask.view(np.uint8) * np.uint8(EDGE)
    code -= inner.view(np.uint8)
    return np.asarray(code)
