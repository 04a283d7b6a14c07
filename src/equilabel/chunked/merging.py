"""Final labels of the components of all blocks, from pairs that touch, by union-find."""

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


MANY = 2**16  # fewer components are not worth the transfer to a GPU
MOST_STRETCHES = 2**20  # parts of the image by which components are sorted first


@dataclass(frozen=True, eq=False)
class Numbers:
    """Final labels of the components of all blocks."""

    labels: HostArray  # (P,) block by block; 0 for components that are dropped
    offsets: NDArray[np.int64]  # (blocks + 1,) where the components of each block begin
    count: int  # of different labels


def unite(
    firsts: NDArray[np.int64], edges: Iterable[NDArray[np.int64]], device: str = "cpu"
) -> tuple[NDArray[np.integer], int]:
    """Assign numbers from 1 to the components of the whole image, by their first elements.

    `firsts`, (P,), are the different first elements of the components of blocks, and are
    overwritten; `edges` are (E, 2) pairs that touch, in any order. Components are sorted on
    `device`.

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
    """Return the rank of each key from 1; the keys are overwritten."""
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
    """Return pixels, first and last + 1 coordinates of each label from those of its components."""
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
    """Merge the components of all blocks.

    `offsets` are those of `Numbers`. `pairs` are two blocks and their (K, 2) components that touch,
    in any order. `select` returns which labels are kept, from their pixels, first and last + 1
    coordinates. Components are sorted on `device`.
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
