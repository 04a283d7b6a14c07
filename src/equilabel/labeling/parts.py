"""Images of more than 2^31 pixels on a GPU: labeled in parts that are joined."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import is_on_cuda, library, shares_memory
from equilabel.domains.graph import Graph
from equilabel.papers import load_passes, load_recipe

from .graphs import label_graph
from .output import LARGEST, MOST, planes_of_part
from .problem import drop_short_axes, make_grid

if TYPE_CHECKING:
    from equilabel.array_types import Array, HostArray

    from .problem import Problem


def label_large(problem: Problem) -> tuple[Array, int] | None:
    """Label an image of more than `MOST` pixels that can be cut; None as `label_in_parts`."""
    image, out = drop_short_axes(problem.image, problem.stacked), problem.out
    if out is not None and out.flags.c_contiguous:
        out = out.reshape(image.shape)
    hops = min(problem.connectivity, image.ndim - problem.stacked)
    found = label_in_parts(problem._replace(image=image, out=out, connectivity=hops))
    if found is None:
        return None
    return found[0].reshape(problem.image.shape) if problem.out is None else problem.out, found[1]


def label_in_parts(problem: Problem, most: int = MOST) -> tuple[Array, int] | None:
    """Label an image in parts of up to `most` pixels; return labels and their number, or None.

    For `runs` on the device of the image, without periodic axes. Labels are int32 or `problem.out`;
    None if these cannot hold them or kernels cannot write there.
    """
    image, out = problem.image, problem.out
    shape, planes = image.shape, planes_of_part(image.shape, most)
    if planes == shape[0] or not (out is None or _is_room(out, image)):
        return None
    labels = library(image).empty(shape, np.int32) if out is None else out
    view = labels.view(f"i{labels.itemsize}")
    counts = []
    for begin in range(0, shape[0], planes):
        part = problem._replace(image=image[begin : begin + planes], out=None)
        counts.append(_label_part(part, view[begin : begin + planes]))
        if sum(counts) > LARGEST and labels.itemsize == 4:
            return None
    before = np.cumsum([0, *counts])
    merged, roots = _joined(problem, view, planes, before)
    numbers = _numbers(merged, roots, view.dtype, int(before[-1]))
    for k, begin in enumerate(range(0, shape[0], planes)):
        own = numbers[int(before[k]) : int(before[k + 1])]
        if counts[k] and (k or len(merged)):  # the first part keeps its labels if nothing merges
            _renumber(view[begin : begin + planes], own)
    return labels, int(before[-1]) - len(merged)


def _is_room(out: Array, image: Array) -> bool:
    """Return whether kernels can write labels directly to the caller's array."""
    plain = out.flags.c_contiguous and out.itemsize in (4, 8)
    return bool(plain and not shares_memory(out, image))


def _label_part(problem: Problem, out: Array) -> int:
    """Label one part in its place; return its number of labels."""
    kernels = load_passes(problem.method.name, problem.device)
    room = out.reshape(-1)
    options: dict[str, Any] = dict(problem.options)
    if kernels.TAKES_ROOM:
        options["room"] = room
    table = load_recipe(problem.method.name)(kernels, make_grid(problem), **options)
    count = int(kernels.number(table))
    kernels.paint(table, room, False)
    return count


def _joined(problem: Problem, labels: Array, planes: int, before: HostArray) -> tuple[Array, Array]:
    """Return (M,) labels to merge, ascending, and the smallest label of each one's component.

    Both are on the device and counted through all parts: `labels` of each part start at 1, and
    `before`, (parts + 1,), is the number of labels in earlier parts.
    """
    xp, count = library(labels), int(before[-1]) + 1
    empty = xp.empty(0, np.int64)
    if problem.stacked:
        return empty, empty
    keys = [
        _touching(problem, labels, begin, int(before[k]), int(before[k + 1]), count)
        for k, begin in enumerate(range(planes, labels.shape[0], planes))
    ]
    pairs = xp.concatenate([xp.stack([key // count, key % count]) for key in keys], axis=1)
    if not pairs.size:
        return empty, empty
    names, ends = xp.unique(pairs.reshape(-1), return_inverse=True)
    graph = Graph.from_edges(*ends.reshape(2, -1), size=len(names))
    _, first, own = xp.unique(label_graph(graph), return_index=True, return_inverse=True)
    roots = names[first[own]]
    later = roots != names
    return names[later], roots[later]


def _touching(
    problem: Problem, labels: Array, begin: int, before: int, after: int, count: int
) -> Array:
    """Return pairs of labels that touch where a part begins, as one times `count` plus the other.

    They are counted through all parts.
    """
    xp, sides = library(labels), labels.shape[1:]
    last, first = labels[begin - 1], labels[begin]
    values = problem.image[begin - 1], problem.image[begin]
    found = []
    for step in product((-1, 0, 1), repeat=len(sides)):
        if np.count_nonzero(step) >= problem.connectivity:
            continue
        near = tuple(slice(max(0, s), n + min(0, s)) for s, n in zip(step, sides, strict=True))
        far = tuple(slice(max(0, -s), n + min(0, -s)) for s, n in zip(step, sides, strict=True))
        one, other = last[far].reshape(-1), first[near].reshape(-1)
        touch = (one > 0) & (other > 0)
        if problem.foreground.values:
            touch &= (values[0][far] == values[1][near]).reshape(-1)
        again = (one[1:] == one[:-1]) & (other[1:] == other[:-1]) & touch[:-1]
        touch[1:] &= ~again
        at = xp.flatnonzero(touch)
        found.append((one[at].astype("i8") + before) * count + other[at] + after)
    return xp.unique(xp.concatenate(found))


def _numbers(merged: Array, roots: Array, dtype: Any, count: int) -> Array:
    """Return the final numbers of labels 1 to `count`."""
    xp = library(merged)
    kept = xp.ones(count, dtype)
    kept[merged - 1] = 0
    numbers = xp.cumsum(kept, dtype=dtype)
    numbers[merged - 1] = numbers[roots - 1]
    return numbers


def _renumber(labels: Array, numbers: Array) -> None:
    """Replace labels 1, 2, ... by their numbers, in place."""
    if is_on_cuda(labels):
        from equilabel.devices.cuda.blocks import renumber_part

        renumber_part(labels.reshape(-1), numbers)
    else:
        labels[...] = np.concatenate([[0], numbers])[labels]
