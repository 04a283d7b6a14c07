"""Passes of the multi-grid labeler (Apostolakis, Coddington and Marinari 1991) on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit
from equilabel.papers.meshes import FOREGROUND, Multigrid
from equilabel.papers.meshes.cpu import column_at, connect, next_row, row_along

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid


def start(domain: Grid | Bonds) -> Multigrid:
    """Label every foreground element with its index; link it to its neighbors at level 0."""
    lattice = connect(domain)
    size = lattice.links.size
    connections = np.zeros((lattice.levels, size), np.uint16)
    connections[0] = lattice.links
    labels = np.where(lattice.links & np.uint16(FOREGROUND), np.arange(size), -1)
    return Multigrid(lattice, connections, labels, np.empty_like(labels), np.zeros(1, np.int32))


def improve(grids: Multigrid, level: int) -> None:
    """Switch on connections that follow from two of the level below, or from equal labels."""
    shorter = grids.connections[max(level - 1, 0)]
    _, *geometry = grids.lattice
    ways = grids.lattice.reaching(1 << level)
    merge_connections(grids.connections[level], shorter, grids.labels, *geometry, ways, 1 << level)


def propagate(grids: Multigrid, level: int) -> None:
    """Lower each label to those of its connections, along one step after the other."""
    _, *geometry = grids.lattice
    for k in grids.lattice.reaching(1 << level).tolist():
        grids.changed[0] |= lower_labels(
            grids.labels, grids.spare, grids.connections[level], *geometry, k, 1 << level
        )
        grids.labels, grids.spare = grids.spare, grids.labels


def has_changed(grids: Multigrid) -> bool:
    """Return whether a label has changed since the last call."""
    changed = bool(grids.changed[0])
    grids.changed[0] = 0
    return changed


def roots_of(grids: Multigrid) -> NDArray[np.int64]:
    """Return the labels, which are roots in the end."""
    return np.asarray(grids.labels)


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def merge_connections(connections, shorter, labels, shape, steps, periodic, ways, distance):
    """Switch on connections at `distance` that follow from shorter ones, or from labels.

    `connections` and `shorter` (those at half the distance, not read if that is not whole) are (N,)
    of uint16; `labels` is (N,) of int64, -1 for background. `ways` are the steps that lead inside
    at this distance. `shape`, `steps` and `periodic` are those of `Lattice`.
    """
    site = np.zeros(4, np.int64)  # the first of each row
    width = shape[3]
    for row in range(0, labels.size, width):
        for k in ways:
            ahead = row_along(shape, periodic, steps, k, distance, site)
            middle = row_along(shape, periodic, steps, k, distance // 2, site)
            if ahead < 0:
                continue
            for x in range(width):
                i, there = row + x, column_at(x + steps[k, 3] * distance, width, periodic[3])
                if labels[i] < 0 or there < 0 or connections[i] >> k & 1:
                    continue
                found = labels[i] == labels[ahead + there]
                if not found and distance > 1 and shorter[i] >> k & 1:
                    there = (x + steps[k, 3] * (distance // 2)) % width
                    found = shorter[middle + there] >> k & 1 != 0
                if found:
                    connections[i] |= 1 << k
        next_row(site, shape)


@njit(nogil=True, cache=True)
def lower_labels(labels, lowered, connections, shape, steps, periodic, k, distance):
    """Write the smallest of a label and those connected along step k; return whether any is less.

    Connections count both ways, at this distance. `lowered` is another array than `labels`, (N,):
    all are read before any is written, as on a machine with one instruction stream.
    """
    site = np.zeros(4, np.int64)  # the first of each row
    width, step = shape[3], steps[k, 3] * distance
    changed = False
    for row in range(0, labels.size, width):
        ahead = row_along(shape, periodic, steps, k, distance, site)
        behind = row_along(shape, periodic, steps, k, -distance, site)
        for x in range(width):
            label = labels[row + x]
            if label >= 0:
                if connections[row + x] >> k & 1:
                    label = min(label, labels[ahead + (x + step) % width])
                there = column_at(x - step, width, periodic[3]) if behind >= 0 else -1
                if there >= 0 and connections[behind + there] >> k & 1:
                    label = min(label, labels[behind + there])
                changed = changed or label != labels[row + x]
            lowered[row + x] = label
        next_row(site, shape)
    return changed
