"""A threshold for each object of an image in blocks, as in `segmentation.binarization`.

Objects above Li's level of 65,536, and dim ones above a lower level, are labeled and split across
faces; their pixels and sums add up over blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.labeling.problem import make_problem
from equilabel.segmentation.binarization import MIXED, NECK, TOP, Levels, Scale, are_dim
from equilabel.segmentation.splitting import make_rule

from .checkpoints import noted
from .masks import (
    FilteredMask,
    Level,
    MaskedSource,
    compare,
    count_block,
    has_pixels,
    keep_marked,
    problem_of_gray,
    problem_of_mask,
    survey,
)
from .sources import GraySource
from .splitting import split_components
from .tables import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem
    from equilabel.segmentation.splitting import Rule

    from .checkpoints import Saved
    from .masks import Mask, Masks
    from .sources import GrayPart, Stored

    Labels = Callable[[], HostArray]  # reads those of a block
    Slices = tuple[slice, ...]

WHOLE = ": all objects in one have the same threshold"
OWN = "own"  # a stage: the levels of objects, in parts of `ROWS` labels


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
    made = masks.made("gray", FilteredMask(source, partial(to_gray, scale=scale)), np.uint16)
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
    mixed = within.made("mask", made, np.bool_, problem=partial(low, device="cpu"), **chosen)
    dim = Objects.of(within, rule, partial(problem_of_mask, **how), mixed, gray, device)
    _save_levels(bright, dim, levels, gray, masks)
    mask = masks.made("levels", AboveOwn(gray, bright, dim), np.bool_)
    return Level(scale.value_of(levels.li), False), mask


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects of an image in blocks, and how many pixels and which sum of gray values each has."""

    labels: Stored
    saved: Saved  # that of the labels
    areas: NDArray[np.float64]  # (N + 1,), by label
    sums: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        masks: Masks,
        rule: Rule,
        problem: Callable[..., Problem],
        pixels: Stored,
        gray: GraySource,
        device: str,
    ) -> Objects:
        """Label the components of pixels across faces, split them, and count the parts."""
        how: Any = {"connectivity": rule.connectivity, "device": device}
        if len(rule.distances) > 1:
            pixels = split_components(rule, masks, problem, pixels, device, WHOLE)
            problem = partial(make_problem, background=0, stacked=rule.stacked, **how)
        both, names = MaskedSource(pixels, gray), ("area", "intensity_sum")
        how |= {"problem": problem}
        labels, saved, counted = masks.counted("objects", both, names, **how)
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


@dataclass(frozen=True)
class AboveOwn:
    """The pixels above the level of their object, block by block."""

    gray: GraySource
    bright: Objects
    dim: Objects

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a block."""
        objects = ((one.saved, one.labels.loader(part)) for one in (self.bright, self.dim))
        return partial(compare_with_own, self.gray.loader(part), *objects)


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
