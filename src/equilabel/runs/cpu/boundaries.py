"""Passes that join what touches across periodic boundaries, after all other neighbors are joined.

Whatever method labels an image with open boundaries, what is left are the pairs of neighbors of
which one lies last along a periodic axis and the other first. Every such pair is met at the axis
that it goes around, from the element that lies last: at an edge of several periodic axes it is met
more than once, which does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.bits import ONE, popcount
from equilabel.devices.cpu.union_find import unite
from equilabel.devices.jit import inlined, njit
from equilabel.domains.neighborhood import steps_around

from .run_table import AXES, advance, block_of, locate
from .unions import Detour, Rows, link_row, link_unknown

if TYPE_CHECKING:
    from equilabel.array_types import HostArray
    from equilabel.domains.grid import Grid

    from .run_table import RunTable

NO_PIXELS = np.empty(0, np.uint8)


def join_roots(grid: Grid, roots: HostArray) -> None:
    """Give components that touch across periodic boundaries one root, the smaller of theirs.

    Parameters
    ----------
    grid : Grid
        With at least one periodic axis.
    roots : (N,) array of int64
        Roots of the components within open boundaries, -1 for background. Updated.
    """
    many = grid.foreground.values
    values = grid.values[0] if many else roots
    shape, periodic = np.array(grid.shape, np.int64), np.array(grid.periodic)
    joined = False
    for axis in np.flatnonzero(periodic):
        steps = steps_around(len(shape), grid.connectivity, int(axis), grid.stacked)
        joined |= join_faces(values, many, shape, periodic, axis, steps, roots)
    if joined:
        settle(roots)


def join_runs(table: RunTable, grid: Grid) -> None:
    """Unite the runs that touch across periodic boundaries.

    Parameters
    ----------
    table : RunTable
        After `equilabel.runs.cpu.passes.unite` has united all others.
    grid : Grid
        With at least one periodic axis.
    """
    rank = len(grid.shape)
    missing = AXES + 1 - rank
    periodic = np.array((False,) * missing + grid.periodic)
    pixels = NO_PIXELS if table.pixels is None else table.pixels
    for axis in np.flatnonzero(grid.periodic):
        steps = steps_around(rank, grid.connectivity, int(axis), grid.stacked)
        steps = np.pad(steps, ((0, 0), (missing, 0)))
        if axis == rank - 1:
            link_ends(pixels, table.columns, table.runs, periodic, steps)
            continue
        steps = steps[steps[:, AXES] == 0]
        steps[:, AXES] = np.abs(steps).sum(axis=1) < grid.connectivity  # corners touch, too
        place = missing + axis
        if table.pixels is None:
            link_rows(table.runs, periodic, place, steps)
        else:
            link_rows_of_values(pixels, table.columns, table.runs, periodic, place, steps)


@njit(nogil=True, cache=True)
def join_faces(values, many, shape, periodic, axis, steps, roots):
    """Unite the elements that lie last along an axis with their neighbors that lie first.

    Parameters
    ----------
    values : (N,) array
        Equal where elements are connected; looked at only if there are `many` values.
    shape : (n,) array of int64
    periodic : (n,) array of bool
    axis : int
    steps : (K, n) array of int64
        From `equilabel.domains.neighborhood.steps_around`.
    roots : (N,) array of int64
        A forest, -1 for background. Updated.

    Returns
    -------
    bool
        Whether any were joined.
    """
    joined = False
    position = np.empty(shape.size, np.int64)
    nowhere = np.zeros(shape.size, np.int64)
    for number in range(roots.size // shape[axis]):
        locate_last(number, shape, axis, position)
        here = beyond(position, nowhere, shape, periodic)
        if roots[here] < 0:
            continue
        for k in range(steps.shape[0]):
            other = beyond(position, steps[k], shape, periodic)
            if other < 0 or roots[other] < 0 or roots[other] == roots[here]:
                continue
            if not many or values[here] == values[other]:
                unite(roots, here, other)
                joined = True
    return joined


@njit(nogil=True, cache=True)
def settle(roots):
    """Point every element at the end of its chain: chains only go down, so the ends come first."""
    for i in range(roots.size):
        root = roots[i]
        if root >= 0:
            roots[i] = roots[root]


@njit(nogil=True, cache=True)
def link_rows(runs, periodic, axis, steps):
    """Unite the runs of the last rows along a leading axis with those of the first.

    Parameters
    ----------
    runs : Runs
        `parents` are updated.
    periodic : (6,) array of bool
    axis : int
        Of the five leading axes.
    steps : (K, 6) array of int64
        Along the leading axes; the last entry says whether rows overlap diagonally.
    """
    shape = runs.shape
    empty = runs.bits.shape[0] - 1
    way = Detour(0, empty, empty)
    position = np.empty(AXES, np.int64)
    nowhere = np.zeros(AXES, np.int64)
    for number in range(empty // shape[axis]):
        locate_last(number, shape, axis, position)
        row = beyond(position, nowhere, shape, periodic)
        for k in range(steps.shape[0]):
            other = beyond(position, steps[k], shape, periodic)
            if other >= 0:
                rows = Rows(row, row, other, other)
                diagonal = steps[k, AXES] != 0
                link_unknown(runs, rows, way, diagonal, block_of(runs, row), block_of(runs, other))


@njit(nogil=True, cache=True)
def link_rows_of_values(pixels, columns, runs, periodic, axis, steps):
    """Unite as `link_rows` does, runs of equal value only; blocks are single rows."""
    shape = runs.shape
    position = np.empty(AXES, np.int64)
    nowhere = np.zeros(AXES, np.int64)
    for number in range((runs.bits.shape[0] - 1) // shape[axis]):
        locate_last(number, shape, axis, position)
        row = beyond(position, nowhere, shape, periodic)
        for k in range(steps.shape[0]):
            other = beyond(position, steps[k], shape, periodic)
            if other >= 0:
                link_row(pixels, columns, runs, row, other, steps[k, AXES] != 0)


@njit(nogil=True, cache=True)
def link_ends(pixels, columns, runs, periodic, steps):
    """Unite the run at the end of each row with those at the beginnings of rows beside it.

    Parameters
    ----------
    pixels : (R * columns,) array
        Values; empty if all foreground is one value.
    steps : (K, 6) array of int64
        From `neighborhood.steps_around`, along the last axis; the straight one first.
    """
    bits, shape = runs.bits, runs.shape
    final = columns - 1
    end = ONE << np.uint64(final & 63)
    position = np.empty(AXES, np.int64)
    locate(0, shape, position)
    for row in range(bits.shape[0] - 1):
        if bits[row, final >> 6] & end:
            # Of one value, what two pixels that touch straight across the boundary touch beside
            # them is connected with one of them by other steps.
            straight = pixels.size == 0 and bits[row, 0] & ONE
            for k in range(1 if straight else steps.shape[0]):
                other = beyond(position, steps[k], shape, periodic)
                if other < 0 or not bits[other, 0] & ONE:
                    continue
                if pixels.size == 0:
                    if other != row and bits[other, final >> 6] & end:
                        continue
                elif pixels[row * columns + final] != pixels[other * columns]:
                    continue
                unite(runs.parents, run_at(runs, row, final), run_at(runs, other, 0))
        advance(shape, position)


@inlined
def run_at(runs, row, x):
    """Find the run of a foreground pixel."""
    block = block_of(runs, row)
    bit = ONE << np.uint64(x & 63)
    begun = popcount(runs.starts[block, x >> 6] & (bit | (bit - ONE)))
    return runs.first[block, x >> 6] + begun - 1


@inlined
def locate_last(number, shape, axis, position):
    """Write the coordinates of an element into `position`, counted among the last along an axis."""
    for k in range(position.size - 1, -1, -1):
        if k == axis:
            position[k] = shape[k] - 1
        else:
            position[k] = number % shape[k]
            number //= shape[k]


@inlined
def beyond(position, step, shape, periodic):
    """Return the flat index of a neighbor, around periodic boundaries; -1 outside of others."""
    index = np.int64(0)
    for axis in range(position.size):
        there = position[axis] + step[axis]
        if there < 0 or there >= shape[axis]:
            if not periodic[axis]:
                return np.int64(-1)
            there += shape[axis] if there < 0 else -shape[axis]
        index = index * shape[axis] + there
    return index
