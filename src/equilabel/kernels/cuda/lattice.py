"""A mesh as kernels get it, see lattice.cuh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.kernels.lattice import STEPS

if TYPE_CHECKING:
    from equilabel.array_types import HostArray
    from equilabel.kernels.lattice import Lattice

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
