"""`split_touching`: components are split at their necks and numbered again.

Those that may be several objects are found from their counts; montages split many at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import pi, prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_flag
from equilabel.devices import fetch, place, resolve, take, using
from equilabel.devices.threads import check, each
from equilabel.labeling import solve
from equilabel.labeling.problem import make_problem
from equilabel.measuring import check_spacing, make_request
from equilabel.measuring.measurement import Measurement
from equilabel.measuring.moments import covariance
from equilabel.quantities import length_in_pixels, parse

from .necks import find_seeds, grow_seeds, measure_radii

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.measuring import Counts
    from equilabel.quantities import Length


# ---- Objects of an image

TOLERANCE = 0.8  # pixels: a smaller one cuts rings; docs/guide.md has the figures
CROPS = 2  # pixels of all boxes, per pixel of the image, from which on they are not cropped
FLATTEST = 1e9  # largest ratio of spacings that is distinguished
OVERHEAD = 500  # pixels that take as long as the calls for one box


def split_touching(
    labels_or_mask: ArrayLike,
    *,
    tolerance: Length = TOLERANCE,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    connectivity: int | None = None,
    stacked: bool = False,
) -> HostArray:
    """Split objects that touch, and label the parts.

    Two objects are separated if the part between them, the neck, is thinner than the smaller object
    by more than the tolerance: the radius of the largest disk (ball) inside the smaller object is
    compared with the radius of the largest disk that fits through the neck. Convex objects have no
    neck and are not split; neither are rods and rings. Thin spirals may be cut because of the steps
    of their outline; a tolerance of 1 avoids this.

    Parameters
    ----------
    labels_or_mask : (M, N[, ...]) array of bool or int
        A mask, whose components are split; or labels: each label is split separately, and different
        labels are never joined. Pixels of one label that are not connected are always different
        objects. Of an array on a GPU, the result is on the GPU.
    tolerance : float or str
        Smallest difference of the two radii, in pixels or with a unit: 1.5, "1.5px", "0.4um". With
        a smaller tolerance, more objects are split.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, in any unit. Default 1. If the
        axes differ, a `tolerance` in pixels refers to the smallest spacing.
    unit : str, optional
        Unit of `spacing`: "µm", "nm", ... Required if `tolerance` has a unit.
    connectivity : int, optional
        Maximum number of orthogonal hops between neighbors, as for `label`.
    stacked : bool
        Whether the first axis counts independent images, such as the frames of a movie.

    Returns
    -------
    array of int32 or int64
        Objects numbered 1 to N in raster order of their first pixels, as by `label`. A NumPy array
        or, if the input is on a GPU, a CuPy array.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the image is of floats that are not whole numbers.

    Notes
    -----
    Components are labeled and measured on the device that holds the array. Those that may be
    several objects are split on the CPU, in threads, by SciPy's distance transform and
    scikit-image's reconstruction and watershed, because CuPy offers only the first of these.

    Examples
    --------
    >>> y, x = np.mgrid[:15, :27]
    >>> mask = (y - 7) ** 2 + (x - 7) ** 2 <= 45
    >>> mask |= (y - 7) ** 2 + (x - 19) ** 2 <= 45
    >>> int(split_touching(mask).max())
    2
    >>> int(split_touching(mask, tolerance=6).max())
    1
    """
    source, stacked = take(labels_or_mask, "labels_or_mask"), check_flag("stacked", stacked)
    if source.ndim < 1 + stacked:
        message = f"labels_or_mask must have an axis of pixels; got shape {source.shape}."
        raise ValueError(message)
    problem = make_problem(source, None, connectivity, stacked)
    shape, rank = source.shape, source.ndim - stacked
    given = None if spacing is None else check_spacing(spacing, rank)
    depth = tolerance_in_pixels("tolerance", tolerance, given, unit)
    request = make_request(shape_properties(rank), None, shape, spacing, stacked=stacked)
    labels, _, _, counts, *_ = solve(problem, request, counted=True)
    found = split_components(labels, counts, depth, given or (1.0,) * rank, connectivity or rank)
    if found is None and problem.numbered_by_columns:
        found = _in_raster_order(labels, fetch(labels), len(counts.labels))
    answer: HostArray = labels if found is None else found[0]
    return answer


def tolerance_in_pixels(
    name: str, tolerance: Length, spacing: Sequence[float] | None, unit: str | None
) -> float:
    """Return a tolerance in pixels along the axis of the smallest spacing, named in errors."""
    parse(name, tolerance)  # one length, not one for each axis
    finest = None if spacing is None else (min(spacing),)
    return length_in_pixels(name, tolerance, 1, spacing=finest, unit=unit)[0]


def split_components(
    labels: Array,
    counts: Counts,
    tolerance: float,
    spacing: Sequence[float],
    connectivity: int,
) -> tuple[Array, int] | None:
    """Split the components that are several objects; return new labels and their number, or None.

    `labels` are 1 to N in raster order and may be overwritten; `counts` are theirs, of the
    properties of `shape_properties`. `tolerance` is in pixels along the axis of the smallest
    spacing. None means that nothing was split.
    """
    distances = tuple(min(each / min(spacing), FLATTEST) for each in spacing)
    if len(distances) < 2:
        return None
    chosen = np.flatnonzero(may_touch(counts, tolerance, distances))
    if not len(chosen):
        return None
    host = np.ascontiguousarray(fetch(labels))
    count = len(counts.labels)
    for pieces in _parts_of(host, counts, chosen, tolerance, distances, connectivity):
        for target, parts in pieces:  # a component without a seed keeps its label
            np.add(parts, count, out=target, where=parts > 0)
        count += max((int(parts.max()) for _, parts in pieces), default=0)
    if count == len(counts.labels):
        return None
    check()
    return _in_raster_order(labels, host, count)


def _parts_of(
    labels: HostArray,
    counts: Counts,
    chosen: NDArray[np.intp],
    tolerance: float,
    distances: tuple[float, ...],
    connectivity: int,
) -> Iterator[list[tuple[HostArray, NDArray[np.int32]]]]:
    """Yield lists of views of the image that hold components of several parts, with these parts.

    The parts of one list have different numbers.
    """
    stacked = int(counts.layout.stacked)
    first, last = counts.begins[chosen], counts.ends[chosen]
    first[:, stacked:] = np.maximum(first[:, stacked:] - 1, 0)
    last[:, stacked:] += 1  # slices end at the end of the image
    numbers = counts.labels[chosen]
    work = np.prod(last - first, axis=1, dtype=np.float64) + OVERHEAD
    if work.sum() > CROPS * labels.size + OVERHEAD:
        for image in labels if stacked else [labels]:
            inside = numbers[np.isin(numbers, image)]
            for parts in split_sprawling(image, inside, tolerance, distances, connectivity):
                yield [(image, parts)]
        return
    at_end = ((counts.begins == 0) | (counts.ends == labels.shape))[chosen, stacked:].any(axis=1)
    spans = zip(first.tolist(), last.tolist(), strict=True)
    views = [labels[tuple(map(slice, *span))] for span in spans]
    views = [view[0] for view in views] if stacked else views
    groups = arrange(map(Box, views, numbers.tolist(), at_end.tolist()))
    tasks = [(group, tolerance, distances, connectivity) for group in groups]
    for group, found in zip(groups, each(split_montage, tasks), strict=True):
        pieces = zip(group, found, strict=True)
        yield [(box.view, parts) for box, parts in pieces if parts is not None]


def _in_raster_order(labels: Array, host: HostArray, count: int) -> tuple[Array, int]:
    """Renumber labels on the host; return them on the device of `labels`, with their number."""
    found, where = _numbered(host, count), resolve("auto", labels)
    if where == "cpu":
        return found
    with using(where):
        return place(found[0], where), found[1]


def _numbered(labels: HostArray, count: int) -> tuple[HostArray, int]:
    """Renumber labels up to `count`, in place, in raster order of their first pixels."""
    from equilabel.devices.cpu.renumbering import renumber

    flat = labels.reshape(-1)
    starts = np.flatnonzero(flat[1:] != flat[:-1])[::-1] + 1  # of runs, last to first
    first = np.full(count + 1, flat.size, np.int64)
    first[flat[starts]] = starts  # the last assignment, of the first run, is the one that stays
    first[flat[0]] = 0
    first[0] = -1
    order = np.argsort(first, kind="stable")
    numbers = np.empty(count + 1, labels.dtype)
    numbers[order] = np.arange(count + 1)
    renumber(flat, np.zeros(1, np.int64), flat.size, numbers)
    return labels, int(np.count_nonzero(first < flat.size)) - 1


# ---- Selection of components that may be several objects, from their counts

CONVEX = 0.99  # share of its ellipse of inertia that a convex component fills at least


def shape_properties(rank: int) -> tuple[str, ...]:
    """List the properties whose counts `may_touch` needs, for a number of spatial axes."""
    return {2: ("bbox", "inertia_tensor", "perimeter_edges"), 3: ("bbox", "inertia_tensor")}.get(
        rank, ("bbox",)
    )


def may_touch(counts: Counts, tolerance: float, distances: Sequence[float]) -> NDArray[np.bool_]:
    """Select components that may be several objects: (N,) array of bool.

    False if a component is too small to hold two objects and a neck, or is certainly convex.
    `counts` are of the properties of `shape_properties`; `distances` are those of pixels.
    """
    found = Measurement(counts, (1.0,) * len(distances))
    sides = found.last - found.first
    least = 2 * tolerance + min(distances)  # smallest width of an object, without rounding
    at_border = (found.first == 0) | (found.last == found.sides)
    room = (sides + 0.5) * distances >= np.where(at_border, least / 2, least)
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
    boxes: Sequence[Box], tolerance: float, distances: Sequence[float], connectivity: int
) -> list[NDArray[np.int32] | None]:
    """Split the components of a group of boxes; arguments as for `find_seeds`.

    Returns for each component the number of its part at each pixel and 0 outside, or None if it has
    one part. No number is used twice in the group.
    """
    if len(boxes) == 1:
        mask = boxes[0].view == boxes[0].label
        return [split_component(mask, tolerance, distances, connectivity)]
    columns = [_columns(box) for box in boxes]
    sides = np.max([box.view.shape[:-1] for box in boxes], axis=0).tolist()
    mask = np.zeros((*sides, sum(columns)), np.bool_)
    owners = np.repeat(np.arange(len(boxes)), columns)
    windows = [
        (*map(slice, box.view.shape[:-1]), slice(end - width, end - box.cut))
        for box, width, end in zip(boxes, columns, np.cumsum(columns).tolist(), strict=True)
    ]
    for box, window in zip(boxes, windows, strict=True):
        np.equal(box.view, box.label, out=mask[window])
    radii, _ = measure_radii(mask, distances)
    for box, window in zip(boxes, windows, strict=True):
        if box.cut:
            radii[window] = measure_radii(mask[window], distances)[0]
    seeds, several = find_seeds(radii, owners, tolerance, distances, connectivity)
    pieces: list[NDArray[np.int32] | None] = [None] * len(boxes)
    for number in np.flatnonzero(several).tolist():
        window = windows[number]
        pieces[number] = grow_seeds(seeds[window], radii[window], mask[window], connectivity)
    return pieces


def split_component(
    mask: NDArray[np.bool_], tolerance: float, distances: Sequence[float], connectivity: int
) -> NDArray[np.int32] | None:
    """Split a component at its necks; arguments as for `find_seeds`.

    `mask` has a margin of background, except where the image ends: there the component is assumed
    to continue. It may hold several components that do not touch. Returns the number of the part at
    each pixel, from 1, and 0 outside and in components too thin for a seed; None if there is one
    part.
    """
    if mask.all():
        return None
    radii, rounding = measure_radii(mask, distances)
    owners = np.zeros(mask.shape[-1], np.intp)
    seeds, several = find_seeds(radii, owners, tolerance + rounding, distances, connectivity)
    return grow_seeds(seeds, radii, mask, connectivity) if several.any() else None


def _columns(box: Box) -> int:
    """Count the columns of a box, and one to separate it from the next box if it has no margin."""
    width: int = box.view.shape[-1]
    return width + box.cut


# ---- Components whose bounding boxes overlap many times: split together in few images


def split_sprawling(
    labels: HostArray,
    chosen: NDArray[np.int64],
    tolerance: float,
    distances: Sequence[float],
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
        parts = split_component(colored == color, tolerance, distances, connectivity)
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
