"""Passes of direct labelling (Playne and Hawick 2018) on the CPU.

Labels are flat indices, -1 for background; a label is at most the index of its element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from .window import geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its lowest neighbor, or itself."""
    values, bounded, background = grid.bounded_values
    labels = np.arange(values.size)
    if bounded:
        labels[values == background] = -1
    point_at_lowest(labels, values, *geometry(grid))
    return labels


def resolve(labels: NDArray[np.int64]) -> None:
    """Point every element at the root of its chain of labels."""
    resolve_chains(labels)


def reduce_labels(grid: Grid, labels: NDArray[np.int64]) -> None:
    """Unite every element with its neighbors that it is not connected with otherwise."""
    unite_parts(labels, grid.values[0], *geometry(grid))


# -------------------------------------------------------------------- kernels


@numba.njit(nogil=True, cache=True)
def point_at_lowest(labels, values, shape, steps, offsets, neighbors, links):
    """Point every foreground element at its lowest neighbor of equal value.

    `labels` is (N,), each its own index, -1 for background. `links` is not used.
    """
    width = shape[-1]
    for start in range(0, values.size, width):
        inside = inside_of(start, shape, steps)
        for column in range(width):
            i = start + column
            if labels[i] >= 0:
                around = window_of(values, i, column, width, inside & neighbors, steps, offsets)
                if around:
                    labels[i] = i + offsets[lowest_bit(around)]


@numba.njit(nogil=True, cache=True)
def resolve_chains(labels):
    """Point every element at the root of its chain, ``labels[i] <= i``."""
    for i in range(labels.size):
        if labels[i] >= 0:
            labels[i] = root_of(labels, i)


@numba.njit(nogil=True, cache=True)
def unite_parts(labels, values, shape, steps, offsets, neighbors, links):
    """Unite every element with one neighbor in each connected part of its window.

    `labels` are those of `point_at_lowest`, resolved: the part of the lowest neighbor is done.
    """
    width = shape[-1]
    for start in range(0, values.size, width):
        inside = inside_of(start, shape, steps)
        for column in range(width):
            i = start + column
            if labels[i] < 0:
                continue
            around = window_of(values, i, column, width, inside, steps, offsets)
            left = around & neighbors
            first = True
            while left:
                k = lowest_bit(left)
                left &= ~connected_with(k, around, links)
                if not first:
                    unite(labels, i, i + offsets[k])
                first = False


@numba.njit(nogil=True)
def inside_of(start, shape, steps):
    """Return which steps from the row at `start` stay inside along all axes but the last."""
    inside = (np.int64(1) << len(steps)) - 1
    rest = start // shape[-1]
    for axis in range(shape.size - 2, -1, -1):
        coordinate = rest % shape[axis]
        rest //= shape[axis]
        for k in range(len(steps)):
            if not 0 <= coordinate + steps[k, axis] < shape[axis]:
                inside &= ~(np.int64(1) << k)
    return inside


@numba.njit(nogil=True)
def window_of(values, i, column, width, among, steps, offsets):
    """Return which elements of the window of i, in `column` of its row, have its value."""
    found = np.int64(0)
    for k in range(offsets.size):
        inside = among >> k & 1 and 0 <= column + steps[k, -1] < width
        if inside and values[i + offsets[k]] == values[i]:
            found |= np.int64(1) << k
    return found


@numba.njit(nogil=True)
def connected_with(k, around, links):
    """Return the elements `around` that are connected with k through these, and k itself."""
    found = new = np.int64(1) << k
    while new:
        reached = np.int64(0)
        for j in range(links.size):
            if new >> j & 1:
                reached |= links[j]
        new = reached & around & ~found
        found |= new
    return found


@numba.njit(nogil=True)
def lowest_bit(bits):
    """Return the position of the lowest bit of a number that is not 0."""
    k = 0
    while not bits >> k & 1:
        k += 1
    return k


@numba.njit(nogil=True)
def root_of(labels, i):
    """Return the end of a chain of labels."""
    while labels[i] != i:
        i = labels[i]
    return i


@numba.njit(nogil=True)
def unite(labels, one, other):
    """Give two elements one root, the smaller of theirs; on a GPU, an atomic minimum."""
    one, other = root_of(labels, one), root_of(labels, other)
    labels[max(one, other)] = min(one, other)
