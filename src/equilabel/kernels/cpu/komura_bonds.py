"""Passes of the generalized labeler (Komura 2016) on a lattice of bonds, on the CPU.

The list of neighbors of a site holds the earlier sites to which an open bond leads: forward, by a
bit of the site itself, or backward, by a bit of the other site. The two differ only at periodic
boundaries, where a step forward may lead to an earlier site. The residual list is the same list
without the lowest of them.
"""

import numpy as np

from .caching import njit
from .union_find import unite_roots


@njit(nogil=True, cache=True)
def label_sites(open_bonds, shape, steps, periodic):
    """Label every site with its lowest neighbor, or itself.

    Parameters
    ----------
    open_bonds : (N,) array of unsigned integers
        Bit ``k`` of a site is set if its bond along ``steps[k]`` is open. Not checked.
    shape : (ndim,) array of int64
        Shape of the lattice.
    steps : (K, ndim) array of int64
        Forward, of -1, 0 and 1. Not checked.
    periodic : (ndim,) array of bool

    Returns
    -------
    labels : (N,) array of int64
    """
    labels = np.empty(open_bonds.size, np.int64)
    rows = np.empty((2, len(steps)), np.int64)
    earlier = np.empty(2 * len(steps), np.int64)
    width = shape[-1]
    for start in range(0, open_bonds.size, width):
        find_rows(start, shape, steps, periodic, rows)
        for column in range(width):
            i = start + column
            count = list_earlier(open_bonds, i, column, width, steps, periodic[-1], rows, earlier)
            labels[i] = earlier[0] if count else i
    return labels


@njit(nogil=True, cache=True)
def unite_sites(labels, open_bonds, shape, steps, periodic):
    """Unite every site with its residual list.

    Parameters
    ----------
    labels : (N,) array of int64
        Overwritten, with longer chains. From `label_sites`, resolved. Not checked.
    open_bonds, shape, steps, periodic
        As for `label_sites`.
    """
    rows = np.empty((2, len(steps)), np.int64)
    earlier = np.empty(2 * len(steps), np.int64)
    width = shape[-1]
    for start in range(0, open_bonds.size, width):
        find_rows(start, shape, steps, periodic, rows)
        for column in range(width):
            i = start + column
            count = list_earlier(open_bonds, i, column, width, steps, periodic[-1], rows, earlier)
            for k in range(1, count):
                unite_roots(labels, i, earlier[k])


@njit(nogil=True, cache=True)
def find_rows(start, shape, steps, periodic, rows):
    """Find the rows to which steps lead from one row, forward and backward.

    Parameters
    ----------
    start : int
        Flat index of the first site of the row.
    shape, steps, periodic
        As for `label_sites`.
    rows : (2, K) array of int64
        Overwritten: the first site of the row along each step and against it, -1 if it is outside.
    """
    for k in range(len(steps)):
        for way in range(2):
            rest = start // shape[-1]
            stride = shape[-1]
            found = 0
            for axis in range(shape.size - 2, -1, -1):
                side = shape[axis]
                there = rest % side + (steps[k, axis] if way == 0 else -steps[k, axis])
                rest //= side
                if there < 0 or there >= side:
                    if not periodic[axis]:
                        found = -1
                        break
                    there %= side
                found += there * stride
                stride *= side
            rows[way, k] = found


@njit(nogil=True, cache=True)
def list_earlier(open_bonds, site, column, width, steps, periodic, rows, earlier):
    """List the earlier sites to which open bonds lead, the lowest first.

    Parameters
    ----------
    open_bonds, steps
        As for `label_sites`.
    site, column, width : int
        Flat index of the site, and its place in a row of `width` sites.
    periodic : bool
        Whether rows are.
    rows : (2, K) array of int64
        From `find_rows`.
    earlier : (2 * K,) array of int64
        Overwritten.

    Returns
    -------
    int
        How many sites were listed.
    """
    count = 0
    for k in range(len(steps)):
        bit = np.uint64(1) << np.uint64(k)
        for way in range(2):
            if rows[way, k] < 0:
                continue
            there = column + (steps[k, -1] if way == 0 else -steps[k, -1])
            if there < 0 or there >= width:
                if not periodic:
                    continue
                there %= width
            other = rows[way, k] + there
            if other < site and np.uint64(open_bonds[site if way == 0 else other]) & bit:
                earlier[count] = other
                if other < earlier[0]:
                    earlier[count] = earlier[0]
                    earlier[0] = other
                count += 1
    return count
