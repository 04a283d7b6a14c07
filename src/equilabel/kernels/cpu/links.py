"""Which neighbors are linked, on the CPU: the first pass of methods that work on a mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.bonds import Bonds
from equilabel.kernels.lattice import FOREGROUND, Lattice, describe

from .caching import njit
from .sites import move_on, neighbor

if TYPE_CHECKING:
    from equilabel.grid import Grid


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    if isinstance(domain, Bonds):
        known = (1 << len(domain.steps)) - 1
        links = (domain.open.reshape(-1) & domain.open.dtype.type(known)).astype(np.uint16)
        return describe(domain, links | np.uint16(FOREGROUND))
    values, background, bounded = domain.bounded_values
    lattice = describe(domain, np.empty(values.size, np.uint16))
    link_pixels(values, background, bounded, lattice.shape, lattice.steps, lattice.links)
    return lattice


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def link_pixels(values, background, bounded, shape, steps, links):
    """Set the bits of neighbors of equal value.

    Parameters
    ----------
    values : (N,) array of unsigned integers
        The image, flat in C order.
    background : scalar of the same type
        Value that is not foreground, if `bounded`.
    bounded : bool
        Whether there is one.
    shape, steps
        As in `Lattice`. Not checked.
    links : (N,) array of uint16
        Overwritten.
    """
    site = np.zeros(4, np.int64)
    periodic = np.zeros(4, np.bool_)
    for i in range(values.size):
        bits = 0
        if not bounded or values[i] != background:
            bits = FOREGROUND
            for k in range(len(steps)):
                j = neighbor(shape, periodic, steps, k, 1, site)
                if j >= 0 and values[i] == values[j]:
                    bits |= 1 << k
        links[i] = bits
        move_on(site, shape)
