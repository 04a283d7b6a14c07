"""Final labels of the components of all blocks, from the pairs that touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equilabel.graphs import Graph
from equilabel.labeling import label_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .checkpoints import Checkpoints


@dataclass(frozen=True, eq=False)
class Numbers:
    """Final labels.

    Attributes
    ----------
    labels : (P,) array of int32 or int64
        Of each component of each block, block by block; 0 for those that are dropped.
    offsets : (blocks + 1,) array of int64
        Where the components of each block begin.
    count : int
        Number of labels.
    edges : int
        Pairs of components that touch across blocks.
    """

    labels: HostArray
    offsets: NDArray[np.int64]
    count: int
    edges: int


def unite(firsts: NDArray[np.int64], edges: NDArray[np.int64]) -> tuple[NDArray[np.integer], int]:
    """Give numbers to the components of the whole image in the order of their first elements.

    Parameters
    ----------
    firsts : (P,) array of int64
        First element of each component of each block; no two are equal.
    edges : (E, 2) array of int64
        Components that touch.

    Returns
    -------
    labels : (P,) array of int
        From 1; the same whatever the blocks are.
    count : int

    Examples
    --------
    >>> unite(np.array([7, 0, 3]), np.array([[0, 2]]))
    (array([2, 1, 2], dtype=int32), 2)
    """
    order = np.argsort(firsts, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    del order
    ends = ranks[edges[:, 0]], ranks[edges[:, 1]]
    # Vertices in the order of first elements: components get their numbers in this order, too.
    found, count = label_graph(Graph.from_edges(*ends, size=len(ranks)), return_num=True)
    labels = np.asarray(found[ranks])
    labels += 1
    return labels, count


def merge_sizes(
    labels: HostArray, count: int, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pixels, first and last + 1 coordinates of each label, from those of its components."""
    axes = (sizes.shape[1] - 1) // 2
    rows = labels.astype(np.intp) - 1
    pixels = np.zeros(count, np.int64)
    np.add.at(pixels, rows, sizes[:, 0])
    begins = np.full((count, axes), np.iinfo(np.int64).max)
    np.minimum.at(begins, rows, sizes[:, 1 : 1 + axes])
    ends = np.zeros((count, axes), np.int64)
    np.maximum.at(ends, rows, sizes[:, 1 + axes :])
    return pixels, begins, ends


def number_components(
    saved: Checkpoints,
    offsets: NDArray[np.int64],
    pairs: Sequence[tuple[int, int, NDArray[np.int64]]],
    select: Callable[..., NDArray[np.bool_]] | None,
) -> Numbers:
    """Merge what is stored of all blocks.

    Parameters
    ----------
    saved : Checkpoints
        A part for each block.
    offsets : (blocks + 1,) array of int64
        Where the components of each block begin.
    pairs : sequence of (int, int, (K, 2) array)
        Two blocks, and which components of them touch.
    select : callable, optional
        Tells from pixels, first and last coordinates of each label which are kept.
    """
    firsts = np.empty(offsets[-1], np.int64)
    sizes = []
    for block in range(len(offsets) - 1):
        part = saved.part(block)
        firsts[offsets[block] : offsets[block + 1]] = part.firsts
        if select is not None:
            sizes.append(part.sizes)
    edges = [both + offsets[[one, other]] - 1 for one, other, both in pairs]
    both = np.concatenate(edges) if edges else np.empty((0, 2), np.int64)
    labels, count = unite(firsts, both)
    if select is not None and count:
        kept = select(*merge_sizes(labels, count, np.concatenate(sizes)))
        numbers = np.zeros(count + 1, labels.dtype)
        numbers[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
        labels, count = numbers[labels], int(np.count_nonzero(kept))
    return Numbers(labels, offsets, count, len(both))
