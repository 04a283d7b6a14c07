"""Components of neighboring blocks that touch, found from the labels at their ends."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import fetch_block, is_on_cuda, passes

from .block_runs import BlockRuns
from .blocks import steps_forward

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .blocks import Blocks
    from .checkpoints import Faces


def cut_faces(
    labels: HostArray | BlockRuns,
    blocks: Blocks,
    block: int,
    periodic: tuple[bool, ...],
    stacked: bool,
    depth: int,
    count: int,
) -> tuple[tuple[HostArray, ...], tuple[HostArray, ...]]:
    """Copy the first and last `depth` layers of the labels of a block along each axis.

    Nothing is copied at the ends where no block follows. Up to 65,535 labels (`count`) are copied
    as 16 bits.
    """
    dtype = np.dtype(np.uint16) if count < 2**16 else labels.dtype
    axes = len(labels.shape)
    cuts: dict[tuple[int, int], tuple[int, int, int]] = {}
    for axis in range(int(stacked), axes):
        for move in (-1, 1):
            step = [0] * axes
            step[axis] = move
            if blocks.neighbor(block, step, periodic) is not None:
                side = labels.shape[axis]
                span = (0, min(depth, side)) if move < 0 else (max(side - depth, 0), side)
                cuts[move, axis] = (axis, *span)
    found = dict(zip(cuts, _layers(labels, list(cuts.values()), dtype), strict=True))
    none = np.empty(0, dtype)
    lows, highs = (tuple(found.get((move, axis), none) for axis in range(axes)) for move in (-1, 1))
    return lows, highs


def _layers(
    labels: HostArray | BlockRuns, cuts: list[tuple[int, int, int]], dtype: np.dtype[Any]
) -> list[HostArray]:
    """Copy some layers of labels; each cut is an axis, a first layer and a last + 1."""
    if isinstance(labels, BlockRuns):
        return [labels.layers(*cut).astype(dtype) for cut in cuts]
    if not (cuts and is_on_cuda(labels)):
        spans = [(slice(None),) * axis + (slice(first, last),) for axis, first, last in cuts]
        return [labels[span].astype(dtype) for span in spans]
    shape, found, begin = labels.shape, [], 0
    flat = fetch_block(passes("devices.blocks", "cuda").cut_faces(labels, cuts, dtype)).copy()
    for axis, first, last in cuts:
        sides = (*shape[:axis], last - first, *shape[axis + 1 :])
        found.append(flat[begin : begin + prod(sides)].reshape(sides))
        begin += prod(sides)
    return found


def pairs_across(
    block: int,
    blocks: Blocks,
    faces_of: Callable[[int], Faces],
    connectivity: int,
    stacked: bool,
    periodic: tuple[bool, ...],
) -> list[tuple[int, NDArray[np.int64]]]:
    """Return for each neighbor that follows a block the pairs of labels that touch, (K, 2)."""
    found = []
    axes = len(blocks.shape)
    for step in steps_forward(axes, connectivity, stacked=stacked):
        other = blocks.neighbor(block, step, periodic)
        if other is None:
            continue
        here, there = faces_of(block), faces_of(other)
        axis = next(one for one, move in enumerate(step) if move)
        mine, theirs = here.highs[axis], there.lows[axis]
        for one, move in enumerate(step):
            if move:  # the outermost layer of each; the axis is kept
                end = slice(-1, None) if move > 0 else slice(0, 1)
                beyond = slice(0, 1) if move > 0 else slice(-1, None)
                cut = (slice(None),) * one
                mine, theirs = mine[(*cut, end)], theirs[(*cut, beyond)]
        flat = tuple(one for one, move in enumerate(step) if move)
        pairs = touching(
            mine.squeeze(flat),
            theirs.squeeze(flat),
            (here.values, there.values),
            connectivity - len(flat),
            stacked,
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

    `values` are those of the components of either layer, or empty for masks. A neighbor may be
    `hops` steps to the side of the opposite element. If an element is connected to the opposite
    one, so are the other neighbors around that one: these are read only if the opposite one is not
    a neighbor.
    """
    axes = mine.ndim
    if axes < 2:
        along = 0 if stacked else hops
        return _paired(mine.reshape(1, -1), theirs.reshape(1, -1), values, along, False)
    if axes == 2:
        return _paired(mine, theirs, values, hops, not stacked)
    found = []
    for step in product((-1, 0, 1), repeat=axes - 2):
        away = sum(map(abs, step))
        if away > hops or (stacked and step[0]):
            continue
        for place in np.ndindex(mine.shape[:-2]):
            there = tuple(k + move for k, move in zip(place, step, strict=True))
            if all(0 <= k < length for k, length in zip(there, mine.shape, strict=False)):
                found.append(_paired(mine[place], theirs[there], values, hops - away, True))
    return np.concatenate(found)


def _paired(
    mine: HostArray,
    theirs: HostArray,
    values: tuple[HostArray, HostArray],
    hops: int,
    across: bool,
) -> NDArray[np.int64]:
    """Return pairs of two layers of two axes; `across` says whether neighboring rows touch."""
    from equilabel.runs.cpu.seams import list_pairs as list_pairs_by_kernel

    dtype = np.int64 if 8 in (mine.itemsize, theirs.itemsize) else np.int32
    layers = [
        np.array(one, dtype, order="C") for one in (mine, theirs)
    ]  # copies, because stored arrays are read-only
    same = [one.astype(np.int64) for one in values]
    ways = (hops > 0 and across, hops > 0, hops > 1)
    list_pairs = list_pairs_by_kernel
    room = mine.size // 4 + 16
    while True:
        pairs = np.empty((room, 2), np.int64)
        count = list_pairs(*layers, *ways, *same, pairs)
        if count <= room:
            return pairs[:count].copy()
        room = count
