"""Labels of lattices of bonds by runs, where the lattice is, without waiting for a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import library, passes, resolve, using
from equilabel.methods import load_recipe

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.bonds import Bonds


def label_bonds_by_runs(bonds: Bonds, out: Array = None, kernels: Any = None) -> tuple[Array, Any]:
    """Label the components of a lattice of bonds by the method `runs`.

    Parameters
    ----------
    bonds : Bonds
        Of NumPy or CuPy: the lattice is labeled on the device that holds it. Not checked.
    out : array of int32 or int64, optional
        Receives the labels: C-contiguous, of the shape of the lattice, on its device, and able to
        hold them. Not checked.
    kernels : module, optional
        Passes to use in place of those of the device, such as passes that are counted.

    Returns
    -------
    labels : array of int32, or int64 from 2^31 sites on
        Of the shape of the lattice: 0 to N - 1, in raster order of the first sites.
    count : int
        N. On a GPU an object whose ``int(count)`` is N: nothing waits for the device before.

    Examples
    --------
    >>> from equilabel.bonds import Bonds
    >>> ring = Bonds(np.array([0, 1, 0, 1], np.uint8), np.array([[1]]), (True,))
    >>> label_bonds_by_runs(ring)
    (array([0, 1, 1, 0], dtype=int32), 2)
    """
    where = library(bonds.open)
    if out is None:
        out = where.empty(bonds.shape, np.int32 if bonds.size < 2**31 else np.int64)
    if bonds.size == 0:
        return out, 0
    device = resolve("auto", bonds.open)
    kernels = kernels or passes("runs", device)
    flat = out.reshape(-1)
    with using(device, lambda: 10 * bonds.size):
        table = load_recipe("runs")(kernels, bonds, room=flat)
        count = kernels.number(table)
        kernels.paint(table, flat, blank=False)
    return out, count
