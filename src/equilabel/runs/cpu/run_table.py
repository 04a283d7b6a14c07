"""The table of runs, and access to its rows, blocks and labels from kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import populate_array

from equilabel.devices import threads
from equilabel.devices.cpu.bits import ONE, popcount, twin
from equilabel.devices.cpu.renumbering import renumber
from equilabel.devices.jit import inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Grid


# ---- The runs of an image, and the blocks of rows that they are found in
# Rows are the lines along the last axis: `columns` pixels, or `words` words of 64 bits. Blocks are
# one, two or four rows that all touch each other (see `equilabel.domains.grid.blocks`), and
# a run of a block is a run of the union of its rows. There are five leading axes, padded with ones.
#
# Runs are numbered 1, 2, ... block by block; run 0 stands for "none". ``first[block, word]`` is the
# number of the first run that begins in a word, so the run of a pixel is found by counting the
# starts up to it.

AXES = 5
SLACK = 64  # runs are read up to 64 at a time


class Runs(NamedTuple):
    """Runs as kernels take them: a tuple of arrays is as cheap for a kernel as the arrays."""

    bits: Array  # (R + 1, words) of uint64: foreground; the last row is empty
    starts: Array  # (B, words) of uint64: where runs begin in the union of the rows of a block
    first: Array  # (B, words) of int: number of the first run that begins in each word
    parents: Array  # (runs + 1,) of int: forest of runs, later the label of each
    shape: Array  # (5,) of int64: leading axes of the image
    grid: Array  # (5,) of int64: the same in blocks of deep x tall rows
    deep: int  # rows of a block along the last but one leading axis
    tall: int  # rows of a block along the last leading axis


@dataclass
class RunTable:
    """The runs of an image, and what is needed to number and paint them."""

    runs: Runs
    counts: NDArray[np.int64]  # (blocks + 1,): number of the first run of each block
    columns: int  # pixels of a row
    edges: NDArray[np.int64]  # (E, 10), from `domains.grid.block_edges`
    pixels: HostArray | None = None  # values, if they tell runs apart
    whole: bool = True  # all values that tell runs apart are whole numbers
    first_label: int = 1  # 0 or 1
    domain: Grid | None = None  # the image, if it has periodic axes
    room: None = None  # on a GPU, the memory of the labels

    @classmethod
    def of_blocks(
        cls,
        shape: NDArray[np.int64],
        block: tuple[int, int],
        columns: int,
        edges: NDArray[np.int64],
    ) -> RunTable:
        """Make a table for rows in blocks of a given size; its runs are not found yet."""
        deep, tall = block
        grid = shape.copy()
        grid[3:] = -(-shape[3] // deep), -(-shape[4] // tall)
        rows, blocks, words = prod(shape.tolist()), prod(grid.tolist()), -(-columns // 64)
        # One allocation: smaller ones go back to the system when freed, and return as new pages.
        room = np.empty((rows + 1 + blocks + -(-blocks // 2), words), np.uint64)
        bits, starts = room[: rows + 1], room[rows + 1 : rows + 1 + blocks]
        bits[rows] = 0
        rest = room[rows + 1 + blocks :].reshape(-1).view("i4")
        first = rest[: blocks * words].reshape(blocks, words)
        counts = np.empty(blocks + 1, np.int64)
        none = np.empty(0, np.int32)
        runs = Runs(bits, starts, first, none, shape, grid, deep, tall)
        return cls(runs, counts, columns, edges)

    @classmethod
    def of_grid(cls, grid: Grid, block: tuple[int, int]) -> RunTable:
        """Make a table for an image in blocks of a given size; its runs are not found yet."""
        shape = grid.shape
        leading = np.array((1,) * (AXES + 1 - len(shape)) + shape[:-1], np.int64)
        return cls.of_blocks(leading, block, shape[-1], grid.edges(block))

    def relabel(self, numbers: HostArray) -> None:
        """Replace the labels 0 to N of runs, which are numbered, by `numbers`, (N + 1,)."""
        used = int(self.counts[-1])
        if used > 1:
            spans = threads.ranges(used, 4 * used)
            threads.each(renumber, [(self.parents[a:b], numbers) for a, b in spans])

    @property
    def parents(self) -> HostArray:
        """Forest of runs, later the label of each."""
        parents: HostArray = self.runs.parents
        return parents

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.runs.starts)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.runs.bits) - 1

    @property
    def many(self) -> bool:
        """Whether runs have to be told apart by their values."""
        return self.pixels is not None

    def first_row(self, block: Any) -> Any:
        """Return the first row of a block, or of an array of blocks, that begin slabs."""
        runs = self.runs
        line, along = divmod(block, int(runs.grid[4]))
        outer, z = divmod(line, int(runs.grid[3]))
        row = (outer * int(runs.shape[3]) + z * runs.deep) * int(runs.shape[4])
        return row + along * runs.tall

    @property
    def slab(self) -> int:
        """Number of blocks that share a range of rows in raster order: one, or a line of blocks."""
        return int(self.runs.grid[4]) if self.runs.deep > 1 else 1

    @property
    def farthest(self) -> int:
        """Greatest number of blocks that an edge leads back."""
        strides = np.append(np.cumprod(self.runs.grid[:0:-1])[::-1], 1)
        return int(-(self.edges[:, :AXES] @ strides).min(initial=0))

    def pieces(self) -> list[tuple[int, int]]:
        """Cut the blocks into ranges of whole slabs, for threads."""
        return threads.ranges(self.blocks, self.rows * self.columns, self.slab)

    def number_runs(self) -> None:
        """Give numbers to the runs, which are counted for each block, and allocate the forest."""
        counts = self.counts
        counts[0] = 1
        np.cumsum(counts, out=counts)
        index = np.int32 if counts[-1] <= np.iinfo(np.int32).max else np.int64
        parents = np.empty(int(counts[-1]) + SLACK, index)
        parents[0] = 0
        first = self.runs.first
        if first.size != self.runs.starts.size or first.dtype != index:
            first = np.empty(self.runs.starts.shape, index)
        self.runs = self.runs._replace(first=first, parents=parents)


# -------------------------------------------------------------------- for kernels


@inlined
def locate(index, shape, position):
    """Write the coordinates of a flat index into `position`."""
    for axis in range(AXES - 1, -1, -1):
        position[axis] = index % shape[axis]
        index //= shape[axis]


@inlined
def advance(shape, position):
    """Move `position` to the next element in raster order."""
    for axis in range(AXES - 1, -1, -1):
        position[axis] += 1
        if position[axis] < shape[axis]:
            return
        position[axis] = 0


@inlined
def row_of(runs, position, z, y):
    """Return a row of a block, or the empty last row if it is outside the image.

    `position` is (5,): coordinates of the block. `z` and `y` count from its first row, along the
    last two leading axes.
    """
    shape = runs.shape
    z += position[3] * runs.deep
    y += position[4] * runs.tall
    if z >= shape[3] or y >= shape[4]:
        return runs.bits.shape[0] - 1
    row = (position[0] * shape[1] + position[1]) * shape[2] + position[2]
    return (row * shape[3] + z) * shape[4] + y


@inlined
def block_of(runs, row):
    """Return the block of a row."""
    shape = runs.shape
    y = row % shape[4] // runs.tall
    z = row // shape[4] % shape[3] // runs.deep
    return (row // (shape[4] * shape[3]) * runs.grid[3] + z) * runs.grid[4] + y


@inlined
def block_at(runs, position):
    """Return the block of the row at some coordinates, (5,), without divisions."""
    grid = runs.grid
    line = (position[0] * grid[1] + position[1]) * grid[2] + position[2]
    line = line * grid[3] + (position[3] >> (runs.deep - 1))  # blocks are one or two rows deep
    return line * grid[4] + (position[4] >> (runs.tall - 1))


@inlined
def label_at(runs, block, x):
    """Return the label of a foreground pixel of a block, once `parents` are labels."""
    return runs.parents[run_at(runs, block, x)]


@inlined
def run_at(runs, block, x):
    """Return the run of a foreground pixel of a block."""
    bit = ONE << np.uint64(x & 63)
    before = popcount(runs.starts[block, x >> 6] & (bit | (bit - ONE)))
    return runs.first[block, x >> 6] + before - 1


# ---- Coordinates of a row, on the stack
# `numpy.empty` would bring numba's allocator and reference counting into each kernel.


def new_position():
    """Return an uninitialized (5,) array of int64 on the stack of the kernel."""
    return np.empty(AXES, np.int64)


# -------------------------------------------------------------- compiled twin


@twin(new_position, lambda: types.Array(types.int64, 1, "C")())
def _new_position(context, builder, signature, arguments):
    i64 = ir.IntType(64)
    array = context.make_array(signature.return_type)(context, builder)
    populate_array(
        array,
        data=cgutils.alloca_once(builder, i64, AXES),
        shape=[context.get_constant(types.intp, AXES)],
        strides=[context.get_constant(types.intp, 8)],
        itemsize=context.get_constant(types.intp, 8),
        meminfo=None,
    )
    return array._getvalue()
