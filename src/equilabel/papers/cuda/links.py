"""Launchers for links.cu, and the mesh in the format of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.domains.bonds import Bonds
from equilabel.papers.meshes import FOREGROUND, STEPS, Lattice, describe

if TYPE_CHECKING:
    from equilabel.array_types import HostArray
    from equilabel.domains.grid import Grid


# ---- A mesh in the format of lattice.cuh

LATTICE = np.dtype(
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


# ---- Links of a domain: the launcher for links.cu


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    if isinstance(domain, Bonds):
        known = (1 << len(domain.steps)) - 1
        links = (domain.open.reshape(-1) & domain.open.dtype.type(known)).astype(np.uint16)
        return describe(domain, links | np.uint16(FOREGROUND))
    values, background = domain.values
    lattice = describe(domain, cupy.empty(values.size, cupy.uint16))
    pixel = values.dtype
    launch(
        kernel("papers/cuda/links", f"link_pixels<{pixel.str[1:]}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        values.size,
        packed(lattice),
        lattice.links,
    )
    return lattice
