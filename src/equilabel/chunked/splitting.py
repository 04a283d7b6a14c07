"""Objects that touch, split in images that need not fit into memory.

Components are labeled across faces and measured. The task of each block that one reaches splits it
in its whole box, so the parts are the same in all of them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.segmentation.splitting import (
    MOST,
    boxes_of,
    find_parts,
    may_touch,
    shape_properties,
)

from .sources import expand
from .tables import ROWS, counted_blocks, merged_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem
    from equilabel.segmentation.splitting import Rule

    from .checkpoints import Saved
    from .masks import Masks
    from .sources import Readable, Stored
    from .tables import Counted

    Slices = tuple[slice, ...]

NEAR = 4  # components that stand out of a block by up to this share of it are read with it
LEAST = 2**22  # elements of a box that is split in any case
NAMED = 3  # components that are left whole and named in a warning
CHOSEN = "chosen"  # a stage: components that may be several objects, and are small enough


def split_components(
    rule: Rule,
    masks: Masks,
    problem: Callable[..., Problem],
    source: Readable,
    device: str,
    follows: str = "",
) -> Stored:
    """Store the part of each pixel, 1 where a component stays whole; warn of what `follows`."""
    names = shape_properties(len(rule.distances))
    how: Any = {"problem": problem, "connectivity": rule.connectivity, "device": device}
    components, saved, counted = masks.counted("components", source, names, **how)
    parts = Parts(rule, counted, saved, components)
    blocks_of = counted_blocks(saved, masks.blocks)
    tasks = ((parts, one, some) for one, some in sorted(blocks_of.items()))
    found = masks.run.each("choose", choose_components, tasks, len(blocks_of))
    _warn_of(sorted(box for some in found for box in some), parts.most, follows)
    return masks.made("split", parts, np.uint32)


@dataclass(frozen=True)
class Parts:
    """The parts of components, block by block."""

    rule: Rule
    counted: Counted  # the counts by which components are chosen
    saved: Saved  # that of the components
    components: Stored

    @property
    def most(self) -> int:
        """Elements of the largest box that is split."""
        return min(MOST, max(LEAST, prod(self.counted.blocks.sides)))

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a block, which splits its components."""
        return partial(split_block, self, part)


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
    read = parts.components.output.read
    numbers = (read(part) > 0).astype(np.uint32)
    boxes = _boxes_in(parts, part)
    axes = len(part)
    first, last = boxes[:, 1 : 1 + axes] - margin, boxes[:, 1 + axes :] + margin
    reach = [(one.stop - one.start) // NEAR + 1 for one in part]
    near, _ = expand(part, reach, blocks.shape)
    low, high = np.maximum(first, 0), np.minimum(last, blocks.shape)
    close = (low >= [one.start for one in near]).all(axis=1)
    close &= (high <= [one.stop for one in near]).all(axis=1)
    regions = (
        [(low[close].min(axis=0), high[close].max(axis=0), boxes[close])] if close.any() else []
    )
    regions += [(low[k], high[k], boxes[k : k + 1]) for k in np.flatnonzero(~close)]
    for begin, end, some in regions:
        region = tuple(map(slice, begin.tolist(), end.tolist()))
        labels = np.ascontiguousarray(read(region))
        moved = some.copy()
        moved[:, 1 : 1 + axes] -= begin
        moved[:, 1 + axes :] -= begin
        found, _ = find_parts(labels, moved, parts.rule)
        _keep(numbers, found, part, region)
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


def _keep(numbers: HostArray, found: HostArray, part: Slices, region: Slices) -> None:
    """Copy the parts of a region to where a block has them."""
    common = [
        (max(one.start, other.start), min(one.stop, other.stop))
        for one, other in zip(part, region, strict=True)
    ]
    here, there = (
        tuple(slice(a - one.start, b - one.start) for (a, b), one in zip(common, of, strict=True))
        for of in (part, region)
    )
    np.copyto(numbers[here], found[there], where=found[there] > 0, casting="unsafe")


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
