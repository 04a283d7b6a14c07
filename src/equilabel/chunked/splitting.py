"""Objects that touch, split in images in blocks, and a threshold for each of them.

Components are labeled across faces and measured. The task of each block that one reaches splits it
in its whole box, so the parts are the same in all of them. For thresholds, objects above Li's level
of 65,536, and dim ones above a lower level, are split; their pixels and sums add up over blocks.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.labeling.problem import make_problem
from equilabel.segmentation.binarization import MIXED, NECK, TOP, Levels, Scale, are_dim
from equilabel.segmentation.splitting import (
    MOST,
    boxes_of,
    find_parts,
    make_rule,
    may_touch,
    shape_properties,
)

from .checkpoints import noted
from .masks import (
    FilteredMask,
    Level,
    compare,
    count_block,
    has_pixels,
    keep_marked,
    problem_of_gray,
    problem_of_mask,
    survey,
)
from .sources import GraySource, expand
from .tables import ROWS, counted_blocks, merged_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem
    from equilabel.segmentation.splitting import Rule

    from .checkpoints import Saved
    from .masks import Mask, Masks
    from .outputs import Output
    from .sources import GrayPart, Loader
    from .tables import Counted

    Labels = Callable[[], HostArray]  # reads those of a block
    Slices = tuple[slice, ...]

NEAR = 4  # components that stand out of a block by up to this share of it are read with it
LEAST = 2**22  # elements of a box that is split in any case
NAMED = 3  # components that are left whole and named in a warning
CHOSEN = "chosen"  # a stage: components that may be several objects, and are small enough
WHOLE = ": all objects in one have the same threshold"
OWN = "own"  # a stage: the levels of objects, in parts of `ROWS` labels


def split_components(
    rule: Rule,
    masks: Masks,
    problem: Callable[..., Problem],
    source: Loader,
    device: str,
    follows: str = "",
) -> Output:
    """Store the part of each pixel, 1 where a component stays whole; warn of what `follows`."""
    names = shape_properties(len(rule.distances))
    how: Any = {"problem": problem, "connectivity": rule.connectivity, "device": device}
    components, saved, counted = masks.counted("components", source, names, **how)
    parts = Parts(rule, counted, saved, components)
    blocks_of = counted_blocks(saved, masks.blocks)
    tasks = ((parts, one, some) for one, some in sorted(blocks_of.items()))
    found = masks.run.each("choose", choose_components, tasks, len(blocks_of))
    _warn_of(sorted(box for some in found for box in some), parts.most, follows)
    return masks.made("split", lambda part: partial(split_block, parts, part), np.uint32)


@dataclass(frozen=True)
class Parts:
    """The parts of components, block by block."""

    rule: Rule
    counted: Counted  # the counts by which components are chosen
    saved: Saved  # that of the components
    components: Output

    @property
    def most(self) -> int:
        """Elements of the largest box that is split."""
        return min(MOST, max(LEAST, prod(self.counted.blocks.sides)))


def choose_components(parts: Parts, stretch: int, some: Sequence[int]) -> list[list[int]]:
    """Store the boxes of components that may be several; return those that are too large."""
    counts = merged_counts(parts.counted, parts.saved, stretch, some)
    boxes = boxes_of(counts)[may_touch(counts, *parts.rule[:2])]
    axes = boxes.shape[1] // 2
    sides = boxes[:, 1 + axes :] - boxes[:, 1 : 1 + axes]
    fits = sides.prod(axis=1, dtype=np.float64) <= parts.most
    parts.saved.save(CHOSEN, stretch, {"boxes": [boxes[fits]]})
    return [box.tolist() for box in boxes[~fits, 1:]]


def split_block(parts: Parts, part: Slices) -> HostArray:
    """Return the number of the part of each pixel of a block, 0 in the background."""
    blocks = parts.counted.blocks
    margin = [int(axis >= blocks.stacked) for axis in range(len(part))]
    read = parts.components.read
    numbers = (read(part) > 0).astype(np.uint32)
    boxes = _boxes_in(parts, part)
    axes = len(part)
    first, last = boxes[:, 1 : 1 + axes] - margin, boxes[:, 1 + axes :] + margin
    reach = [(one.stop - one.start) // NEAR + 1 for one in part]
    near, _ = expand(part, reach, blocks.shape)
    low, high = np.maximum(first, 0), np.minimum(last, blocks.shape)
    close = (low >= [one.start for one in near]).all(axis=1)
    close &= (high <= [one.stop for one in near]).all(axis=1)
    together = [np.flatnonzero(close)] if close.any() else []
    for which in [*together, *np.flatnonzero(~close)[:, None]]:
        begin, end, some = low[which].min(axis=0), high[which].max(axis=0), boxes[which]
        region = tuple(map(slice, begin.tolist(), end.tolist()))
        labels = np.ascontiguousarray(read(region))
        moved = some.copy()
        moved[:, 1 : 1 + axes] -= begin
        moved[:, 1 + axes :] -= begin
        found, _ = find_parts(labels, moved, parts.rule)
        common = [
            (max(one.start, other.start), min(one.stop, other.stop))
            for one, other in zip(part, region, strict=True)
        ]
        here, there = (
            tuple(
                slice(a - one.start, b - one.start) for (a, b), one in zip(common, of, strict=True)
            )
            for of in (part, region)
        )
        np.copyto(numbers[here], found[there], where=found[there] > 0, casting="unsafe")
    return numbers


def _boxes_in(parts: Parts, part: Slices) -> NDArray[np.int64]:
    """Return the boxes of components to split that reach a block, (N, 1 + 2 axes)."""
    blocks = parts.counted.blocks
    place = [one.start // side for one, side in zip(part, blocks.sides, strict=True)]
    known = np.unique(parts.saved.numbers(int(np.ravel_multi_index(place, blocks.counts))))
    known = known[known > 0].astype(np.int64)
    found = [np.empty((0, 1 + 2 * len(part)), np.int64)]
    for stretch in np.unique((known - 1) // ROWS).tolist():
        boxes = parts.saved.load(CHOSEN, stretch, "boxes")[0]
        found.append(boxes[np.isin(boxes[:, 0], known)])
    return np.concatenate(found)


def _warn_of(boxes: list[list[int]], most: int, follows: str) -> None:
    """Name components that are too large to split."""
    if not boxes:
        return
    axes = len(boxes[0]) // 2
    named = "; ".join(
        ", ".join(f"{a}:{b}" for a, b in zip(box[:axes], box[axes:], strict=True))
        for box in boxes[:NAMED]
    )
    more = "" if len(boxes) <= NAMED else f" and {len(boxes) - NAMED:,} more"
    message = (
        f"{len(boxes):,} component{'s' * (len(boxes) > 1)} stayed whole: {named}{more}. Boxes of "
        f"more than {most:,} pixels are not split in chunks{follows}. Pass larger chunks, or a "
        "higher number as threshold."
    )
    warnings.warn(message, stacklevel=2)


# ---- A threshold for each object


def threshold_objects_of_blocks(
    masks: Masks, source: GraySource, spacing: Sequence[float], device: str
) -> tuple[Level, Mask]:
    """Return the level above which objects are searched, and the foreground.

    A warning names objects that are too large to be split, whose parts have one level.
    """
    blocks, run = masks.blocks, masks.run
    lowest, highest = noted(masks.saved, "ends.json", lambda: survey(blocks, source, run)[1:])
    if not lowest < highest:
        nowhere = partial(compare, level=Level(math.inf, False), dark=False)
        level = lowest if lowest == highest else math.nan
        return Level(level, True), FilteredMask(source, nowhere)
    kind = source.dtype.type
    scale = Scale.between(kind(lowest), kind(highest), source.dark)
    scaled = FilteredMask(source, partial(to_gray, scale=scale))
    made = masks.made("gray", scaled.loader, np.uint16)
    axes = len(blocks.shape)
    gray = GraySource(made, (None,) * axes, None, (0.0,) * axes)
    tasks = ((gray.loader(part), 0, TOP) for part in blocks.parts())
    counts: Any = sum(some for some, _ in run.each("histogram", count_block, tasks, blocks.number))
    levels = Levels.of(np.trim_zeros(counts, "b"), 0)
    rule = make_rule(NECK, spacing, len(spacing), blocks.stacked)
    how: Any = {"connectivity": rule.connectivity, "stacked": rule.stacked, "device": device}
    li, low = (
        partial(problem_of_gray, level=Level(level, False), dark=False, **how)
        for level in (levels.li, levels.dim)
    )
    bright = Objects.of(masks.within("bright"), rule, li, made, gray, device)
    within = masks.within("dim")
    chosen: Any = {
        "marked": partial(compare, level=Level(levels.li, False), dark=False),
        "weights": (-10, round(10 * MIXED)),  # more than 0 if the share of marked pixels is small
        "select": has_pixels,
        "painted": keep_marked,
    }
    chosen |= {"connectivity": rule.connectivity, "by_blocks": True}  # masks are made on the CPU
    mixed = within.made("mask", made.loader, np.bool_, problem=partial(low, device="cpu"), **chosen)
    dim = Objects.of(within, rule, partial(problem_of_mask, **how), mixed, gray, device)
    _save_levels(bright, dim, levels, gray, masks)

    def above_own(part: Slices) -> Callable[[], HostArray]:
        objects = ((one.saved, one.labels.loader(part)) for one in (bright, dim))
        return partial(compare_with_own, gray.loader(part), *objects)

    mask = masks.made("levels", above_own, np.bool_)
    return Level(scale.value_of(levels.li), False), mask


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects of an image in blocks, and how many pixels and which sum of gray values each has."""

    labels: Output
    saved: Saved  # that of the labels
    areas: NDArray[np.float64]  # (N + 1,), by label
    sums: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        masks: Masks,
        rule: Rule,
        problem: Callable[..., Problem],
        pixels: Output,
        gray: GraySource,
        device: str,
    ) -> Objects:
        """Label the components of pixels across faces, split them, and count the parts."""
        how: Any = {"connectivity": rule.connectivity, "device": device}
        if len(rule.distances) > 1:
            pixels = split_components(rule, masks, problem, pixels.loader, device, WHOLE)
            problem = partial(make_problem, background=0, stacked=rule.stacked, **how)
        both, names = gray.masked(pixels.loader), ("area", "intensity_sum")
        labels, saved, counted = masks.counted("objects", both, names, problem=problem, **how)
        table: Any = counted.make_tables(saved, None, masks.run)
        return cls(labels, saved, *(np.append(0.0, table[name]) for name in names))


def _save_levels(
    bright: Objects, dim: Objects, levels: Levels, gray: GraySource, masks: Masks
) -> None:
    """Store the level of each object, `TOP` for parts that are no dim object.

    Bright objects lose the pixels of dim ones.
    """
    blocks = masks.blocks
    sources = (dim.labels, bright.labels, gray)
    tasks = (tuple(one.loader(part) for one in sources) for part in blocks.parts())
    found = [*masks.run.each("overlap", count_overlaps, tasks, blocks.number)]
    parts, owners, pixels, sums = np.concatenate(found).T
    shares = np.bincount(parts, pixels, len(dim.areas)) / np.maximum(dim.areas, 1)
    chosen = np.zeros(len(shares), np.bool_)
    if len(bright.areas) > 1:
        chosen[1:] = are_dim(dim.areas[1:], shares[1:], bright.areas[1:])
    lost = chosen[parts]
    left, rest = (
        known - np.bincount(owners[lost], taken[lost], len(known))
        for known, taken in ((bright.areas, pixels), (bright.sums, sums))
    )
    own = np.where(chosen, levels.own(dim.sums / np.maximum(dim.areas, 1)), TOP)
    for objects, each in ((bright, levels.own(rest / np.maximum(left, 1))), (dim, own)):
        each[0] = TOP
        for first in range(0, len(each), ROWS):
            record = {"levels": [each[first : first + ROWS].astype(np.uint16)]}
            objects.saved.save(OWN, first // ROWS, record)


def compare_with_own(gray: GrayPart, *objects: tuple[Saved, Labels]) -> HostArray:
    """Return the foreground of a block, from its bright and its dim objects."""
    usual, own = (_levels_of(saved, load()) for saved, load in objects)
    found: HostArray = gray().pixels > np.where(own < TOP, own, usual)
    return found


def _levels_of(saved: Saved, labels: HostArray) -> HostArray:
    """Return the level of the object of each pixel; `TOP` in the background."""
    found = np.empty(labels.shape, np.uint16)
    stretches = labels // ROWS
    for stretch in np.flatnonzero(np.bincount(stretches.reshape(-1))).tolist():
        here = stretches == stretch
        found[here] = saved.load(OWN, stretch, "levels")[0][labels[here] - stretch * ROWS]
    return found


def count_overlaps(dim: Labels, bright: Labels, gray: GrayPart) -> NDArray[np.int64]:
    """Return both labels, pixels and sums of each pair of a dim and a bright object, (K, 4)."""
    parts, owners = dim(), bright()
    both = (parts > 0) & (owners > 0)
    known, places = np.unique(owners[both], return_inverse=True)
    keys = parts[both].astype(np.int64) * max(len(known), 1) + places
    pairs, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.bincount(which, gray().pixels[both], len(pairs)).astype(np.int64)
    one, other = np.divmod(pairs, max(len(known), 1))
    return np.stack([one, known[other].astype(np.int64), counts, sums], axis=1)


def to_gray(pixels: HostArray, first: int, *, scale: Scale) -> HostArray:
    """Return the gray values of pixels."""
    gray = np.empty(pixels.shape, np.uint16)
    scale.convert(pixels, gray)
    return gray
