"""Launchers for apostolakis.cu, with the names and signatures of `apostolakis1992.cpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.meshes import FOREGROUND, Multigrid
from equilabel.papers.meshes.cuda import connect, packed

if TYPE_CHECKING:
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid


def start(domain: Grid | Bonds) -> Multigrid:
    """Label every foreground element with its index; link it to its neighbors at level 0."""
    lattice = connect(domain)
    size = lattice.links.size
    connections = cupy.zeros((lattice.levels, size), np.uint16)
    connections[0] = lattice.links
    foreground = (lattice.links & np.uint16(FOREGROUND)) != 0
    labels = cupy.where(foreground, cupy.arange(size, dtype=np.int64), np.int64(-1))
    return Multigrid(lattice, connections, labels, cupy.empty_like(labels), cupy.zeros(1, np.int32))


def improve(grids: Multigrid, level: int) -> None:
    """Switch on connections that follow from two of the level below, or from equal labels."""
    size, shorter = grids.labels.size, grids.connections[max(level - 1, 0)]
    known = packed(grids.lattice), size, shorter, grids.labels, 1 << level
    function = kernel("papers/apostolakis1992/apostolakis", "improve")
    launch(function, size, *known, grids.connections[level])


def propagate(grids: Multigrid, level: int) -> None:
    """Lower each label to those of its connections, along one step after the other."""
    function = kernel("papers/apostolakis1992/apostolakis", "propagate")
    size = grids.labels.size
    known = packed(grids.lattice), size, grids.connections[level]
    for k in grids.lattice.reaching(1 << level).tolist():
        arrays = grids.labels, grids.spare, grids.changed
        launch(function, size, *known, np.int32(k), 1 << level, *arrays)
        grids.labels, grids.spare = grids.spare, grids.labels


def has_changed(grids: Multigrid) -> bool:
    """Return whether a label has changed since the last call; waits for the device."""
    changed = bool(grids.changed[0])
    grids.changed[0] = 0
    return changed


def roots_of(grids: Multigrid) -> cupy.ndarray:
    """Return the labels, which are roots in the end."""
    return grids.labels
