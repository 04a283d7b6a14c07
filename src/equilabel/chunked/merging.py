"""Final labels of the components of all blocks, from the pairs that touch: a union-find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import fetch_block, own_gpu, passes, send_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .checkpoints import Saved


MANY = 2**16  # components that are worth the way to a GPU
MOST_STRETCHES = 2**20  # of the image, by which components are sorted first


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
    """

    labels: HostArray
    offsets: NDArray[np.int64]
    count: int


def unite(
    firsts: NDArray[np.int64], edges: Iterable[NDArray[np.int64]], device: str = "cpu"
) -> tuple[NDArray[np.integer], int]:
    """Give numbers to the components of the whole image in the order of their first elements.

    Parameters
    ----------
    firsts : (P,) array of int64
        First element of each component of each block; no two are equal. Overwritten.
    edges : iterable of (E, 2) arrays of int64
        Components that touch. Each array is forgotten before the next one comes.
    device : str
        Where components are sorted.

    Returns
    -------
    labels : (P,) array of int
        From 1; the same whatever the blocks are, and in whatever order edges come.
    count : int

    Examples
    --------
    >>> unite(np.array([7, 0, 3]), [np.array([[0, 2]])])
    (array([2, 1, 2], dtype=int32), 2)
    """
    kernels, size = passes("runs.seams", "cpu"), len(firsts)
    dtype = np.int32 if size <= np.iinfo(np.int32).max else np.int64
    parents: NDArray[np.integer] = np.arange(size, dtype=dtype)
    for some in edges:
        kernels.unite_edges(parents, some)
    keys = np.empty(kernels.lower_firsts(parents, firsts), np.int64)
    kernels.list_roots(parents, firsts, keys)
    keys = _ranks(keys, device)
    kernels.number_elements(parents, keys)
    return parents, len(keys)


def _ranks(keys: NDArray[np.int64], device: str) -> NDArray[np.int64]:
    """Return the place of each key among all of them, from 1; they are overwritten."""
    from equilabel.runs.cpu.seams import rank_keys

    if device.startswith("cuda") and len(keys) >= MANY:
        with own_gpu(device):
            found: NDArray[np.int64] = fetch_block(
                passes("devices.blocks", "cuda").rank_keys(send_block(keys))
            )
        return found
    order = np.empty(len(keys), np.int64)
    stretches = min(MOST_STRETCHES, 1 << len(keys).bit_length())
    if not rank_keys(keys, np.empty(stretches + 1, np.int64), order):
        order = np.argsort(keys, kind="stable")
        keys[order] = np.arange(1, len(keys) + 1)
    return keys


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
    saved: Saved,
    offsets: NDArray[np.int64],
    pairs: Iterable[tuple[int, int, NDArray[np.int64]]],
    select: Callable[..., NDArray[np.bool_]] | None,
    device: str = "cpu",
) -> Numbers:
    """Merge what is stored of all blocks.

    Parameters
    ----------
    saved : Saved
        A part for each block.
    offsets : (blocks + 1,) array of int64
        Where the components of each block begin.
    pairs : iterable of (int, int, (K, 2) array)
        Two blocks, and which components of them touch; in any order.
    select : callable, optional
        Tells from pixels, first and last coordinates of each label which are kept.
    device : str
        Where components are sorted, for workers in this process.
    """
    firsts = np.empty(offsets[-1], np.int64)
    sizes = []
    for block in range(len(offsets) - 1):
        part = saved.part(block)
        firsts[offsets[block] : offsets[block + 1]] = part.firsts
        if select is not None:
            sizes.append(part.sizes)
    edges = (both + offsets[[one, other]] - 1 for one, other, both in pairs)
    labels, count = unite(firsts, edges, device)
    if select is not None and count:
        kept = select(*merge_sizes(labels, count, np.concatenate(sizes)))
        numbers = np.zeros(count + 1, labels.dtype)
        numbers[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
        labels, count = numbers[labels], int(np.count_nonzero(kept))
    return Numbers(labels, offsets, count)
