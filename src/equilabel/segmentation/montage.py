"""Selection of components that may be several objects, and montages that split many at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import pi, prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.measuring.measurement import Measurement
from equilabel.measuring.moments import covariance

from .necks import find_seeds, grow_seeds, measure_radii

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.measuring import Counts


# ---- Selection of components that may be several objects, from their counts

CONVEX = 0.99  # share of its ellipse of inertia that a convex component fills at least


def shape_properties(rank: int) -> tuple[str, ...]:
    """List the properties whose counts `may_touch` needs, for a number of spatial axes."""
    return {2: ("bbox", "inertia_tensor", "perimeter_edges"), 3: ("bbox", "inertia_tensor")}.get(
        rank, ("bbox",)
    )


def may_touch(counts: Counts, tolerance: float, steps: Sequence[float]) -> NDArray[np.bool_]:
    """Select components that may be several objects: (N,) array of bool.

    False if a component is too small to hold two objects and a neck, or is certainly convex.
    `counts` are of the properties of `shape_properties`; `steps` are the distances of pixels.
    """
    found = Measurement(counts, (1.0,) * len(steps))
    sides = found.last - found.first
    least = 2 * tolerance + min(steps)  # smallest width of an object, without rounding
    at_border = (found.first == 0) | (found.last == found.sides)
    room = (sides + 0.5) * steps >= np.where(at_border, least / 2, least)
    return np.asarray(room.all(axis=1) & ~_convex(found))


def _convex(found: Measurement) -> NDArray[np.bool_]:
    """Select components that fill their ellipse of inertia, without gaps in rows and columns."""
    pixels, rank = found.pixels, found.rank
    if rank not in (2, 3):
        return np.zeros(len(pixels), np.bool_)
    spread = covariance(found) + np.eye(rank) / 12  # pixels are squares, not points
    volume = {2: 4 * pi, 3: 4 / 3 * pi * 5**1.5}[rank] * np.sqrt(np.linalg.det(spread))
    convex = pixels >= CONVEX * volume
    if rank == 2:
        faces = np.abs(found.counts.layout.steps).sum(axis=1) == 1
        runs = pixels[:, None] - found.group("pairs")[:, faces]  # of columns, and of rows
        convex &= (runs == (found.last - found.first)[:, ::-1]).all(axis=1)
    return np.asarray(convex)


# ---- Montages: boxes of many components side by side in one array
# Most components are small, and calling SciPy or scikit-image takes longer than computing one. A
# montage needs one call for all of its components.

PIXELS = 2**15  # of a montage: intermediate arrays stay in the cache of a core
WASTE = 1.5  # largest number of pixels of a montage, per pixel of its boxes


@dataclass(frozen=True)
class Box:
    """A component: its label, and the part of the image around it."""

    view: HostArray
    """Has a margin of one pixel around the component, except where the image ends."""

    label: int
    cut: bool
    """Whether the component reaches the end of the image; it is assumed to continue beyond."""


def arrange(boxes: Iterable[Box]) -> list[list[Box]]:
    """Group boxes of similar shape for montages, large ones first."""
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
    """Split the components of a group of boxes; arguments as for `find_seeds`.

    Returns for each component the number of its part at each pixel and 0 outside, or None if it has
    one part. No number is used twice in the group.
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
    """Split a component at its necks; arguments as for `find_seeds`.

    `mask` has a margin of background, except where the image ends: there the component is assumed
    to continue. It may hold several components that do not touch. Returns the number of the part at
    each pixel, from 1, and 0 outside and in components too thin for a seed; None if there is one
    part.
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
    """Count the columns of a box, and one to separate it from the next box if it has no margin."""
    width: int = box.view.shape[-1]
    return width + box.cut


# ---- Components whose bounding boxes overlap many times: split together in few images


def split_sprawling(
    labels: HostArray,
    chosen: NDArray[np.int64],
    tolerance: float,
    steps: Sequence[float],
    connectivity: int,
) -> Iterator[NDArray[np.int32]]:
    """Yield the parts of the chosen labels, of all labels at once that do not touch each other.

    Yields what `split_component` returns. The time is bounded by the size of the image, for
    components of any shape.
    """
    colors = _color(labels, chosen)
    count = int(colors.max(initial=0))
    colored = colors.astype(np.min_scalar_type(count))[labels]  # a copy: callers overwrite labels
    for color in range(1, count + 1):
        parts = split_component(colored == color, tolerance, steps, connectivity)
        if parts is not None:
            yield parts


def _color(labels: HostArray, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each chosen label a number from 1, so that labels that touch have different numbers."""
    wanted = np.zeros(int(labels.max(initial=0)) + 1, np.bool_)
    wanted[chosen] = True
    near: dict[int, set[int]] = {int(label): set() for label in chosen}
    for one, other in _touching(labels, wanted):
        near[one].add(other)
        near[other].add(one)
    colors = np.zeros(len(wanted), np.int64)
    for label, others in near.items():
        taken = {int(colors[other]) for other in others}
        colors[label] = next(color for color in range(1, len(others) + 2) if color not in taken)
    return colors


def _touching(labels: HostArray, wanted: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the pairs of wanted labels that have neighboring pixels."""
    pairs: set[tuple[int, int]] = set()
    for step in product((-1, 0, 1), repeat=labels.ndim):
        if step > (0,) * labels.ndim:
            one = labels[tuple(slice(max(-s, 0), -s if s > 0 else None) for s in step)]
            other = labels[tuple(slice(max(s, 0), s if s < 0 else None) for s in step)]
            both = (one != other) & wanted[one] & wanted[other]
            pairs |= set(zip(one[both].tolist(), other[both].tolist(), strict=True))
    return sorted(pairs)
