"""The visible plane of a layer: its objects, as a run would find them, and their outline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel
from equilabel.quantities import length_in_pixels, size_in_pixels, without_questions

from .lengths import block_of, widths_of
from .sources import gray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .choices import Choices
    from .sources import Source

LARGEST = 2**24  # pixels of a plane; of larger ones every n-th pixel is shown
LARGEST_SPLIT = 2**22  # pixels of a plane whose objects are split while a person looks on
EDGE = 2  # in an outline; 0 is outside, 1 inside
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


def prepare_plane(
    plane: HostArray,
    source: Source,
    choices: Choices,
    displayed: Sequence[int],
    step: int = 1,
) -> HostArray:
    """Subtract the background of a plane and smooth it as the run does, but in two dimensions only.

    Nothing is smoothed along a displayed axis of time.
    """
    radii = _in_plane("background", source, choices, displayed, step)
    if max(radii) >= 1:
        plane = equilabel.subtract_background(plane, radii, **choices.background_options)
    widths = _in_plane("sigma", source, choices, displayed, step)
    with without_questions():
        return equilabel.smooth(plane, widths) if any(widths) else plane


def _in_plane(
    name: str, source: Source, choices: Choices, displayed: Sequence[int], step: int
) -> list[float]:
    """Return a length of the form along the axes of a plane in its pixels; 0 along time."""
    space = source.arrangement(choices.roles).space
    widths = dict(zip(space, widths_of(source, choices, name), strict=True))
    return [widths.get(axis, 0.0) / step for axis in sorted(displayed)]


def find_objects(
    plane: HostArray,
    source: Source,
    choices: Choices,
    threshold: float | tuple[float, float] | None,
    displayed: Sequence[int],
    step: int = 1,
) -> HostArray:
    """Find the objects of a prepared plane as the run does, but in two dimensions only.

    Parameters
    ----------
    plane : 2D array
        As `prepare_plane` returns it.
    source, choices, displayed, step
        As for `prepare_plane`. Of a volume, no objects are dropped by size; of very large planes,
        none are split.
    threshold : float, (float, float) or None
        Found before; None for a local threshold.

    Returns
    -------
    2D array of int
        Labels.
    """
    if threshold is None and choices.threshold != "local":
        return np.zeros(plane.shape, np.int32)
    space = source.arrangement(choices.roles).space
    spacing, unit = source.spacing(choices.roles)
    local = threshold is None
    size: Any = 0
    if set(space) == set(displayed):
        size = size_in_pixels("min_size", choices.min_size, 2, spacing=spacing, unit=unit)
    options: dict[str, Any] = {
        "threshold": "local" if local else threshold,
        "block_size": _block(source, choices, displayed, step) if local else None,
        "offset": choices.offset if local else 0.0,
        "closing": _in_plane("closing", source, choices, displayed, step),
        "opening": _in_plane("opening", source, choices, displayed, step),
        "connectivity": choices.connectivity and min(choices.connectivity, 2),
        "min_size": math.ceil(size / step**2),
        **{name: getattr(choices, name) for name in ("dark", "fill_holes", "exclude_border")},
    }
    if choices.split is not False and plane.size <= LARGEST_SPLIT:
        along = dict(zip(space, spacing, strict=True))
        finest = min(spacing)
        steps = [along.get(axis, finest) for axis in sorted(displayed)]
        depth = max(_depth(choices, spacing, unit)) * finest / (min(steps) * step)
        options |= {"split": depth, "spacing": steps}
    return equilabel.segment(plane, properties=("label",), **options).labels


def _block(
    source: Source, choices: Choices, displayed: Sequence[int], step: int
) -> tuple[int, ...]:
    """Return the block of a local threshold along the axes of a plane in its pixels."""
    space = source.arrangement(choices.roles).space
    sides = dict(zip(space, block_of(source, choices), strict=True))
    along = (sides.get(axis, 1) for axis in sorted(displayed))
    return tuple(max(min(3, side), side // step | 1) for side in along)


def _depth(choices: Choices, spacing: Sequence[float], unit: str) -> tuple[float, ...]:
    depth = DEPTH if choices.split is True else choices.split
    return length_in_pixels("split", depth, len(spacing), spacing=spacing, unit=unit)


def describe_plane(
    source: Source, choices: Choices, displayed: Sequence[int], step: int, size: int
) -> str:
    """Say how a plane of so many pixels differs from what a run finds; empty if it does not."""
    space = source.arrangement(choices.roles).space
    alone = set(space) != set(displayed)
    remarks = []
    if step > 1:
        remarks.append(f"one pixel in {step} of a very large image")
    if choices.split is not False and size > LARGEST_SPLIT:
        remarks.append("objects before they are split")
    if alone and choices.min_size:
        remarks.append("objects of any size")
    wide = (choices.background, choices.sigma, choices.closing, choices.opening, choices.split)
    other = (choices.fill_holes, choices.threshold == "local", isinstance(choices.threshold, tuple))
    if alone and any((*wide, *other, choices.exclude_border)):
        remarks.append("this plane alone, without its neighbors")
    return f"The preview shows {' and '.join(remarks)}." if remarks else ""


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
        0 outside, 1 inside and `EDGE`. The border of the image is no edge.

    Examples
    --------
    >>> outline(np.pad(np.ones((3, 3), bool), 1))
    array([[0, 0, 0, 0, 0],
           [0, 2, 2, 2, 0],
           [0, 2, 1, 2, 0],
           [0, 2, 2, 2, 0],
           [0, 0, 0, 0, 0]], dtype=uint8)
    """
    from equilabel.kernels.cpu.outlines import draw_outlines

    kind = np.int32 if labels.dtype.itemsize <= 4 else np.int64  # differ where labels do
    code = np.empty(labels.shape, np.uint8)
    draw_outlines(np.ascontiguousarray(labels, kind), width, code)
    return code
