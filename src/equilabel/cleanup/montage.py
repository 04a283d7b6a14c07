"""Components split together, in montages: boxes beside one another in one array.

Most components are small, and a call of SciPy or scikit-image takes longer than its work on one
of them. In a montage, all of them together take a single call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .necks import find_seeds, grow_seeds
from .radii import measure_radii

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

PIXELS = 2**15  # of a montage: what is computed from it stays in the cache of a core
WASTE = 1.5  # pixels of a montage, per pixel of its boxes


@dataclass(frozen=True)
class Box:
    """A component: its label, and the part of the image around it."""

    view: HostArray
    """With a pixel of background around the component, except where the image ends."""

    label: int
    cut: bool
    """Whether it reaches the end of the image, beyond which it is taken to go on."""


def arrange(boxes: Iterable[Box]) -> list[list[Box]]:
    """Arrange boxes into groups of similar shape, large ones first, each for a montage."""
    groups: list[list[Box]] = []
    sides: tuple[int, ...] = ()  # of the last group, without the columns
    columns = filled = 0  # of the last group; pixels of its boxes
    for box in sorted(boxes, key=lambda box: box.view.shape[:-1], reverse=True):
        higher = tuple(map(max, sides or box.view.shape, box.view.shape[:-1]))
        size = prod(higher) * (columns + _columns(box))
        if groups and size <= min(PIXELS, WASTE * (filled + box.view.size)):
            groups[-1].append(box)
            sides, columns, filled = higher, columns + _columns(box), filled + box.view.size
        else:
            groups.append([box])
            sides, columns, filled = box.view.shape[:-1], _columns(box), box.view.size
    return groups


def split_montage(
    boxes: Sequence[Box], tolerance: float, steps: Sequence[float], connectivity: int
) -> list[NDArray[np.int32] | None]:
    """Split the components of a group of boxes, as `split_component` would split each.

    Parameters
    ----------
    boxes : sequence of Box
    tolerance, steps, connectivity
        As for `find_seeds`.

    Returns
    -------
    list of arrays of int32, or None
        For each component the number of its part at each pixel, and 0 outside; these are different
        for all parts of the group. None for a component of one part.
    """
    if len(boxes) == 1:
        mask = boxes[0].view == boxes[0].label
        return [split_component(mask, tolerance, steps, connectivity)]
    mask = np.zeros(_shape(boxes), np.bool_)
    owners = np.repeat(np.arange(len(boxes)), [_columns(box) for box in boxes])
    ends = np.cumsum([_columns(box) for box in boxes]).tolist()
    places = [
        (*map(slice, box.view.shape[:-1]), slice(end - _columns(box), end - box.cut))
        for box, end in zip(boxes, ends, strict=True)
    ]
    for box, place in zip(boxes, places, strict=True):
        np.equal(box.view, box.label, out=mask[place])
    radii, _ = measure_radii(mask, steps)
    for box, place in zip(boxes, places, strict=True):
        if box.cut:
            radii[place] = measure_radii(mask[place], steps)[0]
    seeds, several = find_seeds(radii, owners, tolerance, steps, connectivity)
    pieces: list[NDArray[np.int32] | None] = [None] * len(boxes)
    for number in np.flatnonzero(several).tolist():
        place = places[number]
        pieces[number] = grow_seeds(seeds[place], radii[place], mask[place], connectivity)
    return pieces


def split_component(
    mask: NDArray[np.bool_], tolerance: float, steps: Sequence[float], connectivity: int
) -> NDArray[np.int32] | None:
    """Split a component at its necks.

    Parameters
    ----------
    mask : array of bool
        The component with a pixel of background around it, except where the image ends: there it
        is taken to go on. It may hold several components that do not touch.
    tolerance, steps, connectivity
        As for `find_seeds`.

    Returns
    -------
    array of int32, or None
        Number of the part at each pixel, from 1; 0 outside, and in a component that is too thin to
        have a seed. None if there is one part.
    """
    if mask.all():
        return None
    radii, rounding = measure_radii(mask, steps)
    owners = np.zeros(mask.shape[-1], np.intp)
    seeds, several = find_seeds(radii, owners, tolerance + rounding, steps, connectivity)
    return grow_seeds(seeds, radii, mask, connectivity) if several.any() else None


def _shape(boxes: Sequence[Box]) -> tuple[int, ...]:
    """Return the shape of a montage."""
    sides = np.max([box.view.shape[:-1] for box in boxes], axis=0)
    return (*sides.tolist(), sum(map(_columns, boxes)))


def _columns(box: Box) -> int:
    """Count the columns of a box, with one that keeps it apart from the next if it has none."""
    width: int = box.view.shape[-1]
    return width + box.cut
