"""Labels of each tile on its own (Weigel 2011, Section II.B) on the CPU, in three ways.

Labels are flat indices in the tile. Their order is the raster order of the lattice, so the smallest
label of a component is its smallest index in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of
from equilabel.devices.jit import njit
from equilabel.papers.meshes import FOREGROUND, STEPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.papers.meshes import Lattice

LOCAL = {"self_labeling": 0, "union_find": 1, "breadth_first": 2}


def label_tiles(lattice: Lattice, tile: int, local: str) -> NDArray[np.int64]:
    """Return the smallest index of the component of each element in its tile; -1 for background.

    Bonds that leave a tile, or lead around a periodic axis, are ignored.
    """
    roots = np.empty(lattice.links.size, np.int64)
    edges = lattice.edges(tile)
    label_each(lattice.links, lattice.shape, lattice.steps, edges, LOCAL[local], roots)
    return roots


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def label_each(links, shape, steps, edges, local, roots):
    """Label one tile after the other; `local` is a value of `LOCAL`, `edges` the sides of tiles."""
    size = edges[0] * edges[1] * edges[2] * edges[3]
    inside = np.empty(size, np.uint16)
    labels, more = np.empty(size, np.int64), np.empty(size, np.int64)
    places = np.empty(size, np.int64)
    first, sides = np.zeros(4, np.int64), np.empty(4, np.int64)
    offsets = np.empty(STEPS, np.int64)
    while first[0] < shape[0]:
        here = 1
        for axis in range(4):
            sides[axis] = min(edges[axis], shape[axis] - first[axis])
            here *= sides[axis]
        load_tile(links, shape, steps, first, sides, inside, places, offsets)
        if local == 0:
            self_label(inside[:here], offsets, len(steps), labels)
        elif local == 1:
            unite_tile(inside[:here], offsets, len(steps), labels, more)
        else:
            search_breadth_first(inside[:here], offsets, len(steps), labels, more)
        for i in range(here):
            roots[places[i]] = places[labels[i]] if inside[i] & FOREGROUND else -1
        for axis in range(3, -1, -1):
            first[axis] += edges[axis]
            if first[axis] < shape[axis] or axis == 0:
                break
            first[axis] = 0


@njit(nogil=True, cache=True)
def load_tile(links, shape, steps, first, sides, inside, places, offsets):
    """Copy the links of a tile, without those that leave it.

    `first` and `sides` are (4,): coordinates of its first element, and its sides. Overwritten:
    `inside`, (>= T,), its links; `places`, (>= T,), flat indices in the lattice; `offsets`, (>=
    K,), distances of flat indices in the tile along each step.
    """
    site = np.zeros(4, np.int64)
    for k in range(len(steps)):
        offset = 0
        for axis in range(4):
            offset = offset * sides[axis] + steps[k, axis]
        offsets[k] = offset
    for i in range(sides[0] * sides[1] * sides[2] * sides[3]):
        place = 0
        for axis in range(4):
            place = place * shape[axis] + first[axis] + site[axis]
        places[i] = place
        inside[i] = links[place] & FOREGROUND
        for k in range(len(steps)):
            stays = links[place] >> k & 1 != 0
            for axis in range(4):
                stays = stays and 0 <= site[axis] + steps[k, axis] < sides[axis]
            if stays:
                inside[i] |= 1 << k
        for axis in range(3, -1, -1):
            site[axis] += 1
            if site[axis] < sides[axis]:
                break
            site[axis] = 0


@njit(nogil=True, cache=True)
def self_label(inside, offsets, count, labels):
    """Give every linked pair the smaller of its labels, until nothing changes; count passes.

    Figure 4. `inside` is (T,) of uint16, links that stay in the tile (not checked); `offsets` is
    (>= K,), distances along steps in the tile, of which the first `count` are used. The last pass
    changes nothing.
    """
    for i in range(inside.size):
        labels[i] = i
    passes = 0
    changed = True
    while changed:
        changed = False
        passes += 1
        for i in range(inside.size):
            for k in range(count):
                if inside[i] >> k & 1:
                    j = i + offsets[k]
                    if labels[i] != labels[j]:
                        labels[i] = labels[j] = min(labels[i], labels[j])
                        changed = True
    return passes


@njit(nogil=True, cache=True)
def unite_tile(inside, offsets, count, labels, sizes):
    """Insert one link after the other; the smaller tree becomes a child of the larger (Figure 3).

    `sizes` is (>= T,) of int64, overwritten; other arrays are those of `self_label`.
    """
    for i in range(inside.size):
        labels[i] = i
        sizes[i] = 1
    for i in range(inside.size):
        for k in range(count):
            if inside[i] >> k & 1:
                one, other = root_of(labels, i), root_of(labels, i + offsets[k])
                if one != other:
                    if sizes[one] < sizes[other]:
                        one, other = other, one
                    labels[other] = one
                    sizes[one] += sizes[other]
    for i in range(inside.size):  # in order: the first element of a tree is its label
        labels[i] = root_of(labels, i)
        if sizes[labels[i]] > 0:
            sizes[labels[i]] = -1 - i
    for i in range(inside.size):
        labels[i] = -1 - sizes[labels[i]]


@njit(nogil=True, cache=True)
def search_breadth_first(inside, offsets, count, labels, queue):
    """Grow one component after the other, layer by layer, from its first element (Figure 1).

    `queue` is (>= T,) of int64, overwritten; other arrays are those of `self_label`.
    """
    labels[: inside.size] = -1
    for seed in range(inside.size):
        if labels[seed] >= 0:
            continue
        labels[seed] = queue[0] = seed
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for k in range(count):
                later, earlier = i + offsets[k], i - offsets[k]
                if inside[i] >> k & 1 and labels[later] < 0:
                    labels[later] = seed
                    queue[tail] = later
                    tail += 1
                if 0 <= earlier < inside.size and inside[earlier] >> k & 1 and labels[earlier] < 0:
                    labels[earlier] = seed
                    queue[tail] = earlier
                    tail += 1
