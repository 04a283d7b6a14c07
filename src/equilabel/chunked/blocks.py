"""Blocks of an image, labels at their faces, and components that are merged across them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import fetch_block, is_on_cuda, own_gpu, send_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

    from .checkpoints import Faces, Saved


LARGE = 2**24  # elements of a block by default


@dataclass(frozen=True)
class Blocks:
    """Blocks of equal sides of an image without empty axes; the last of an axis may be shorter."""

    shape: tuple[int, ...]
    sides: tuple[int, ...]
    stacked: bool = False  # whether the first axis counts independent images
    periodic: tuple[bool, ...] = ()  # whether the last block along an axis touches the first one

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        pairs = zip(self.shape, self.sides, strict=True)
        return tuple(-(-length // side) for length, side in pairs)

    @cached_property
    def number(self) -> int:
        """Number of blocks; they are numbered from 0 in raster order."""
        return prod(self.counts)

    def index(self, block: int) -> tuple[int, ...]:
        """Return the position of a block along each axis."""
        return tuple(map(int, np.unravel_index(block, self.counts)))

    def slices(self, block: int) -> tuple[slice, ...]:
        """Return the part of the image that a block covers."""
        each = zip(self.index(block), self.sides, self.shape, strict=True)
        return tuple(
            slice(place * side, min((place + 1) * side, length)) for place, side, length in each
        )

    def parts(self) -> Iterator[tuple[slice, ...]]:
        """Yield the part of the image that each block covers."""
        return map(self.slices, range(self.number))

    def neighbor(self, block: int, step: Sequence[int]) -> int | None:
        """Return the block one step away, or None beyond the border of the image."""
        there = tuple(np.add(np.unravel_index(block, self.counts), step))
        modes: Any = tuple("wrap" if around else "raise" for around in self.periodic) or "raise"
        try:
            return int(np.ravel_multi_index(there, self.counts, mode=modes))
        except ValueError:
            return None

    def steps_forward(self, hops: int) -> list[tuple[int, ...]]:
        """List one of the two opposite steps to each neighbor, up to `hops` axes at once."""
        axes = len(self.shape)
        return [
            step
            for step in product((-1, 0, 1), repeat=axes)
            if step > (0,) * axes and sum(map(abs, step)) <= hops and not (self.stacked and step[0])
        ]

    def steps_around(self) -> list[tuple[int, ...]]:
        """List the steps to all neighbors."""
        forward = self.steps_forward(len(self.shape))
        return forward + [tuple(-move for move in step) for step in forward]


def large_sides(
    shape: tuple[int, ...], stored: tuple[int, ...], most: int = LARGE
) -> tuple[int, ...]:
    """Return the sides of blocks of joined chunks: up to `most` elements or one chunk, as cubes."""
    sides = [min(side, length) for side, length in zip(stored, shape, strict=True)]
    while True:
        open_axes = [axis for axis, side in enumerate(sides) if side < shape[axis]]
        if not open_axes:
            return tuple(sides)
        axis = min(open_axes, key=lambda one: sides[one])
        if 2 * prod(sides) > most:
            return tuple(sides)
        sides[axis] = min(2 * sides[axis], shape[axis])


# ---- Labels at the faces of blocks, and pairs that touch there


def cut_faces(
    labels: Array, blocks: Blocks, block: int, depth: int, count: int
) -> tuple[tuple[HostArray, ...], tuple[HostArray, ...]]:
    """Copy the first and last `depth` layers of labels along each axis, where a block follows.

    Up to 65,535 labels (`count`) are copied as 16 bits.
    """
    dtype = np.dtype(np.uint16) if count < 2**16 else labels.dtype
    axes = len(labels.shape)
    cuts: dict[tuple[int, int], tuple[int, int, int]] = {}
    for axis in range(int(blocks.stacked), axes):
        for move in (-1, 1):
            if blocks.neighbor(block, [move * (one == axis) for one in range(axes)]) is not None:
                side = labels.shape[axis]
                span = (0, min(depth, side)) if move < 0 else (max(side - depth, 0), side)
                cuts[move, axis] = (axis, *span)
    found = dict(zip(cuts, _layers(labels, list(cuts.values()), dtype), strict=True))
    none = np.empty(0, dtype)
    lows, highs = (tuple(found.get((move, axis), none) for axis in range(axes)) for move in (-1, 1))
    return lows, highs


def _layers(
    labels: Array, cuts: list[tuple[int, int, int]], dtype: np.dtype[Any]
) -> list[HostArray]:
    """Copy some layers of labels; each cut is an axis, a first layer and a last + 1."""
    if not (cuts and is_on_cuda(labels)):
        spans = [(slice(None),) * axis + (slice(first, last),) for axis, first, last in cuts]
        return [labels[span].astype(dtype) for span in spans]
    from equilabel.devices.cuda.blocks import cut_faces

    shape, found, begin = labels.shape, [], 0
    flat = fetch_block(cut_faces(labels, cuts, dtype)).copy()
    for axis, first, last in cuts:
        sides = (*shape[:axis], last - first, *shape[axis + 1 :])
        found.append(flat[begin : begin + prod(sides)].reshape(sides))
        begin += prod(sides)
    return found


def pairs_across(
    block: int, blocks: Blocks, faces_of: Callable[[int], Faces], connectivity: int
) -> list[tuple[int, NDArray[np.int64]]]:
    """Return for each neighbor that follows a block the pairs of labels that touch, (K, 2)."""
    found = []
    for step in blocks.steps_forward(connectivity):
        other = blocks.neighbor(block, step)
        if other is None:
            continue
        here, there = faces_of(block), faces_of(other)
        flat = tuple(one for one, move in enumerate(step) if move)
        pairs = touching(
            here.toward(step, 1).squeeze(flat),
            there.toward([-move for move in step], 1).squeeze(flat),
            (here.values, there.values),
            connectivity - len(flat),
            blocks.stacked,
        )
        if len(pairs):
            found.append((other, pairs))
    return found


def touching(
    mine: HostArray,
    theirs: HostArray,
    values: tuple[HostArray, HostArray],
    hops: int,
    stacked: bool,
) -> NDArray[np.int64]:
    """Return pairs of labels of two adjacent layers that touch, (K, 2), with repetitions.

    `values` are as `Faces.values`. A neighbor may be `hops` steps to the side of the opposite
    element; it is not compared where the opposite element is one, because both are connected then.
    """
    shape = mine.shape + (1,) * (2 - mine.ndim)
    mine, theirs = mine.reshape(shape), theirs.reshape(shape)
    across, found = not stacked or len(shape) > 2, []
    for step in product((-1, 0, 1), repeat=len(shape) - 2):
        away = sum(map(abs, step))
        if away > hops or (stacked and any(step[:1])):
            continue
        for place in np.ndindex(shape[:-2]):
            there = tuple(k + move for k, move in zip(place, step, strict=True))
            if all(0 <= k < length for k, length in zip(there, shape, strict=False)):
                found.append(_paired(mine[place], theirs[there], values, hops - away, across))
    return np.concatenate(found)


def _paired(
    mine: HostArray,
    theirs: HostArray,
    values: tuple[HostArray, HostArray],
    hops: int,
    across: bool,
) -> NDArray[np.int64]:
    """Return pairs of two layers of two axes; `across` says whether neighboring rows touch."""
    from equilabel.runs.cpu.seams import list_pairs

    dtype = np.int64 if 8 in (mine.itemsize, theirs.itemsize) else np.int32
    layers = [
        np.array(one, dtype, order="C") for one in (mine, theirs)
    ]  # copies, because stored arrays are read-only
    same = [one.astype(np.int64) for one in values]
    ways = (hops > 0 and across, hops > 0, hops > 1)
    room = mine.size // 4 + 16
    while True:
        pairs = np.empty((room, 2), np.int64)
        count = list_pairs(*layers, *ways, *same, pairs)
        if count <= room:
            return pairs[:count].copy()
        room = count


# ---- Components of all blocks, merged by union-find

MANY = 2**16  # fewer components are not worth the transfer to a GPU


def unite(
    firsts: NDArray[np.int64], edges: Iterable[NDArray[np.int64]], device: str = "cpu"
) -> tuple[NDArray[np.integer], int]:
    """Return numbers of components of the whole image from 1, by first elements, and how many.

    `firsts`, (P,), of the components of blocks, are overwritten; `edges` are (E, 2) pairs that
    touch.
    """
    from equilabel.runs.cpu import seams

    dtype = np.int32 if len(firsts) <= np.iinfo(np.int32).max else np.int64
    parents: NDArray[np.integer] = np.arange(len(firsts), dtype=dtype)
    for some in edges:
        seams.unite_edges(parents, some)
    seams.lower_firsts(parents, firsts)
    roots = np.flatnonzero(parents == np.arange(len(parents), dtype=dtype))
    firsts[roots] = _ranks(firsts[roots], device)
    return firsts[parents].astype(dtype), len(roots)


def _ranks(keys: NDArray[np.int64], device: str) -> NDArray[np.int64]:
    """Return the rank of each key from 1; the keys are overwritten."""
    if device.startswith("cuda") and len(keys) >= MANY:
        from equilabel.devices.cuda import blocks

        with own_gpu(device):
            found: NDArray[np.int64] = fetch_block(blocks.rank_keys(send_block(keys)))
        return found
    keys[np.argsort(keys)] = np.arange(1, len(keys) + 1)
    return keys


def split_sizes(
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pixels, first and last + 1 coordinates of components from `Part.sizes`."""
    axes = (sizes.shape[1] - 1) // 2
    return sizes[:, 0], sizes[:, 1 : 1 + axes], sizes[:, 1 + axes :]


def merge_sizes(
    labels: HostArray, count: int, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pixels, first and last + 1 coordinates of each label from those of its components."""
    rows = labels.astype(np.intp) - 1
    some, firsts, lasts = split_sizes(sizes)
    pixels = np.zeros(count, np.int64)
    np.add.at(pixels, rows, some)
    begins = np.full((count, firsts.shape[1]), np.iinfo(np.int64).max)
    np.minimum.at(begins, rows, firsts)
    ends = np.zeros((count, firsts.shape[1]), np.int64)
    np.maximum.at(ends, rows, lasts)
    return pixels, begins, ends


def number_components(
    saved: Saved,
    offsets: NDArray[np.int64],
    pairs: Iterable[tuple[int, int, NDArray[np.int64]]],
    select: Callable[..., NDArray[np.bool_]] | None,
    device: str = "cpu",
    *,
    by_blocks: bool = False,
) -> tuple[tuple[HostArray, NDArray[np.int64], NDArray[np.int64]], int]:
    """Merge the components of all blocks; return their final labels, and how many there are.

    The former are labels of those that are merged, block by block, offsets where those of each
    block begin, and (blocks,) labels before those of the other components of a block.
    The merged components of each block begin at `offsets`, (blocks + 1,). `pairs` are two blocks
    and their (K, 2) merged components that touch, from 0. `select` returns which labels are kept,
    from their pixels, first and last + 1 coordinates. Labels are sorted by first elements; if
    `by_blocks`, by blocks.
    """
    blocks = len(offsets) - 1
    firsts = np.arange(offsets[-1])
    sizes, others = [], np.zeros(blocks * by_blocks, np.int64)
    for block in range(blocks):
        part = saved.part(block)
        if by_blocks:
            others[block] = part.final
        else:
            firsts[offsets[block] : offsets[block + 1]] = part.firsts
        if select is not None:
            sizes.append(part.sizes)
    edges = (both + offsets[[one, other]] for one, other, both in pairs)
    labels, count = unite(firsts, edges, device)
    kept = np.ones(count, np.bool_)
    if select is not None and count:
        kept = select(*merge_sizes(labels, count, np.concatenate(sizes)))
    if kept.all() and not by_blocks:
        return (labels, offsets, others), count
    ranks = np.arange(1, np.count_nonzero(kept) + 1)
    total = int(len(ranks) + others.sum())
    if by_blocks:
        roots = np.empty(count, np.int64)  # the first component of each label
        roots[labels[::-1] - 1] = np.arange(len(labels) - 1, -1, -1)
        block_of = np.searchsorted(offsets, roots, side="right")[kept] - 1
        ranks += (np.cumsum(others) - others)[block_of]
        others = np.cumsum(np.bincount(block_of, minlength=blocks) + others) - others
    numbers = np.zeros(count + 1, np.int64 if total > np.iinfo(np.int32).max else np.int32)
    numbers[1:][kept] = ranks
    return (numbers[labels], offsets, others), total
