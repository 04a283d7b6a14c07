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
OUTSIDE, INSIDE, EDGE = 0, 1, 2


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


def outline(mask: NDArray[np.bool_], width: int = 1) -> NDArray[np.uint8]:
    """Return outside, inside and edge of a mask.

    Parameters
    ----------
    mask : (M, N) array of bool
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
    inner = mask.copy()
    for _ in range(width):
        before = inner.copy()
        inner[1:] &= before[:-1]
        inner[:-1] &= before[1:]
        inner[:, 1:] &= before[:, :-1]
        inner[:, :-1] &= before[:, 1:]
    code = mask.view(np.uint8) * np.uint8(EDGE)
    code -= inner.view(np.uint8)
    return np.asarray(code)
