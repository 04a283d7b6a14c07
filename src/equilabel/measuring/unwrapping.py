"""Objects across periodic boundaries: their shortest boxes, and counts in one piece."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import fetch, is_on_cuda, library, passes

from .counts import moved, sum_wide
from .layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray


# ---- Bounding boxes of labels along periodic axes: the shortest intervals that hold them

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


# ---- Counts of images with periodic axes: objects are measured where they lie in one piece
# Along a periodic axis the bounding box of an object is the shortest interval that holds it. It
# begins inside the image and may end beyond; coordinates count from there, so that those before its
# beginning are greater by one side of the image. A label whose box goes around a boundary is
# counted in pieces, one for each set of axes to go around, and their sums are shifted and added up.
# Neighbors are compared in an image that is continued across its boundaries.

COMPARED = ("pairs", "euler_face", "euler_full", "outline")  # groups that follow from neighbors
HIGHEST = 2**48  # label beyond which labels are numbered anew, to leave room for pieces


class Unwrapped:
    """Counts of every label in coordinates that boundaries do not tear: an `Accumulator`.

    Parameters
    ----------
    kernels : module
        `equilabel.kernels.<device>.accumulate`, of the device that holds the labels.
    image : C-contiguous array of int
        Labels.
    layout : Layout
        What to count.
    keep : bool
        Whether pixels will be summed over, as for the accumulators of devices.
    periodic : tuple of bool
        For each axis of the image.
    by_runs : bool
        Whether labels are taken apart by their runs, where there are any, and not by pixels.

    Attributes
    ----------
    labels : (N,) array of int64
        Labels that occur, ascending; a negative one is reported and not to be used.
    table : (N, layout.width) array of int64
        As `equilabel.measuring.layout` says; boxes may end beyond the image.
    """

    def __init__(
        self,
        kernels: ModuleType,
        image: Array,
        layout: Layout,
        keep: bool,
        periodic: tuple[bool, ...],
        by_runs: bool = True,
    ) -> None:
        self._periodic = periodic
        self._kernels, self._layout = kernels, layout
        self._by_runs = not is_on_cuda(image) and by_runs
        self._keep = keep or self._by_runs
        self._plain = Layout(layout.axes, layout.stacked, seconds=layout.seconds)
        self._count(image)
        self.labels = self._found.labels
        self.table = np.zeros((len(self.labels), layout.width), np.int64)
        self._owners, self._whole = np.arange(len(self.labels)), len(self.labels)
        self._shifts = np.zeros((len(self.labels), layout.axes), np.int64)
        if len(self.labels) == 0 or self.labels[0] < 0:
            return
        sides = np.array(image.shape, np.int64)
        begins = sides - self._found.table[:, self._plain["lows"]]
        ends = self._found.table[:, self._plain["highs"]].copy()
        shorten(self._coordinates, image.shape, begins, ends, periodic)
        torn = np.flatnonzero((ends > sides).any(axis=1))
        if len(torn) and self._by_runs:
            self._divide(torn, begins[torn])
        elif len(torn):
            self._take_apart(image, torn, begins[torn])
        self.table[:, 0] = self._sum(self._found.table[:, 0])
        self.table[:, layout.wide_columns] = self._sum(
            moved(self._found.table, self._plain, self._shifts)
        )
        self.table[:, layout["lows"]] = sides - begins
        self.table[:, layout["highs"]] = ends
        if layout.compared != "none":
            self._compare(image, periodic)

    def _count(self, image: Array) -> None:
        """Count labels, or pieces of them, where they lie."""
        self._image = image
        source = self._kernels.LabelSource(image)
        self._found = self._kernels.Accumulator(source, self._plain, keep=self._keep)

    def _coordinates(self, rows: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
        """Tell which coordinates along an axis some labels have."""
        from equilabel.measuring.cpu.pieces import find_coordinates

        if self._by_runs:
            held: NDArray[np.bool_] = find_coordinates(self._found, rows, axis)
            return held
        return coordinates(self._image, self.labels[rows], axis)

    def _divide(self, torn: NDArray[np.int64], begins: NDArray[np.int64]) -> None:
        """Do as `_take_apart` by runs, which lie on one side of the beginning of their box."""
        from equilabel.measuring.cpu.pieces import Pieces

        self._whole = len(self.labels)
        self._found = Pieces(self._found, torn, begins)
        self._owners = self._found.owners
        self._shifts = self._found.moved * np.array(self._image.shape)

    def _take_apart(self, image: Array, torn: NDArray[np.int64], begins: NDArray[np.int64]) -> None:
        """Count labels whose box goes around a boundary in pieces that have labels of their own.

        Parameters
        ----------
        torn : (K,) array of int64
            Their places among all labels.
        begins : (K, axes) array of int64
            Where their boxes begin.
        """
        xp, axes, names = library(image), image.ndim, self.labels
        if names[-1] > HIGHEST:
            image, names = places_of(image, names), np.arange(1, len(names) + 1)
        slots = places_of(image, names[torn]).reshape(-1)
        pixels = xp.flatnonzero(slots)
        slots = slots[pixels]
        pieces = xp.zeros(pixels.shape, np.int64)
        for axis in np.flatnonzero(begins.any(axis=0)).tolist():
            first = xp.asarray(np.append(0, begins[:, axis]))
            before = coordinate(pixels, image.shape, axis) < first[slots]
            pieces |= before.astype(np.int64) << axis
        top = int(names[-1])
        named = image.astype(np.int64)
        moved_away = pieces > 0
        own = top + (slots << axes) + pieces
        named.reshape(-1)[pixels[moved_away]] = own[moved_away]
        self._count(named)
        found = self._found.labels
        cut = int(np.searchsorted(found, top, side="right"))
        slot, piece = np.divmod(found[cut:] - top, 2**axes)
        self._owners = np.concatenate([np.searchsorted(names, found[:cut]), torn[slot - 1]])
        self._whole = cut
        self._shifts = np.zeros((len(found), axes), np.int64)
        self._shifts[cut:] = (piece[:, None] >> np.arange(axes) & 1) * np.array(image.shape)

    def _compare(self, image: Array, periodic: tuple[bool, ...]) -> None:
        """Fill the columns that follow from neighbors, on the host: it counts parts of images."""
        image = fetch(image)
        margin = 1 + (self._layout.outline != "none")
        box = []
        for axis, (side, around) in enumerate(zip(image.shape, periodic, strict=True)):
            box.append((margin * around, margin * around + side))
            if around:
                image = _continued(image, margin, axis)
        layout = replace(self._layout, first=False, seconds=False)
        kernels = passes("measuring.accumulate", "cpu")
        source = kernels.LabelSource(np.ascontiguousarray(image))
        found = kernels.Accumulator(source, layout, box=box)
        for group in COMPARED:
            self.table[:, self._layout[group]] = found.table[:, layout[group]]

    def values(self, values: Array) -> tuple[HostArray, ...]:
        """Sum the values of each label, and find the least and greatest."""
        sums, lows, highs, *squares = self._found.values(values)
        if self._whole == len(self._owners):
            return (sums, lows, highs, *squares)
        order = np.argsort(self._owners, kind="stable")
        starts = np.searchsorted(self._owners[order], np.arange(len(self.labels)))

        def kept(keep: np.ufunc, parts: HostArray) -> HostArray:
            return np.asarray(keep.reduceat(parts[order], starts))

        lows, highs = kept(np.minimum, lows), kept(np.maximum, highs)
        return (self._sum(sums), lows, highs, *map(self._sum, squares))

    def squares(self, values: Array, centers: HostArray) -> NDArray[np.float64]:
        """Sum the squared distances of values from a center for each label and channel."""
        return self._sum(self._found.squares(values, centers[self._owners]))

    def powers(self, centers: HostArray) -> NDArray[np.float64]:
        """Sum the products of powers of coordinates, up to 3 along each spatial axis."""
        return self._sum(self._found.powers(self._around(centers)))

    def weighted(self, values: Array, channel: int, centers: HostArray) -> NDArray[np.float64]:
        """Sum as `powers` does, each pixel weighted by its value in one channel."""
        return self._sum(self._found.weighted(values, channel, self._around(centers)))

    def exact(self, rows: NDArray[np.int64]) -> HostArray:
        """Sum coordinates and products of some labels exactly, as `wide.sum_wide` does."""
        if self._by_runs and self._whole < len(self._owners):
            asked = self._kernels, self._image, self._layout, self._keep, self._periodic
            return Unwrapped(*asked, by_runs=False).exact(rows)
        parts = np.flatnonzero(np.isin(self._owners, rows))
        plain = self._plain
        table = np.zeros((len(parts), plain.width), object)
        table[:, 0] = self._found.table[parts, 0]
        table[:, plain.wide_columns] = sum_wide(
            self._kernels, self._image, self._found.labels[parts], plain
        )
        sums = moved(table, plain, self._shifts[parts].astype(object))
        total = np.zeros((len(rows), sums.shape[1]), object)
        np.add.at(total, np.searchsorted(rows, self._owners[parts]), sums)
        return total

    def _around(self, centers: HostArray) -> HostArray:
        """Return the centers of labels as their pieces see them."""
        spatial = self._shifts[:, self._layout.axes - self._layout.rank :]
        return np.ascontiguousarray(centers[self._owners] - spatial)

    def _sum(self, parts: HostArray) -> HostArray:
        """Add up what pieces have, for each label in the same order every time."""
        if self._whole == len(self._owners):
            return parts
        total = np.zeros((len(self.labels), *parts.shape[1:]), parts.dtype)
        whole, more = np.split(self._owners, [self._whole])
        total[whole] = parts[: self._whole]  # each of another label
        np.add.at(total, more, parts[self._whole :])
        return total


def _continued(image: HostArray, margin: int, axis: int) -> HostArray:
    """Continue an image across the boundaries of a periodic axis."""
    side = image.shape[axis]
    if side < margin:
        return np.asarray(image.take(np.arange(-margin, side + margin) % side, axis))
    before, after = [slice(None)] * image.ndim, [slice(None)] * image.ndim
    before[axis], after[axis] = slice(side - margin, None), slice(margin)
    return np.concatenate([image[tuple(before)], image, image[tuple(after)]], axis)
