"""Initial labels, neighbors, lines and links of a mesh, on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of
from equilabel.devices.jit import called, inlined, njit
from equilabel.domains.bonds import Bonds
from equilabel.papers.meshes import FOREGROUND, Lattice, describe, describe_bonds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


# ---- Labels: flat indices of elements, -1 for background


def label_by_index(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own flat index, background with -1."""
    return np.asarray(label_elements(*grid.bounded_values))


@njit(nogil=True, cache=True)
def label_elements(values, bounded, background):
    """Label every foreground element with its own flat index, and background with -1."""
    labels = np.empty(values.size, np.int64)
    for i in range(values.size):
        labels[i] = -1 if bounded and values[i] == background else i
    return labels


@njit(nogil=True, cache=True)
def resolve_chains(labels):
    """Point every element at the root of its chain of labels, ``labels[i] <= i``."""
    for i in range(labels.size):
        if labels[i] >= 0:
            labels[i] = root_of(labels, i)


# ---- Labels of the neighbors of an element


@inlined
def lowest_near(labels, values, i, column, width, steps, offsets, inside):
    """Return the lowest label among a foreground element and its neighbors of equal value.

    Element `i` is at `column` of a row of `width`. `steps` is (K, ndim), to all neighbors,
    `offsets` the same as distances of flat indices; `inside`, (K,), is from `mark_inside`.
    """
    lowest = labels[i]
    for k in range(offsets.size):
        if inside[k] and 0 <= column + steps[k, -1] < width:
            near = labels[i + offsets[k]]
            if 0 <= near < lowest and values[i + offsets[k]] == values[i]:
                lowest = near
    return lowest


@called
def mark_inside(start, shape, steps, inside):
    """Write which steps from the row at `start` stay inside along all axes but the last.

    `inside` is (K,) of bool.
    """
    inside[:] = True
    rest = start // shape[-1]
    for axis in range(shape.size - 2, -1, -1):
        coordinate = rest % shape[axis]
        rest //= shape[axis]
        for k in range(inside.size):
            if not 0 <= coordinate + steps[k, axis] < shape[axis]:
                inside[k] = False


# ---- Lines through a grid: along an axis, or a diagonal


@njit(nogil=True, cache=True)
def find_line(number, shape, step):
    """Return the flat index of the first element of line `number`, and its number of elements.

    `number` is less than `meshes.count_lines`; `step` is of -1, 0 and 1, not all of them 0. The
    number of elements is 0 if the line of that element has another number.
    """
    size = 1
    for axis in range(shape.size):
        size *= shape[axis]
    face = 0  # axis along which this line enters
    while step[face] == 0 or number >= size // shape[face]:
        if step[face] != 0:
            number -= size // shape[face]
        face += 1
    first = 0
    length = np.int64(2**62)
    stride = 1
    for axis in range(shape.size - 1, -1, -1):
        entry = 0 if step[axis] > 0 else shape[axis] - 1
        if axis == face:
            coordinate = entry
        else:
            coordinate = number % shape[axis]
            number //= shape[axis]
            if axis < face and step[axis] != 0 and coordinate == entry:
                return 0, 0  # also on the face of that axis, which counts it
        if step[axis] > 0:
            length = min(length, shape[axis] - coordinate)
        elif step[axis] < 0:
            length = min(length, coordinate + 1)
        first += coordinate * stride
        stride *= shape[axis]
    return first, length


# ---- Sites of a mesh of four axes: neighbors, and borders between tiles


@inlined
def neighbor(shape, periodic, steps, k, distance, site):
    """Return the flat index `distance` times step k away from a site, -1 if that is outside."""
    row = row_along(shape, periodic, steps, k, distance, site)
    column = column_at(site[3] + steps[k, 3] * distance, shape[3], periodic[3])
    return -1 if row < 0 or column < 0 else row + column


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


@inlined
def move_on(site, shape):
    """Move the coordinates of a site to the next one in raster order."""
    site[3] += 1
    if site[3] == shape[3]:
        site[3] = 0
        next_row(site, shape)


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
        return describe_bonds(domain)
    values, *background = domain.bounded_values
    lattice = describe(domain, np.empty(values.size, np.uint16))
    link_pixels(values, *background, lattice.shape, lattice.steps, lattice.links)
    return lattice


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def link_pixels(values, bounded, background, shape, steps, links):
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
