"""Which components of neighboring blocks touch: found from the labels at their ends alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel import neighborhood
from equilabel.devices import fetch, passes

from .block_runs import BlockRuns
from .blocks import steps_forward

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .blocks import Blocks
    from .checkpoints import Faces

NONE = np.empty((0, 2), np.int64)


def cut_faces(
    labels: HostArray | BlockRuns,
    blocks: Blocks,
    block: int,
    periodic: tuple[bool, ...],
    stacked: bool,
    depth: int,
) -> tuple[tuple[HostArray, ...], tuple[HostArray, ...]]:
    """Copy the first and last layers of the labels of a block along each axis.

    Parameters
    ----------
    labels : array of int, or BlockRuns
        Of the block alone.
    blocks, block, periodic, stacked
        Where nothing follows beyond an end, nothing is copied.
    depth : int
        Number of layers.
    """
    lows: list[HostArray] = []
    highs: list[HostArray] = []
    for axis in range(len(labels.shape)):
        for ends, move in ((lows, -1), (highs, 1)):
            step = [0] * len(labels.shape)
            step[axis] = move
            followed = blocks.neighbor(block, step, periodic) is not None
            if not followed or (stacked and axis == 0):
                ends.append(np.empty(0, labels.dtype))
                continue
            side = labels.shape[axis]
            span = (0, min(depth, side)) if move < 0 else (max(side - depth, 0), side)
            if isinstance(labels, BlockRuns):
                ends.append(labels.layers(axis, *span))
            else:
                part = (slice(None),) * axis + (slice(*span),)
                ends.append(fetch(labels[part].copy()))
    return tuple(lows), tuple(highs)


def pairs_across(
    block: int,
    blocks: Blocks,
    faces_of: Callable[[int], Faces],
    connectivity: int,
    stacked: bool,
    periodic: tuple[bool, ...],
) -> list[tuple[int, NDArray[np.int64]]]:
    """Find which components of a block touch which of the blocks that follow it.

    Returns
    -------
    list of (int, (K, 2) array)
        For each neighboring block, pairs of labels of this block and of that one.
    """
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
            if move:  # the outermost layer of each, which keep the axis
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
    """Pair the labels of two layers that lie on each other.

    Where an element has the one opposite as its neighbor, the others around that one belong to its
    component as well: they are looked at only where the one opposite is none.

    Parameters
    ----------
    mine, theirs : arrays of int of one shape
        Labels, 0 for background.
    values : (array, array)
        Value of each component of either, or empty arrays.
    hops : int
        Steps to the side that a neighbor may be away, beside the one across.
    stacked : bool
        Whether no step goes along the first axis.
    """
    mine, theirs = np.atleast_1d(mine), np.atleast_1d(theirs)
    if not (mine.any() and theirs.any()):
        return NONE
    around = np.pad(theirs, 1)
    strides = neighborhood.strides(around.shape)
    axes = mine.ndim
    steps = np.empty((0, axes), np.int64)
    if hops:
        steps = neighborhood.offsets(axes, min(hops, axes), stacked=stacked)
    starts = np.array([0])
    for length, stride in zip(mine.shape[:-1], strides, strict=False):
        starts = np.add.outer(starts, np.arange(1, length + 1) * stride).reshape(-1)
    same = [one.astype(np.int64) for one in values]
    rows = np.array(mine.reshape(-1, mine.shape[-1]))  # labels that were stored are read-only
    arguments = (rows, around.reshape(-1), starts + 1, steps @ strides, *same)
    list_pairs = passes("face_pairs", "cpu").list_pairs
    pairs = np.empty((list_pairs(*arguments, np.empty((0, 2), np.int64)), 2), np.int64)
    list_pairs(*arguments, pairs)
    return _distinct(pairs)


def _distinct(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop pairs that are repeated."""
    if len(pairs) < 2:
        return pairs
    width = int(pairs[:, 1].max()) + 1
    keys = pairs[:, 0] * width + pairs[:, 1]
    new = np.append(True, keys[1:] != keys[:-1])
    keys = np.unique(keys[new])
    return np.stack([keys // width, keys % width], axis=1)
