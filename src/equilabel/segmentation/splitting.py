"""`split_touching`: components are split at their necks and numbered again.

Those that may be several objects are found from their counts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_flag, check_number
from equilabel.devices import fetch, is_on_cuda, take, threads
from equilabel.domains.grid import offsets
from equilabel.labeling import label, solve
from equilabel.labeling.problem import make_problem
from equilabel.measuring import check_spacing, count_labels, make_request
from equilabel.measuring.measurement import Measurement
from equilabel.measuring.moments import covariance
from equilabel.measuring.properties import make_plan

from .checks import beside, finite, place_like
from .filters import in_finest_pixels
from .markers import split_at_markers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.measuring import Counts, Request
    from equilabel.measuring.properties import Plan
    from equilabel.quantities import Length


# ---- Objects of an image

SHARE, STEPS = 0.2, 256  # of the range of gray values of a component, and its levels
FLAT, SOLID = 0.8, 0.65  # pixels, in 2D and 3D: smaller ones cut rings; docs/guide.md has figures
FLATTEST = 1e9  # largest ratio of spacings that is distinguished


def split_touching(
    labels_or_mask: ArrayLike,
    *,
    markers: ArrayLike | None = None,
    image: ArrayLike | None = None,
    tolerance: Length | None = None,
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
        objects.
    markers : array of bool or int, optional
        Where objects are, one marker or more for each: objects with several markers are split among
        them, and nothing else is split. A mask, whose components are the markers, or labels.
    image : array, optional
        Gray values: objects are split along dark lines instead of at necks. Smooth them first.
    tolerance : float or str, optional
        Smallest difference of the two radii, in pixels or with a unit: 1.5, "1.5px", "0.4um". A
        smaller one splits more objects. Default 0.8 pixels, with three axes 0.65; more if the axes
        differ, by the root mean square of their spacing. For round objects, such as nuclei, 0.5
        finds more of those that touch. With an `image`, a share of 0 to 1 of the range of gray
        values in the component, by which the line between two parts must be darker than the
        brightest pixel of the dimmer one. Default 0.2.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, in any unit. Default 1. If the
        axes differ, a `tolerance` in pixels refers to the smallest spacing.
    unit : str, optional
        Unit of `spacing`: "µm", "nm", ... Required if `tolerance` has a unit.
    connectivity, stacked
        As for `label`.

    Returns
    -------
    array of int32 or int64
        Objects numbered 1 to N in raster order of their first pixels, as by `label`, on the device
        of the input.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the image is of floats that are not whole numbers.

    See Also
    --------
    segment, grow

    Notes
    -----
    Components are labeled, measured and split on the device that holds the array; those whose boxes
    have 2^20 pixels or more are split on the CPU. Each pixel is assigned to the object whose
    largest disk is reached from it along the widest path, the nearest of equal ones.

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
    if markers is not None or image is not None:
        objects = fetch(solve(problem).labels)
        rule = make_rule(0.0, given or (1.0,) * rank, connectivity or rank, stacked)
        values = None if image is None else beside("image", image, objects)
        if markers is None:
            rule = rule._replace(tolerance=check_share("tolerance", tolerance))
        return place_like(source, split_otherwise(objects, markers, values, rule))
    wanted = usual_tolerance(given or (1.0,) * rank) if tolerance is None else tolerance
    depth = in_finest_pixels("tolerance", wanted, given, unit)
    request = make_request((), None, shape, spacing, stacked=stacked)
    request = with_shapes(request, first=not is_on_cuda(source))
    labels, _, _, counts, *_ = solve(problem, request, counted=True)
    found = split_components(labels, counts, depth, given or (1.0,) * rank, connectivity or rank)
    if found is None and problem.numbered_by_columns:
        whole = np.ones(len(counts.labels), np.int64)
        found = number_parts(labels, fetch(labels), counts, whole, whole)
    answer: HostArray = labels if found is None else found[0]
    return answer


def usual_tolerance(spacing: Sequence[float]) -> float:
    """Return the tolerance, in pixels along the axis of the smallest spacing.

    >>> usual_tolerance((1, 1)), usual_tolerance((2, 2, 2)), round(usual_tolerance((2, 1, 1)), 3)
    (0.8, 0.65, 0.919)
    """
    with np.errstate(over="ignore"):
        sides = np.asarray(spacing) / min(spacing)
    base = FLAT if len(sides) < 3 else SOLID
    return base * float(np.sqrt(np.mean(np.minimum(sides, FLATTEST) ** 2)))


def check_share(name: str, tolerance: Any) -> float:
    """Return the tolerance of a split by gray values, or raise TypeError or ValueError."""
    return SHARE if tolerance is None else check_number(name, tolerance, 0, 1)


def split_otherwise(
    labels: HostArray, markers: Any, image: HostArray | None, rule: Rule
) -> HostArray:
    """Split components at markers, along dark lines of an image, or both; number all objects."""
    if markers is None and image is not None:
        return _split_by_values(labels, image, rule)
    parts = split_at_markers(labels, markers, image, rule)
    how: Any = {"connectivity": rule.connectivity, "stacked": rule.stacked}
    numbers: HostArray = label(parts, device="cpu", **how)
    return numbers


def _split_by_values(labels: HostArray, image: HostArray, rule: Rule) -> HostArray:
    """Split components along dark lines, and number all objects; labels are overwritten."""
    from .cpu.parts import find_heights

    values = np.ascontiguousarray(finite(image))
    request = make_request(("bbox", "intensity_min"), values, labels.shape, stacked=rule.stacked)
    counts = count_labels(labels, request.values, request.plan)
    if not len(counts.labels):
        return labels
    found: Any = counts.values
    lows, highs = (np.append(0.0, each[:, 0]) for each in (found.lows, found.highs))
    known = lows, np.where(highs > lows, highs - lows, 1.0), STEPS
    heights = np.empty(labels.shape, np.int32)
    flat, pixels, levels = labels.reshape(-1), values.reshape(-1), heights.reshape(-1)
    cuts = threads.ranges(labels.size, labels.size)
    tasks = [(flat[a:b], pixels[a:b], *known, levels[a:b]) for a, b in cuts]
    threads.each(find_heights, tasks)
    parts, several = find_parts(labels, boxes_of(counts), rule, heights)
    objects: HostArray = number_parts(labels, labels, counts, parts, several)[0]
    return objects


def split_components(
    labels: Array, counts: Counts, tolerance: float, spacing: Sequence[float], connectivity: int
) -> tuple[Array, int] | None:
    """Split the components that are several objects; return new labels and their number, or None.

    `labels` are 1 to N in raster order and may be overwritten; `counts` are theirs, of
    `shape_properties`. `tolerance` is in pixels of the smallest spacing.
    """
    if len(spacing) < 2:
        return None
    rule = make_rule(tolerance, spacing, connectivity, counts.layout.stacked)
    chosen = np.flatnonzero(may_touch(counts, tolerance, rule.distances))
    if not len(chosen):
        return None
    boxes = boxes_of(counts)
    if is_on_cuda(labels):
        made = _split_on_cuda(labels, boxes, chosen, rule)
        if made is not None:
            return made if made[1] > len(boxes) else None
    host = np.ascontiguousarray(fetch(labels))
    parts, found = find_parts(host, boxes[chosen], rule)
    several = np.ones(len(boxes), np.int64)
    several[chosen] = found
    return number_parts(labels, host, counts, parts, several) if several.max() > 1 else None


def _split_on_cuda(
    labels: Array, boxes: NDArray[np.int64], chosen: NDArray[np.intp], rule: Rule
) -> tuple[Array, int] | None:
    """Split components on a GPU; return new labels and their number, or None if boxes overlap."""
    from .cuda.cells import find_parts, number_again, place_parts

    axes, own = labels.ndim, boxes[chosen]
    margins = np.array([0] * rule.stacked + [1] * len(rule.distances))
    sides = own[:, 1 + axes :] - own[:, 1 : 1 + axes] + 2 * margins
    cells = sides.prod(axis=1, dtype=np.float64)
    if cells.sum() > CROPS * labels.size:
        return None
    count, less = len(boxes), 0
    for box in own[cells >= LARGE]:  # a block of threads would have it alone
        found = split_alone(labels, box, count, rule)
        count, less = count + found, less + (found > 0)
    own, sides, cells = own[cells < LARGE], sides[cells < LARGE], cells[cells < LARGE]
    order = np.argsort(-cells, kind="stable")  # the largest take longest
    own, sides = own[order], sides[order]
    sizes, how = sides.prod(axis=1), _arguments(rule, int(sides.max(initial=1)))
    for a, b in _cuts(sizes, max(labels.size // BATCHES, LARGE)):
        ends = np.cumsum(sizes[a:b])
        spans = np.stack([own[a:b, 0], ends - sizes[a:b], ends], axis=1)
        places = np.hstack([spans, own[a:b, 1 : 1 + axes] - margins, sides[a:b]])
        parts, several = find_parts(labels, places, rule.connectivity, how)
        split = several > 1
        if split.any():
            places, several = places[split], several[split]
            places[:, 0] = count + np.cumsum(several) - several  # the label before the first part's
            place_parts(labels, places, parts)
            count, less = count + int(several.sum()), less + len(several)
    if less:
        number_again(labels, count)
    return labels, count - less


def split_alone(labels: Array, box: NDArray[np.int64], count: int, rule: Rule) -> int:
    """Split a component on the host, and label its parts from `count` + 1 on.

    Returns how many there are, 0 if it stays whole.
    """
    first, last = box[1:].reshape(2, -1)
    begin = np.maximum(first - 1, 0)  # of its neighbors too: the end of an image is no background
    crop = labels[tuple(map(slice, begin, last + 1))]
    host = np.ascontiguousarray(fetch(crop))
    own = np.concatenate([box[:1], first - begin, last - begin])
    parts, several = find_parts(host, own[np.newaxis], rule)
    if several[0] < 2:
        return 0
    crop[crop == box[0]] = place_like(crop, parts[host == box[0]] + host.dtype.type(count))
    return int(several[0])


def boxes_of(counts: Counts) -> NDArray[np.int64]:
    """Return label, first and last + 1 coordinates of each component, (N, 1 + 2 axes)."""
    return np.concatenate([counts.labels[:, None], counts.begins, counts.ends], axis=1)


def number_parts(
    labels: Array, host: HostArray, counts: Counts, parts: HostArray, several: HostArray
) -> tuple[Array, int]:
    """Renumber components and parts in raster order; return labels like `labels`, and how many.

    `host` are the labels in memory, which are overwritten, `counts` theirs, `parts` the part of
    each pixel, from 1, and `several`, (N,), how many parts there are; one is the whole.
    """
    from equilabel.devices.cpu.renumbering import renumber

    from .cpu.parts import place_parts

    flat, shape, boxes = host.reshape(-1), np.array(host.shape), boxes_of(counts)
    total = len(boxes)
    if not counts.layout.first:
        plan = make_plan((), (), host.ndim, stacked=False, even=True, first=True)
        counts = count_labels(host, None, plan)
    firsts = counts.first_pixels
    chosen = np.flatnonzero(several > 1)
    if len(chosen):
        ends = np.cumsum(several[chosen])
        begins, more = ends - several[chosen], np.full(ends[-1], -1)
        tasks = []
        for a, b in _shares(boxes[chosen]):
            own = (boxes[chosen[a:b]], total + 1 + begins[a:b], parts.reshape(-1))
            tasks.append((flat, shape, *own, more[begins[a] : ends[b - 1]]))
        threads.each(place_parts, tasks)
        firsts[chosen] = host.size  # no pixel has their label any more
        firsts, total = np.append(firsts, more), total - len(chosen) + len(more)
    numbers = np.zeros(len(firsts) + 1, host.dtype)
    numbers[1 + np.argsort(firsts, kind="stable")] = np.arange(1, len(firsts) + 1)
    rows = threads.ranges(host.size, host.size, fine=True)
    threads.each(renumber, [(flat[a:b], numbers) for a, b in rows])
    return place_like(labels, host), total


# ---- Selection of components that may be several objects, from their counts

CONVEX = 0.99  # share of its ellipse of inertia that a convex component fills at least


def shape_properties(rank: int) -> tuple[str, ...]:
    """List the properties whose counts `may_touch` needs, for a number of spatial axes."""
    return {2: ("bbox", "inertia_tensor", "perimeter_edges"), 3: ("bbox", "inertia_tensor")}.get(
        rank, ("bbox",)
    )


def with_shapes(request: Request, *, first: bool) -> Request:
    """Return a request of what `split_components` needs; on a GPU first pixels take longer."""
    layout = request.plan.layout
    plan = _plan_of_shapes(layout.axes, layout.stacked, first)
    return replace(request, plan=plan, columns_on=None)


@lru_cache
def _plan_of_shapes(axes: int, stacked: bool, first: bool) -> Plan:
    return make_plan(shape_properties(axes - stacked), (), axes, stacked, even=True, first=first)


def may_touch(counts: Counts, tolerance: float, distances: Sequence[float]) -> NDArray[np.bool_]:
    """Select components that are neither too small for a neck nor surely convex: (N,) bool.

    `counts` are of `shape_properties`; `distances` are those of pixels.
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
    if rank > 3:
        return np.zeros(len(pixels), np.bool_)
    spread = covariance(found) + np.eye(rank) / 12  # pixels are squares, not points
    y, x, both = spread[:, 0, 0], spread[:, -1, -1], spread[:, 0, -1]  # NumPy's takes ten times
    determinant = y * x - both**2 if rank == 2 else np.linalg.det(spread)
    volume = {2: 4 * pi, 3: 4 / 3 * pi * 5**1.5}[rank] * np.sqrt(determinant)
    convex = pixels >= CONVEX * volume
    if rank == 2:
        faces = np.abs(found.counts.layout.steps).sum(axis=1) == 1
        runs = pixels[:, None] - found.group("pairs")[:, faces]  # of columns, and of rows
        convex &= (runs == (found.last - found.first)[:, ::-1]).all(axis=1)
    return np.asarray(convex)


# ---- Parts of components

CROPS = 2  # pixels of all boxes, per pixel of an image on a GPU, that fit into its memory
MANY = 40  # pixels of all boxes, per pixel of an image, from which on they are split together
TOGETHER = 2**14  # cells of the boxes of a task
FLOODED = 2**19  # pixels that are flooded before the run can be called off
MOST = 2**31 - 1  # cells of a box: they are numbered by 32 bits
LARGE = 2**20  # cells of a box from which on threads share it
BATCHES = 4  # pixels of an image on a GPU, per cell that there is memory for
BY_SHAPE = np.empty(0, np.int32)  # no heights


class Rule(NamedTuple):
    """The rule by which components are split."""

    tolerance: float  # in pixels along the axis of the smallest spacing
    distances: tuple[float, ...]  # of neighboring pixels along the spatial axes; the least is 1
    connectivity: int
    stacked: bool  # whether the first axis counts images


def make_rule(tolerance: float, spacing: Sequence[float], connectivity: int, stacked: bool) -> Rule:
    """Make the rule for images of a spacing."""
    distances = tuple(min(each / min(spacing), FLATTEST) for each in spacing)
    return Rule(tolerance, distances, connectivity, bool(stacked))


def find_parts(
    labels: HostArray, boxes: NDArray[np.int64], rule: Rule, heights: NDArray[np.int32] = BY_SHAPE
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Split components at their necks; return the part of each pixel and the numbers of parts.

    `boxes` are those of `boxes_of` of the ones to split. Parts are numbered from 1 in the order of
    their radii. In components of one part they are 0 or 1; those too thin for a seed have 0 parts.
    """
    from .cpu import parts as kernels

    parts, several = np.zeros(labels.shape, np.int32), np.zeros(len(boxes), np.int64)
    axes = labels.ndim
    sides = boxes[:, 1 + axes :] - boxes[:, 1 : 1 + axes] + 2
    cells = sides.prod(axis=1, dtype=np.float64)
    if cells.sum() > MANY * labels.size + TOGETHER and not heights.size:
        _split_sprawling(labels, boxes, rule, parts, several)
        return parts, several
    how = _arguments(rule, int(sides.max(initial=0)), by_shape=not heights.size)
    shape, flat, heights = np.array(labels.shape), labels.reshape(-1), heights.reshape(-1)
    given = (*how, heights, parts.reshape(-1))
    shares = np.cumsum(cells[cells >= LARGE]) / max(cells.sum(), 1)  # of the work that is done
    begins = np.append(0.0, shares)
    for number, one in enumerate(np.flatnonzero(cells >= LARGE)):
        with threads.portion(begins[number], shares[number]):
            several[one] = _split_large(flat, shape, boxes[one], *given)
    order = np.argsort(-cells, kind="stable")[len(shares) :]
    boxes, counts = boxes[order], several[order]
    tasks = [(flat, shape, boxes[a:b], *given, counts[a:b]) for a, b in _shares(boxes)]
    with threads.portion(begins[-1], 1):
        threads.each(kernels.find_parts, tasks)
    several[order] = counts
    return parts, several


def _split_large(
    labels: HostArray,
    shape: NDArray[np.int64],
    box: NDArray[np.int64],
    *given: Any,
) -> int:
    """Split a component as the kernel `find_parts` does, in threads, in pieces of work."""
    from .cpu import parts as kernels

    margins, steps, costs, scale, limits, heights, parts = given
    axes = len(shape)
    origin = box[1 : 1 + axes] - margins
    sides = box[1 + axes :] + margins - origin
    if sides.prod() > MOST:
        message = (
            f"labels_or_mask must have components whose boxes have up to {MOST:,} pixels; got one "
            f"of {sides.prod():,}. Raise the threshold, or use `segment_chunked`, which leaves it "
            "whole."
        )
        raise ValueError(message)
    cells = np.empty(sides.prod(), np.uint8)
    kernels.copy_cells(labels, shape, box[0], origin, sides, cells)
    squares = np.zeros(cells.size, costs.dtype)
    if heights.size:
        kernels.copy_pixels(heights, shape, origin, sides, cells, squares, False)
    else:
        rank, size = int(margins.sum()), cells.size
        one, other = (np.empty(count, costs.dtype) for count in (size, size * (rank > 2)))
        image, far = (cells, sides, margins, costs), costs.dtype.type(limits[2])
        inner = int(sides[axes - rank + 1 :].prod())
        slabs = threads.ranges(int(sides[axes - rank]), size, fine=True)
        strips = threads.ranges(inner, size, kernels.STRIP, fine=True)
        for half in range(2 ** (rank - 1)):
            along = [(*image, far, half, *slab, one, other) for slab in slabs]
            threads.each(kernels.measure_slab, along)
            across = [(*image, half, *strip, one, other, squares) for strip in strips]
            threads.each(kernels.measure_along, across)
    offsets = steps @ np.append(sides[:0:-1].cumprod()[::-1], 1)
    marks = np.zeros(cells.size, np.int32)
    count = int(kernels.find_seeds(cells, squares, offsets, scale, limits, marks))
    if count > 1:
        flood = kernels.begin_flood(cells, squares, offsets, marks)
        level = flood[2].size
        while level:
            threads.check()
            threads.report(1 - level / cells.size)
            level = kernels.flood_down(*flood, offsets, marks, level, FLOODED)
        kernels.copy_pixels(parts, shape, origin, sides, cells, marks, True)
    return count


def _arguments(rule: Rule, longest: int, *, by_shape: bool = True) -> tuple[Any, ...]:
    """Return margins, steps, costs, scale and limits for the kernel `find_parts`."""
    from .cpu.parts import FAR, WHOLE

    whole = set(rule.distances) == {1.0} and longest < WHOLE
    dtype = np.dtype(np.int32 if whole else np.float64)
    even = 2 * np.arange(longest + 1)
    odd = even - 1
    halves = np.array([[odd, even], [even, odd]])  # to pixels before and after, in half pixels
    halves[..., 0] = 0
    lengths = [1.0] * rule.stacked + [1 if whole else one / 2 for one in rule.distances]
    costs = np.array([(halves * length) ** 2 for length in lengths], dtype)
    steps = offsets(len(lengths), rule.connectivity, stacked=rule.stacked).copy()
    margins = np.ones(len(lengths), np.int64)
    margins[: int(rule.stacked)] = 0
    width = 0.5 + rule.tolerance  # a neck has a width, too
    limits = np.array([rule.tolerance, width, FAR[dtype]])
    if not by_shape:
        limits = np.array([rule.tolerance * (STEPS - 1), 0.0, np.inf])
        return margins, steps, costs.astype(np.int32), 1.0, limits
    return margins, steps, costs, 0.5 if whole else 1.0, limits


def _shares(boxes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Divide components among tasks, by the pixels of their boxes."""
    axes = boxes.shape[1] // 2
    return _cuts(np.prod(boxes[:, 1 + axes :] - boxes[:, 1 : 1 + axes] + 2, axis=1), TOGETHER)


def _cuts(sizes: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Divide components among tasks of about `most` cells."""
    cuts = [0, *(np.flatnonzero(np.diff(np.cumsum(sizes) // most)) + 1).tolist(), len(sizes)]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


# ---- Components whose boxes overlap many times: split together in few images


def _split_sprawling(
    labels: HostArray,
    boxes: NDArray[np.int64],
    rule: Rule,
    parts: NDArray[np.int32],
    several: NDArray[np.int64],
) -> None:
    """Write what `find_parts` returns, for all components at once that do not touch each other."""
    from skimage.segmentation import relabel_sequential

    from equilabel.measuring.neighbors import contacts

    how = _arguments(rule, max(labels.shape) + 2)
    order = np.argsort(boxes[:, 0])
    chosen = boxes[order, 0]
    for frame in range(len(labels)) if rule.stacked else (...,):
        image, own = labels[frame], parts[frame]
        image, _, known = relabel_sequential(np.where(np.isin(image, chosen), image, 0))
        inside = order[np.searchsorted(chosen, known.out_values[known.out_values > 0])]
        colors = np.zeros(len(inside) + 1, np.int64)  # those that touch have different ones
        near = [set[int]() for _ in colors]
        for one, other in contacts(image)[["label", "neighbor"]].to_numpy().tolist():
            near[one].add(other)
            near[other].add(one)
        for number in range(1, len(colors)):
            taken = set(colors[list(near[number])].tolist())
            colors[number] = next(k for k in range(1, len(colors) + 1) if k not in taken)
        colored = colors.astype(np.min_scalar_type(colors.max(initial=0)))[image]
        sides = np.array([1] * rule.stacked + list(image.shape))
        for color in range(1, int(colors.max(initial=0)) + 1):
            box = np.concatenate([[color], 0 * sides, sides])
            _split_large(colored.reshape(-1), sides, box, *how, BY_SHAPE, own.reshape(-1))
        pixels = np.flatnonzero(own)
        pairs = np.stack([image.reshape(-1)[pixels], own.reshape(-1)[pixels]])
        known, which = np.unique(pairs, axis=1, return_inverse=True)
        numbers = np.arange(known.shape[1]) - np.searchsorted(known[0], known[0])
        own.reshape(-1)[pixels] = numbers[which.reshape(-1)] + 1
        several[inside] = np.bincount(known[0], minlength=len(inside) + 1)[1:]
