"""Bounding boxes of labels along periodic axes: the shortest intervals that hold them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import fetch, library

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import Array

ROOM = 2**26  # bits of coordinates that are held at once
SPARE = 4  # entries of a look-up table that each pixel may cost before labels are searched


def shorten(
    hold: Callable[[NDArray[np.int64], int], NDArray[np.bool_]],
    sides: tuple[int, ...],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    periodic: tuple[bool, ...],
) -> None:
    """Replace boxes by the shortest ones, which may go around boundaries.

    A box can be shorter than it is only if it spans more than half of the axis: then a gap inside
    may be wider than the one around. All coordinates of such labels are looked at.

    Parameters
    ----------
    hold : callable
        Tells which coordinates along an axis some labels have, given by their rows: (K, side).
    sides : tuple of int
        Shape of the image.
    begins, ends : (N, axes) arrays of int64
        First and last + 1 coordinate of each. Updated: a box begins inside the image.
    periodic : tuple of bool
        For each axis.
    """
    for axis in np.flatnonzero(periodic).tolist():
        side = sides[axis]
        long = np.flatnonzero(2 * (ends[:, axis] - begins[:, axis]) > side + 2)
        each = max(1, ROOM // side)
        for start in range(0, len(long), each):
            some = long[start : start + each]
            begin, length = shortest_intervals(hold(some, axis))
            begins[some, axis], ends[some, axis] = begin, begin + length


def coordinates(image: Array, wanted: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
    """Tell which coordinates along an axis the pixels of some labels have, (K, side)."""
    xp = library(image)
    side = image.shape[axis]
    held = xp.zeros((len(wanted) + 1, side), np.bool_)
    places = places_of(image, wanted).reshape(-1)
    pixels = xp.flatnonzero(places)
    held[places[pixels], coordinate(pixels, image.shape, axis)] = True
    return np.asarray(fetch(held))[1:]


def coordinate(pixels: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Return the coordinate along an axis of pixels given by their flat indices."""
    return pixels // prod(shape[axis + 1 :]) % shape[axis]


def shortest_intervals(held: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the shortest interval around a circle that holds all places of each row.

    Of several, the one that begins first: a row that leaves no gap has all places from 0 on.

    Parameters
    ----------
    held : (K, side) array of bool
        At least one place in each row.

    Returns
    -------
    begins, lengths : (K,) arrays of int64

    Examples
    --------
    >>> rows = np.array([[1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1] * 6])
    >>> begins, lengths = shortest_intervals(rows > 0)
    >>> begins.tolist(), lengths.tolist()
    ([5, 1, 0, 0], [3, 2, 4, 6])
    """
    side = held.shape[1]
    rows, places = np.nonzero(held)
    firsts = np.searchsorted(rows, np.arange(len(held)))
    lasts = np.append(firsts[1:], len(rows)) - 1
    following = np.append(places[1:], 0)
    following[lasts] = places[firsts] + side
    gaps = following - places - 1
    begins = following % side
    widest = np.lexsort((begins, -gaps, rows))[firsts]
    return begins[widest], side - gaps[widest]


def places_of(image: Array, wanted: NDArray[np.int64]) -> Array:
    """Find the label of each pixel in a list: its place, counted from 1, or 0.

    Parameters
    ----------
    image : array of int
        No label is negative.
    wanted : (K,) array of int64
        Ascending, above 0.

    Examples
    --------
    >>> places_of(np.array([0, 7, 9, 3]), np.array([3, 9]))
    array([0, 0, 2, 1])
    """
    xp = library(image)
    whole = image.astype(np.int64, copy=False)
    most = int(wanted[-1])
    if most <= SPARE * image.size:
        table = xp.zeros(most + 2, np.int64)
        table[xp.asarray(wanted)] = xp.arange(1, len(wanted) + 1)
        return table[xp.minimum(whole, most + 1)]
    known = xp.asarray(wanted)
    place = xp.searchsorted(known, whole).clip(max=len(wanted) - 1)
    return xp.where(known[place] == whole, place + 1, 0)
