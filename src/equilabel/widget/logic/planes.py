"""The visible plane of a layer, and its objects as a run would find them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel
from equilabel.quantities import size_in_pixels, without_questions

from .sources import Source, gray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import HostArray

    from .choices import Choices

LARGEST = 2**24  # pixels of a plane; of larger ones every n-th pixel is shown
LARGEST_SPLIT = 2**22  # pixels of a plane whose objects are split while a person looks on


def take_plane(
    source: Source, choices: Choices, point: Sequence[int], displayed: Sequence[int]
) -> tuple[HostArray, int]:
    """Return the plane of a layer that is displayed, in the chosen channel or color, and its step.

    Its axes are in the order of the layer. It has every step-th pixel: all unless it is very large.
    """
    shown = sorted(displayed)
    size = math.prod(source.shape[axis] for axis in shown)
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
    plane: HostArray, source: Source, choices: Choices, displayed: Sequence[int], step: int = 1
) -> HostArray:
    """Subtract the background of a plane and smooth it as the run does, but in two dimensions only.

    Nothing is smoothed along a displayed axis of time.
    """
    radii, widths = (
        _in_plane(name, source, choices, displayed, step) for name in ("background", "sigma")
    )
    if max(radii) >= 1:
        plane = equilabel.subtract_background(plane, radii, **choices.background_options)
    with without_questions():
        return equilabel.smooth(plane, widths) if any(widths) else plane


def _in_plane(
    name: str, source: Source, choices: Choices, displayed: Sequence[int], step: int
) -> list[float]:
    """Return a length of the form along the axes of a plane in its pixels; 0 along time."""
    widths = choices.widths(source, name)
    return [widths.get(axis, 0.0) / step for axis in sorted(displayed)]


def find_objects(
    plane: HostArray,
    source: Source,
    choices: Choices,
    threshold: float | tuple[float, float] | None,
    displayed: Sequence[int],
    step: int = 1,
) -> HostArray:
    """Label the objects of a prepared plane as the run does, but in two dimensions only.

    The threshold was found before; it is None if it is local. Of a volume, no objects are dropped
    by size; of very large planes, none are split.
    """
    local = choices.threshold == "local"
    if threshold is None and not local:
        return np.zeros(plane.shape, np.int32)
    spacing, unit = source.spacing(choices.roles)
    along = dict(zip(source.arrangement(choices.roles).space, spacing, strict=True))
    size: Any = 0
    if set(along) == set(displayed):
        size = size_in_pixels("min_size", choices.min_size, 2, spacing=spacing, unit=unit)
    options: dict[str, Any] = {
        "threshold": threshold,
        "closing": _in_plane("closing", source, choices, displayed, step),
        "opening": _in_plane("opening", source, choices, displayed, step),
        "connectivity": choices.connectivity and min(choices.connectivity, 2),
        "min_size": math.ceil(size / step**2),
        **{name: getattr(choices, name) for name in ("dark", "fill_holes", "exclude_border")},
    }
    if threshold is None:
        sides = choices.widths(source, "block_size")
        whole = (int(sides.get(axis, 1)) for axis in sorted(displayed))
        block = tuple(max(min(3, side), side // step | 1) for side in whole)
        options |= {"threshold": "local", "block_size": block, "offset": choices.offset}
    if choices.split is not False and plane.size <= LARGEST_SPLIT:
        finest = min(spacing)
        steps = [along.get(axis, finest) for axis in sorted(displayed)]
        depth = max(choices.widths(source, "split").values()) * finest / (min(steps) * step)
        options |= {"split": depth, "spacing": steps}
    return equilabel.segment(plane, properties=("label",), **options).labels


def describe_plane(
    source: Source, choices: Choices, displayed: Sequence[int], step: int, size: int
) -> str:
    """Say how a plane of so many pixels differs from what a run finds; empty if it does not."""
    alone = set(source.arrangement(choices.roles).space) != set(displayed)
    wide = (choices.background, choices.sigma, choices.closing, choices.opening, choices.split)
    other = (choices.fill_holes, choices.threshold == "local", isinstance(choices.threshold, tuple))
    neighbors = any((*wide, *other, choices.exclude_border))
    remarks = {
        f"one pixel in {step} of a very large image": step > 1,
        "objects before they are split": choices.split is not False and size > LARGEST_SPLIT,
        "objects of any size": alone and choices.min_size,
        "this plane alone, without its neighbors": alone and neighbors,
    }
    said = " and ".join(remark for remark, holds in remarks.items() if holds)
    return f"The preview shows {said}." if said else ""
