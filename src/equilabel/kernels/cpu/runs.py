"""Passes of the method `runs` on the CPU: pixels to bits, bits to runs, runs to labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import linking, linking_values, numbering, packing, painting, threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLACK = 8  # runs are read eight at a time


@dataclass
class RunTable:
    """The runs of an image, and the bits to find them by.

    Attributes
    ----------
    shape : (5,) array of int64
        Leading axes of the image, padded with ones: its rows.
    grid : (5,) array of int64
        The same in blocks of `deep` x `tall` rows.
    columns : int
        Pixels in a row.
    pixels : array or None
        Values, where runs have to be told apart by them.
    bits : (rows + 1, words) array of uint64
        Foreground; the last row is empty.
    starts : (blocks, words) array of uint64
        Where runs begin.
    counts : (blocks + 1,) array of int64
        Number of the first run of each block.
    first : (blocks, words) array of int
        Number of the first run that begins in each word.
    parents : (runs + 1,) array of int
        Forest of runs, later the label of each.
    """

    shape: NDArray[np.int64]
    grid: NDArray[np.int64]
    deep: int
    tall: int
    columns: int
    pixels: NDArray[Any] | None
    bits: NDArray[np.uint64]
    starts: NDArray[np.uint64]
    counts: NDArray[np.int64]
    first: NDArray[Any]
    parents: NDArray[Any]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(prod(self.shape))

    @property
    def many(self) -> bool:
        """Whether runs have to be told apart by their values."""
        return self.pixels is not None

    @property
    def geometry(self) -> tuple[Any, ...]:
        """What kernels need to find the rows of a block."""
        return self.shape, self.grid, self.deep, self.tall

    def pieces(self) -> list[tuple[int, int]]:
        """Cut the blocks into ranges for threads, between slabs."""
        line = int(self.grid[4]) if self.deep > 1 else 1
        return threads.ranges(len(self.starts), self.rows * self.columns, line)


def pack(image: NDArray[Any], background: Any, block: tuple[int, int]) -> RunTable:
    """Find the runs of an image.

    Parameters
    ----------
    image : array of bool or integers, 1 to 6 axes, any strides
        Not empty.
    background : scalar or None
        Of the image's type; None if no pixel is background.
    block : (int, int)
        Rows of a block, from `equilabel.neighborhood.blocks`; used if all foreground has one value.
    """
    binary = image.dtype == bool
    if binary:
        image = image.view(np.uint8)
    columns = image.shape[-1]
    shape = np.array((1,) * (packing.AXES + 1 - image.ndim) + image.shape[:-1], dtype=np.int64)
    rows = prod(image.shape[:-1])
    bits = np.empty((rows + 1, -(-columns // 64)), np.uint64)
    bits[rows] = 0
    bounded = background is not None
    value = image.dtype.type(background if bounded else 0)
    if _one_value(image, value, bounded, binary, bits):
        return _by_block(shape, columns, bits, *block)
    return _by_value(shape, columns, bits, np.ascontiguousarray(image).reshape(-1), value, bounded)


def unite(table: RunTable, edges: NDArray[np.int64]) -> None:
    """Unite the runs that touch, within ranges of blocks first, then between them."""
    if table.counts[-1] == 1:
        return
    pieces = table.pieces()
    threads.each(
        numbering.index,
        [(table.starts, table.counts, a, b, table.first, table.parents) for a, b in pieces],
    )
    reach = _reach(table.grid, edges)
    inside = [(a, b, a, b) for a, b in pieces]
    between = [(a, min(b, a + reach), 0, a) for a, b in pieces[1:]]
    kernel: Any
    before: tuple[Any, ...]
    if table.pixels is None:
        before = (table.bits.reshape(-1), table.starts, table.first, *table.geometry, edges)
        kernel = linking.link
    else:
        before = (
            table.pixels,
            table.columns,
            table.bits,
            table.starts,
            table.first,
            table.shape,
            edges,
        )
        kernel = linking_values.link_values
    threads.each(kernel, [(*before, *span, table.parents) for span in inside])
    for span in between:
        kernel(*before, *span, table.parents)


def number(table: RunTable) -> int:
    """Turn the forest into labels 1 to N in raster order, and return N."""
    if table.counts[-1] == 1:
        return 0
    line = int(table.grid[4]) if table.deep > 1 else 1
    counts = table.counts[::line].copy()
    ends = np.empty(counts.size, np.int64)
    components = int(numbering.number(counts, table.parents, ends))
    if table.deep * table.tall > 1 and components > 1:
        order = np.zeros(components + 1, table.parents.dtype)
        pieces = table.pieces()
        before = (table.bits, table.starts, table.first, table.parents, *table.geometry)
        threads.each(
            numbering.reorder, [(*before, a // line, b // line, ends, order) for a, b in pieces]
        )
        threads.each(
            numbering.relabel,
            [(table.parents, table.counts[a], table.counts[b], order) for a, b in pieces],
        )
    return components


def paint(table: RunTable, out: NDArray[Any], blank: bool) -> None:
    """Write the label of every pixel.

    Parameters
    ----------
    out : (rows * columns,) array of int
        C-contiguous; overwritten.
    blank : bool
        Whether it holds zeros.
    """
    if table.counts[-1] == 1:  # no runs: nothing but `bits` was filled in
        if not blank:
            out[:] = 0
        return
    before = (table.bits, table.starts, table.first, table.parents, *table.geometry, table.columns)
    spans = threads.ranges(table.rows, out.size)
    threads.each(painting.paint_rows, [(*before, a, b, blank, out) for a, b in spans])


def _one_value(
    image: NDArray[Any], value: Any, bounded: bool, binary: bool, bits: NDArray[np.uint64]
) -> bool:
    """Fill `bits` and tell whether all foreground has one value."""
    columns = image.shape[-1]
    rows = len(bits) - 1
    spans = threads.ranges(rows, image.size)
    if image.flags.c_contiguous:
        flat = image.reshape(-1)
        tasks = [
            (flat[a * columns : b * columns], columns, value, bounded, binary, bits[a:b])
            for a, b in spans
        ]
        found = threads.each(packing.pack, tasks)
    else:
        found = threads.each(
            lambda a, b: packing.pack(
                _rows(image, a, b), columns, value, bounded, binary, bits[a:b]
            ),
            spans,
        )
    if binary:
        return True
    return max(kind for kind, _ in found) < 2 and len({v for kind, v in found if kind}) < 2


def _rows(image: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
    """Copy a range of rows of a strided image."""
    leading = image.shape[:-1]
    if not leading:
        return np.ascontiguousarray(image)
    inner = prod(leading[1:])
    planes = np.ascontiguousarray(image[begin // inner : -(-end // inner)]).reshape(
        -1, image.shape[-1]
    )
    skip = begin - begin // inner * inner
    return planes[skip : skip + end - begin].reshape(-1)


def _by_block(
    shape: NDArray[np.int64], columns: int, bits: NDArray[np.uint64], deep: int, tall: int
) -> RunTable:
    grid = shape.copy()
    grid[3] = -(-shape[3] // deep)
    grid[4] = -(-shape[4] // tall)
    blocks = int(prod(grid))
    starts = np.empty((blocks, bits.shape[1]), np.uint64)
    counts = np.empty(blocks + 1, np.int64)
    line = int(grid[4]) if deep > 1 else 1
    threads.each(
        packing.begin,
        [
            (bits, shape, grid, deep, tall, a, b, starts, counts)
            for a, b in threads.ranges(blocks, (len(bits) - 1) * columns, line)
        ],
    )
    return _table(shape, grid, deep, tall, columns, None, bits, starts, counts)


def _by_value(
    shape: NDArray[np.int64],
    columns: int,
    bits: NDArray[np.uint64],
    pixels: NDArray[Any],
    value: Any,
    bounded: bool,
) -> RunTable:
    rows = len(bits) - 1
    starts = np.empty((rows, bits.shape[1]), np.uint64)
    counts = np.empty(rows + 1, np.int64)
    threads.each(
        packing.pack_values,
        [
            (pixels, a, b, columns, value, bounded, bits, starts, counts)
            for a, b in threads.ranges(rows, pixels.size)
        ],
    )
    return _table(shape, shape.copy(), 1, 1, columns, pixels, bits, starts, counts)


def _table(
    shape: Any,
    grid: Any,
    deep: int,
    tall: int,
    columns: int,
    pixels: Any,
    bits: Any,
    starts: Any,
    counts: Any,
) -> RunTable:
    """Make room for the runs, which are counted by now."""
    counts[0] = 1
    np.cumsum(counts, out=counts)
    index = np.int32 if counts[-1] <= np.iinfo(np.int32).max else np.int64
    parents = np.empty(int(counts[-1]) + SLACK, index)
    parents[0] = 0
    first = np.empty(starts.shape, index)
    return RunTable(shape, grid, deep, tall, columns, pixels, bits, starts, counts, first, parents)


def _reach(grid: NDArray[np.int64], edges: NDArray[np.int64]) -> int:
    """Count the blocks back that edges lead at most."""
    strides = np.append(np.cumprod(grid[:0:-1])[::-1], 1)
    return int(-(edges[:, : packing.AXES] @ strides).min(initial=0))
