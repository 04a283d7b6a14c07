"""Passes that unite components across periodic boundaries, after all other neighbors are united.

They visit each pair of neighbors of which one lies last along a periodic axis and the other first,
starting from the one that lies last; at an edge of several periodic axes more than once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.bits import ONE
from equilabel.devices.cpu.union_find import unite
from equilabel.devices.jit import inlined, njit
from equilabel.domains.grid import steps_around

from .run_table import AXES, advance, block_of, locate, run_at
from .unions import Detour, Rows, link_row, link_unknown

if TYPE_CHECKING:
    from equilabel.array_types import HostArray
    from equilabel.domains.grid import Grid

    from .run_table import RunTable

NO_PIXELS = np.empty(0, np.uint8)


def join_roots(grid: Grid, roots: HostArray) -> None:
    """Give components that touch across periodic boundaries one root, the smaller of theirs.

    `roots` is (N,) of int64, -1 for background: those of the image with open boundaries. Updated.
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
    """Unite the runs that touch across periodic boundaries, after `passes.unite` united others."""
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
        link_rows(pixels, table.columns, table.runs, periodic, missing + axis, steps)


@njit(nogil=True, cache=True)
def join_faces(values, many, shape, periodic, axis, steps, roots):
    """Unite elements that lie last along an axis with their neighbors that lie first.

    Return whether any were united. `values` is (N,), compared only if `many`; `steps` is (K, n),
    from `grid.steps_around`; `roots` is a forest, (N,) of int64, -1 for background.
    """
    joined = False
    position = np.empty(shape.size, np.int64)
    nowhere = np.zeros(shape.size, np.int64)
    for number in range(roots.size // shape[axis]):
        locate_last(number, shape, axis, position)
        here = beyond(position, nowhere, 1, shape, periodic)
        if roots[here] < 0:
            continue
        for k in range(steps.shape[0]):
            other = beyond(position, steps[k], 1, shape, periodic)
            if other < 0 or roots[other] < 0 or roots[other] == roots[here]:
                continue
            if not many or values[here] == values[other]:
                unite(roots, here, other)
                joined = True
    return joined


@njit(nogil=True, cache=True)
def settle(roots):
    """Point every element at its root; parents are smaller, so earlier elements are final."""
    for i in range(roots.size):
        root = roots[i]
        if root >= 0:
            roots[i] = roots[root]


@njit(nogil=True, cache=True)
def link_rows(pixels, columns, runs, periodic, axis, steps):
    """Unite the runs of the last rows along a leading axis with those of the first rows.

    `pixels` holds values, and blocks are single rows; or it is empty if all foreground is one
    value. `steps` is (K, 6): along the five leading axes, then whether rows touch diagonally.
    """
    shape = runs.shape
    empty = runs.bits.shape[0] - 1
    way = Detour(0, empty, empty)
    position = np.empty(AXES, np.int64)
    nowhere = np.zeros(AXES, np.int64)
    for number in range(empty // shape[axis]):
        locate_last(number, shape, axis, position)
        row = beyond(position, nowhere, 1, shape, periodic)
        for k in range(steps.shape[0]):
            other = beyond(position, steps[k], 1, shape, periodic)
            if other < 0:
                continue
            diagonal = steps[k, AXES] != 0
            if pixels.size > 0:
                link_row(pixels, columns, runs, row, other, diagonal)
            else:
                rows = Rows(row, row, other, other)
                link_unknown(runs, rows, way, diagonal, block_of(runs, row), block_of(runs, other))


@njit(nogil=True, cache=True)
def link_ends(pixels, columns, runs, periodic, steps):
    """Unite the run at the end of each row with the runs at the beginnings of neighboring rows.

    `pixels` holds values, or is empty if all foreground is one value. `steps` is (K, 6), from
    `grid.steps_around` along the last axis; the straight step comes first.
    """
    bits, shape = runs.bits, runs.shape
    final = columns - 1
    end = ONE << np.uint64(final & 63)
    position = np.empty(AXES, np.int64)
    locate(0, shape, position)
    for row in range(bits.shape[0] - 1):
        if bits[row, final >> 6] & end:
            # If two pixels of one value touch straight across the boundary, other steps already
            # connect one of them with its neighbors beside the other.
            straight = pixels.size == 0 and bits[row, 0] & ONE
            for k in range(1 if straight else steps.shape[0]):
                other = beyond(position, steps[k], 1, shape, periodic)
                if other < 0 or not bits[other, 0] & ONE:
                    continue
                if pixels.size == 0:
                    if other != row and bits[other, final >> 6] & end:
                        continue
                elif pixels[row * columns + final] != pixels[other * columns]:
                    continue
                one = run_at(runs, block_of(runs, row), final)
                unite(runs.parents, one, run_at(runs, block_of(runs, other), 0))
        advance(shape, position)


@inlined
def locate_last(number, shape, axis, position):
    """Write the coordinates of element `number`, among those that lie last along an axis."""
    for k in range(position.size - 1, -1, -1):
        if k == axis:
            position[k] = shape[k] - 1
        else:
            position[k] = number % shape[k]
            number //= shape[k]


@inlined
def beyond(position, step, way, shape, periodic):
    """Return the flat index of a neighbor, around periodic axes; -1 if it is outside the image.

    `way` is 1, or -1 for the neighbor from which the step leads here.
    """
    index = np.int64(0)
    for axis in range(position.size):
        there = position[axis] + way * step[axis]
        if there < 0 or there >= shape[axis]:
            if not periodic[axis]:
                return np.int64(-1)
            there += shape[axis] if there < 0 else -shape[axis]
        index = index * shape[axis] + there
    return index
