"""Launchers for meshes.cu, with the names and signatures of `meshes.cpu`; arguments of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.domains.bonds import Bonds
from equilabel.papers.meshes import STEPS, Lattice, describe, describe_bonds

if TYPE_CHECKING:
    from equilabel.array_types import HostArray
    from equilabel.domains.grid import Grid


# ---- Arguments of kernels


def pixel_and_rank(grid: Grid) -> str:
    """Return the type of the values of a grid, and its number of axes, as template parameters."""
    return f"{grid.values[0].dtype.str[1:]}, {len(grid.shape)}"


LATTICE = np.dtype(  # as in lattice.cuh
    [
        ("shape", "i8", 4),
        ("edge", "i4", 4),
        ("periodic", "i4", 4),
        ("count", "i4"),
        ("steps", "i1", 4 * STEPS),
    ],
    align=True,
)


def packed(lattice: Lattice, tile: int = 1) -> HostArray:
    """Return a lattice, cut into tiles, as an argument of kernels."""
    one = np.zeros((), LATTICE)
    one["shape"] = lattice.shape
    one["edge"] = lattice.edges(tile)
    one["periodic"] = lattice.periodic
    one["count"] = len(lattice.steps)
    one["steps"][: lattice.steps.size] = lattice.steps.reshape(-1)
    return one.view(f"V{LATTICE.itemsize}")  # without names, which are slow to pass


# ---- The first passes of methods


def label_by_index(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own flat index, background with -1."""
    values, *background = grid.bounded_values
    labels = cupy.empty(values.size, cupy.int64)
    function = kernel("papers/meshes/meshes", f"label_by_index<{values.dtype.str[1:]}>")
    launch(function, values.size, values, *background, values.size, labels)
    return labels


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    if isinstance(domain, Bonds):
        return describe_bonds(domain)
    values, *background = domain.bounded_values
    lattice = describe(domain, cupy.empty(values.size, cupy.uint16))
    function = kernel("papers/meshes/meshes", f"link_pixels<{values.dtype.str[1:]}>")
    mesh = packed(lattice), lattice.links
    launch(function, values.size, values, *background, values.size, *mesh)
    return lattice
