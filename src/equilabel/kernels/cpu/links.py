"""Which neighbors are linked, on the CPU: the first pass of methods that work on a mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.kernels.lattice import FOREGROUND, Lattice, describe

from .caching import inlined, njit

if TYPE_CHECKING:
    from equilabel.bonds import Bonds
    from equilabel.grid import Grid


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    if domain.kind == "bonds":
        known = (1 << len(domain.steps)) - 1
        links = (domain.open.reshape(-1) & domain.open.dtype.type(known)).astype(np.uint16)
        return describe(domain, links | np.uint16(FOREGROUND))
    values, background = domain.values
    lattice = describe(domain, np.empty(values.size, np.uint16))
    link_pixels(values, background, lattice.shape, lattice.steps, lattice.links)
    return lattice


# -------------------------------------------------------------------- kernels


@inlined
def neighbor(shape, periodic, steps, k, distance, site):
    """Return the flat index `distance` times step k away from a site, -1 if that is outside."""
    found = 0
    for axis in range(4):
        there = site[axis] + steps[k, axis] * distance
        if there < 0 or there >= shape[axis]:
            if not periodic[axis]:
                return -1
            there %= shape[axis]
        found = found * shape[axis] + there
    return found


@inlined
def move_on(site, shape):
    """Turn the coordinates of a site into those of the next one in raster order."""
    for axis in range(3, -1, -1):
        site[axis] += 1
        if site[axis] < shape[axis]:
            return
        site[axis] = 0


@njit(nogil=True, cache=True)
def link_pixels(values, background, shape, steps, links):
    """Set the bits of neighbors of equal value.

    Parameters
    ----------
    values : (N,) array of unsigned integers
        The image, flat in C order.
    background : scalar of the same type, or None
        Value that is not foreground; None if all values are.
    shape, steps
        As in `Lattice`. Not checked.
    links : (N,) array of uint16
        Overwritten.
    """
    site = np.zeros(4, np.int64)
    periodic = np.zeros(4, np.bool_)
    for i in range(values.size):
        bits = 0
        if background is None or values[i] != background:
            bits = FOREGROUND
            for k in range(len(steps)):
                j = neighbor(shape, periodic, steps, k, 1, site)
                if j >= 0 and values[i] == values[j]:
                    bits |= 1 << k
        links[i] = bits
        move_on(site, shape)


@njit(nogil=True, cache=True)
def seam_level(shape, steps, k, edges, site):
    """Return at which level of sewing the step k from a site crosses a border between tiles.

    At level 1 pairs of tiles are joined along each axis, at level 2 pairs of pairs, and so on
    (Figure 7). A step that crosses borders along several axes crosses at the highest of their
    levels.

    Parameters
    ----------
    shape, steps
        As in `Lattice`.
    edges : (4,) array of int64
        Of tiles.
    site : (4,) array of int64
        Coordinates.

    Returns
    -------
    int
        0 inside a tile, -1 around a periodic axis.
    """
    level = 0
    for axis in range(4):
        there = site[axis] + steps[k, axis]
        if there < 0 or there >= shape[axis]:
            return -1
        one, other = site[axis] // edges[axis], there // edges[axis]
        if one != other:
            later, crossed = max(one, other), 1
            while later % 2 == 0:
                later //= 2
                crossed += 1
            level = max(level, crossed)
    return level
