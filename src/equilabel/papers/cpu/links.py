"""Links between neighbors of a mesh, and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import inlined, njit
from equilabel.domains.bonds import Bonds
from equilabel.papers.meshes import FOREGROUND, Lattice, describe

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


# ---- Sites of a mesh of four axes: neighbors, and borders between tiles


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
    """Move the coordinates of a site to the next one in raster order."""
    for axis in range(3, -1, -1):
        site[axis] += 1
        if site[axis] < shape[axis]:
            return
        site[axis] = 0


@inlined
def row_along(shape, periodic, steps, k, distance, site):
    """Return the first index of the row `distance` times step k away; -1 if it is outside."""
    found = 0
    for axis in range(3):
        there = site[axis] + steps[k, axis] * distance
        if there < 0 or there >= shape[axis]:
            if not periodic[axis]:
                return -1
            there %= shape[axis]
        found = found * shape[axis] + there
    return found * shape[3]


@inlined
def column_at(column, width, periodic):
    """Return a column, around the end of its row if `periodic`; -1 if it is outside."""
    if column < 0 or column >= width:
        return column % width if periodic else -1
    return column


@inlined
def next_row(site, shape):
    """Move the coordinates of a row to the next one."""
    for axis in range(2, -1, -1):
        site[axis] += 1
        if site[axis] < shape[axis]:
            return
        site[axis] = 0


@njit(nogil=True, cache=True)
def seam_level(shape, steps, k, edges, site):
    """Return the level of sewing at which step k from a site crosses a border between tiles.

    At level 1 pairs of tiles are joined along each axis, at level 2 pairs of pairs, and so on
    (Figure 7); the highest level over all axes counts. 0 is inside a tile, -1 around a periodic
    axis. `edges` and `site` are (4,), sides of tiles and coordinates.
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


# ---- Links of a domain: the first pass of methods that work on a mesh


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
    """Set the bits of neighbors of equal value, in `links`, (N,) of uint16.

    `values` is (N,) of unsigned integers; `background` is not foreground, if `bounded`.
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
