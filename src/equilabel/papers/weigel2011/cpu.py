"""Passes of tiles that are sewn together or relaxed (Weigel 2011) on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of, unite
from equilabel.devices.jit import njit
from equilabel.papers.meshes import FOREGROUND, STEPS
from equilabel.papers.meshes import cpu as meshes
from equilabel.papers.meshes.cpu import move_on, neighbor, resolve_chains, seam_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid
    from equilabel.papers.meshes import Lattice


# ---- Labels of each tile on its own (Section II.B), in three ways
# Labels are flat indices in the tile. Their order is the raster order of the lattice, so the
# smallest label of a component is its smallest index in both.

LOCAL = {"self_labeling": 0, "union_find": 1, "breadth_first": 2}


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    return meshes.connect(domain)


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
    """Copy the links of a tile, without those that leave it; it has `first` and `sides`, (4,).

    Overwritten: links `inside` and flat indices `places`, (>= T,), and `offsets`, (>= K,),
    distances of flat indices in the tile.
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
        move_on(site, sides)


@njit(nogil=True, cache=True)
def self_label(inside, offsets, count, labels):
    """Give every linked pair the smaller of its labels, until nothing changes; count passes.

    Figure 4. `inside` is (T,), links that stay in the tile (not checked); `offsets`, (>= K,), are
    distances along steps, of which `count` are used.
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


# ---- Hierarchical sewing (Section II.C.2)

AROUND = -1  # level of the steps around periodic axes


def sew(lattice: Lattice, tile: int, level: int, roots: NDArray[np.int64]) -> bool:
    """Join pairs of tiles along each axis; return whether more than one tile is left."""
    edges, tiles = lattice.edges(tile), lattice.tiles(tile)
    for axis in np.flatnonzero(tiles > 1 << (level - 1)).tolist():
        width = int(edges[axis]) << (level - 1)
        _sew_axis(lattice, edges, axis, width, level, roots)
    return bool((tiles > 1 << level).any())


def sew_around(lattice: Lattice, tile: int, roots: NDArray[np.int64]) -> None:
    """Insert the bonds that lead around periodic axes."""
    for axis in np.flatnonzero(lattice.periodic).tolist():
        side = int(lattice.shape[axis])
        _sew_axis(lattice, lattice.edges(tile), axis, side, AROUND, roots)


def point_at_roots(roots: NDArray[np.int64]) -> None:
    """Point every element at the root of its tree."""
    resolve_chains(roots)


def _sew_axis(
    lattice: Lattice,
    edges: NDArray[np.int64],
    axis: int,
    width: int,
    level: int,
    roots: NDArray[np.int64],
) -> None:
    """Sew the seams across one axis: every second multiple of a width, from the first."""
    shape = lattice.shape
    for seam in range(width, int(shape[axis]) + (level == AROUND), 2 * width):
        sew_seam(
            lattice.links, shape, lattice.steps, lattice.periodic, edges, axis, seam, level, roots
        )


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def sew_seam(links, shape, steps, periodic, edges, axis, seam, level, roots):
    """Unite the elements on both sides of a seam that are linked across it.

    It lies before coordinate `seam` of `axis`, or around it. Links that also cross a seam of a
    higher level are left for that. `edges` is (4,), the sides of tiles; `roots`, (N,), are trees
    with ``roots[i] <= i``, or -1. Other arrays are those of `Lattice`.
    """
    site = np.zeros(4, np.int64)
    across = roots.size // shape[axis]
    for _ in range(across):
        for sign in (1, -1):
            site[axis] = seam - 1 if sign > 0 else seam % shape[axis]
            here = 0
            for each in range(4):
                here = here * shape[each] + site[each]
            for k in range(len(steps)):
                if (
                    links[here] >> k & 1
                    and steps[k, axis] == sign
                    and seam_level(shape, steps, k, edges, site) == level
                ):
                    unite(roots, here, neighbor(shape, periodic, steps, k, 1, site))
        for each in range(3, -1, -1):  # move on along the seam
            if each != axis:
                site[each] += 1
                if site[each] < shape[each]:
                    break
                site[each] = 0


# ---- Label relaxation (Section II.C.1)


def list_borders(lattice: Lattice, tile: int, roots: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the pairs of roots joined by a link between tiles, or around an axis (Figure 5)."""
    edges = lattice.edges(tile)
    none = np.empty((0, 2), np.int64)
    pairs = np.empty((collect_pairs(*lattice, edges, roots, none), 2), np.int64)
    collect_pairs(*lattice, edges, roots, pairs)
    return pairs


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def collect_pairs(links, shape, steps, periodic, edges, roots, pairs):
    """Write the roots on both sides of each link that leaves a tile, if they differ; count pairs.

    `edges` is (4,); `roots` is (N,), of each element in its tile, or -1; `pairs` is (M, 2), or
    empty to count alone. Other arrays are those of `Lattice`.
    """
    site = np.zeros(4, np.int64)
    count = 0
    for i in range(roots.size):
        for k in range(len(steps)):
            if links[i] >> k & 1 and seam_level(shape, steps, k, edges, site) != 0:
                j = neighbor(shape, periodic, steps, k, 1, site)
                if roots[i] != roots[j]:
                    if len(pairs):
                        pairs[count, 0], pairs[count, 1] = roots[i], roots[j]
                    count += 1
        move_on(site, shape)
    return count


@njit(nogil=True, cache=True)
def relax(pairs: NDArray[np.int64], roots: NDArray[np.int64]) -> bool:
    """Give both roots of each pair the smaller of their labels; return whether any changed.

    `roots` holds, at the root of a part of a component in a tile, its label: its own index at
    first.
    """
    changed = False
    for m in range(len(pairs)):
        one, other = roots[pairs[m, 0]], roots[pairs[m, 1]]
        if one != other:
            roots[pairs[m, 0]] = roots[pairs[m, 1]] = min(one, other)
            changed = True
    return changed


@njit(nogil=True, cache=True)
def spread(roots: NDArray[np.int64]) -> None:
    """Give every element the label of the root of its tile.

    An element that is no root refers to its root; a root refers to the smallest index of its
    component, which refers to itself. -1 for background.
    """
    for i in range(roots.size):
        if roots[i] >= 0:
            roots[i] = roots[roots[i]]
