"""Objects across periodic boundaries: their shortest boxes, and counts in one piece."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import fetch, is_on_cuda, library

from .counts import Layout, moved, sum_wide

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray


# ---- Bounding boxes along periodic axes: the shortest intervals that contain each label

ROOM = 2**26  # coordinates of labels that are looked at at once
SPARE = 4  # entries of a look-up table for each pixel, beyond which labels are searched


def shorten(
    hold: Callable[[NDArray[np.int64], int], NDArray[np.bool_]],
    sides: tuple[int, ...],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    periodic: tuple[bool, ...],
) -> None:
    """Replace boxes by the shortest ones, which may cross boundaries.

    `hold` returns which coordinates along an axis some labels, given by their rows, have:
    (K, side). `begins` and `ends`, (N, axes), are updated; a box begins inside the image. Only
    boxes longer than half of an axis can become shorter.
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
    """Return which coordinates along an axis the pixels of some labels have, (K, side)."""
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
    """Return begins and lengths of the shortest intervals around a circle that contain all places.

    Of several, the first one. Each row of `held`, (K, side), has at least one place.

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
    """Return the index of each pixel's label in an ascending list of labels, from 1, or 0.

    No label of the image is negative; those of the list are above 0.

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


# ---- Counts of images with periodic axes: objects are measured in one piece
# Along a periodic axis the bounding box of an object is the shortest interval that contains it. It
# begins inside the image and may end beyond; coordinates before its beginning are increased by one
# side of the image. A label whose box crosses a boundary is counted in pieces, one for each set of
# crossed axes, whose sums are shifted and added up. Neighbors are compared in an image that is
# continued across its boundaries.

COMPARED = ("pairs", "euler_face", "euler_full", "outline")  # groups that follow from neighbors
HIGHEST = 2**48  # labels beyond it are numbered anew, to leave room for those of pieces


class Unwrapped:
    """Counts of every label in coordinates that continue across boundaries: an `Accumulator`.

    `kernels` is the module `accumulate` of the device that holds the labels, `keep` as for its
    `Accumulator`. `by_runs`: labels are divided by runs, where there are any, and not by pixels.
    A negative label is reported in `labels` and must not be used; boxes in `table` may end beyond
    the image.
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
        """Count labels, or pieces of them, in coordinates of the image."""
        self._image = image
        source = self._kernels.LabelSource(image)
        self._found = self._kernels.Accumulator(source, self._plain, keep=self._keep)

    def _coordinates(self, rows: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
        """Return which coordinates along an axis some labels have."""
        from equilabel.measuring.cpu.pieces import find_coordinates

        if self._by_runs:
            held: NDArray[np.bool_] = find_coordinates(self._found, rows, axis)
            return held
        return coordinates(self._image, self.labels[rows], axis)

    def _divide(self, torn: NDArray[np.int64], begins: NDArray[np.int64]) -> None:
        """Do as `_take_apart` by runs: each lies on one side of the beginning of its box."""
        from equilabel.measuring.cpu.pieces import Pieces

        self._whole = len(self.labels)
        self._found = Pieces(self._found, torn, begins)
        self._owners = self._found.owners
        self._shifts = self._found.moved * np.array(self._image.shape)

    def _take_apart(self, image: Array, torn: NDArray[np.int64], begins: NDArray[np.int64]) -> None:
        """Count labels whose box crosses a boundary in pieces that have labels of their own.

        `torn`, (K,), are their rows among all labels; `begins`, (K, axes), where their boxes begin.
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
        from .cpu import accumulate as kernels

        image = fetch(image)
        margin = 1 + (self._layout.outline != "none")
        widths = [margin * around for around in periodic]
        box = [(width, width + side) for width, side in zip(widths, image.shape, strict=True)]
        image = np.pad(image, [(width, width) for width in widths], mode="wrap")
        layout = replace(self._layout, first=False, seconds=False)
        source = kernels.LabelSource(image)
        found = kernels.Accumulator(source, layout, box=box)
        for group in COMPARED:
            self.table[:, self._layout[group]] = found.table[:, layout[group]]

    def values(self, values: Array) -> tuple[HostArray, ...]:
        """Return sums, minima and maxima of values; for small integers also sums of squares."""
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
        """Return sums of squared distances of values from a center, for each label and channel."""
        return self._sum(self._found.squares(values, centers[self._owners]))

    def powers(self, centers: HostArray) -> NDArray[np.float64]:
        """Return sums of products of powers of coordinates, up to 3 along each spatial axis."""
        return self._sum(self._found.powers(self._around(centers)))

    def weighted(self, values: Array, channel: int, centers: HostArray) -> NDArray[np.float64]:
        """Return sums as `powers` does, each pixel weighted by its value in one channel."""
        return self._sum(self._found.weighted(values, channel, self._around(centers)))

    def exact(self, rows: NDArray[np.int64]) -> HostArray:
        """Return exact sums of coordinates and products of some labels, as `counts.sum_wide`."""
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
        """Return the centers of labels in the coordinates of their pieces."""
        spatial = self._shifts[:, self._layout.axes - self._layout.rank :]
        return np.ascontiguousarray(centers[self._owners] - spatial)

    def _sum(self, parts: HostArray) -> HostArray:
        """Add up what pieces have, for each label in the same order every time."""
        if self._whole == len(self._owners):
            return parts
        total = np.zeros((len(self.labels), *parts.shape[1:]), parts.dtype)
        whole, more = np.split(self._owners, [self._whole])
        total[whole] = parts[: self._whole]  # no label occurs twice here
        np.add.at(total, more, parts[self._whole :])
        return total
