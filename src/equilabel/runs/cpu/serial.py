"""Labeling by one thread: images of one compiled call."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty, ndarray

from equilabel.devices.cpu.bits import LAST, NONE, ONE, popcount, smaller
from equilabel.devices.jit import Kernel, inlined, is_kept, njit
from equilabel.domains.grid import row_unions

from .numbering import index, number, number_range, relabel, reorder
from .packing import NOTHING, SEVERAL, begin, has_fractions, is_whole, pack, pack_values
from .painting import (
    EIGHT,
    paint,
    paint_few,
    paint_many,
    paint_part,
    paint_rows,
)
from .painting import FEW as FEW_PAINTED
from .run_table import AXES, SLACK, Runs
from .unions import (
    link,
    link_blocks_above,
    link_rows_above,
    link_values,
    unite_straight,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Foreground

# ---- Labels that begin at a multiple of 32 bytes; NumPy guarantees 16
# Eight labels are written at once. A write that crosses cache lines takes about twice as long; at
# a multiple of 16 bytes, half of them do.

VECTOR = 32  # bytes of eight labels
ROOM = 8  # additional labels, so that one of the first is at a multiple of 32 bytes
SKIP = 2**22  # a kernel returns components + SKIP * labels left out; fewer components than this


@njit(inline="always")
def left_out(labels, size):
    """Return how many labels to leave out, so that `size` others begin at a multiple of 32 bytes.

    Returns 0 if there are not enough labels for that.
    """
    skip = (-np.int64(labels.ctypes.data) % VECTOR) // labels.itemsize
    return skip if skip <= labels.size - size else 0


# ---- The method `runs` in a single call, row by row: fastest for small images of one or two axes
# Each row is united with the one before it, without a table of runs and without blocks of rows: so
# runs, and components, come in raster order.

FRACTIONS, RUN_VALUES = -1, -2  # returned instead of a number of components


@njit(nogil=True, cache=True)
def label_rows(pixels, plan, labels):
    """Label an image of one or two axes; return components + `SKIP` * labels left out, or a code.

    `pixels` is (R * columns,) of unsigned integers. `plan` is (6,) of int64: rows; columns; the
    background; whether there is one; whether values tell components apart; whether corners touch.
    `labels`, of int32 and at least as large, is written from a multiple of 32 bytes on if it can
    be. `RUN_VALUES` means that there are several values which tell components apart.
    """
    rows, columns = plan[0], plan[1]
    skip = left_out(labels, rows * columns)
    labels = labels[skip : skip + rows * columns]
    bits = np.empty((rows + 2, (columns + 63) >> 6), np.uint64)
    bits[:2] = NONE  # rows before the first
    background = pixels.dtype.type(plan[2])
    found, _ = pack(pixels, columns, background, plan[3] != 0, plan[4] == 0, bits[2:])
    if found == SEVERAL:
        return RUN_VALUES
    if found == NOTHING:
        labels[:] = 0
        return skip * SKIP
    parents = np.empty(rows * ((columns + 1) >> 1) + 1 + 64, np.int32)
    runs = link_rows(bits, plan[5] != 0, parents)
    parents[0] = 0
    components = number_range(parents, 1, runs + 1, np.int32(0))
    paint_rows_in_turn(bits, columns, parents, labels)
    return skip * SKIP + components


@inlined
def link_rows(bits, full, parents):
    """Unite the runs that touch, and return the number of runs.

    Two runs touch in exactly one column where the later of the two begins, with the other below it
    or, if corners touch, just before it: each contact is one bit. `bits` is (R + 2, words) of
    uint64, after two empty rows; `full` says whether corners touch; `parents`, (runs + 65,) of
    int32, is written from 1 on.
    """
    corner = ONE if full else NONE  # columns that a contact reaches to the side
    first = last = 0
    for row in range(2, bits.shape[0]):
        above, first = first, last
        carry = NONE
        carry_above = NONE
        for word in range(bits.shape[1]):
            v = bits[row, word]
            u = bits[row - 1, word]
            begins = v & ~((v << ONE) | carry)
            begins_above = u & ~((u << ONE) | carry_above)
            count = popcount(begins)
            for k in range(0, count, EIGHT):
                for j in range(EIGHT):
                    parents[np.uint64(last + k + j + 1)] = last + k + j + 1
            # The first contacts of runs that begin here: these are roots, so `find` is not needed.
            firsts = begins & (u | (u << corner) | (carry_above & corner))
            events = begins_above & (v | (v << corner) | (carry & corner)) & ~begins
            if full:  # not where the row before the last joins this run to the one before it
                events &= ~((bits[row - 2, word] << ONE) & (u << (ONE + ONE)) & (v << ONE))
            while firsts != NONE:
                upto = firsts ^ (firsts - ONE)
                run = np.uint64(last + popcount(begins & upto))
                other = np.uint64(above + popcount(begins_above & upto))
                parents[run] = parents[other]
                firsts &= firsts - ONE
            unite_straight(parents, events, (begins, last + 1), (begins_above, above + 1))
            last += count
            above += popcount(begins_above)
            carry = v >> LAST
            carry_above = u >> LAST
    return last


@inlined
def paint_rows_in_turn(bits, columns, parents, labels):
    """Write the label of every pixel in raster order: a write may reach into the next row.

    `bits` is (R + 2, words) of uint64, `parents` the label of each run, `labels` (R * columns,).
    """
    run = 0
    for row in range(2, bits.shape[0]):
        carry = NONE
        for word in range(bits.shape[1]):
            begin = (row - 2) * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            pixels = bits[row, word]
            begins = pixels & ~((pixels << ONE) | carry)
            carry = pixels >> LAST
            count = popcount(begins)
            if width <= 32 or begin + 64 > labels.size:
                paint_part(labels, begin, width, labels.size, pixels, begins, run, parents)
            elif pixels == NONE:
                paint(labels, begin, NONE, np.int32(0))
            elif count <= FEW_PAINTED:
                paint_few(labels, begin, pixels, begins, run, parents)
            else:
                paint_many(labels, begin, pixels, begins, run, parents)
            run += count


# ---- The method `runs` in a single call, for images that one thread labels

PATIENCE = 100  # calls after which compiling is worth the time
_left: dict[Any, int] = {}


def is_worth_compiling(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Return whether to call a kernel of this module: it is compiled, or would have been often.

    A single call saves 0.1 ms and takes more than a second to compile; the passes are compiled in
    any case. `arguments` are those of the call, pixels first, whose type tells the others.
    """
    key = kernel, arguments[0].dtype
    left = _left.get(key)
    if left == 0:
        return True
    if left is None:
        left = 0 if is_kept(kernel, arguments) else PATIENCE
    _left[key] = max(0, left - 1)
    return left == 0


@njit(nogil=True, cache=True)
def label_runs(pixels, level, plan, edges, row_edges, labels):
    """Label an image by a table of runs; return components + `SKIP` * labels left out, or a code.

    `pixels` is (R * columns,), not of bool; `level`, (1,), the background. `plan` is (10,): five
    leading axes, padded with ones in front; columns; whether there is background (`bounded`);
    whether values tell components apart; rows of a block along two axes. `edges` are those of such
    blocks, `row_edges` of single rows. `labels` is int32 and at least as large. Codes: `FRACTIONS`
    if values that matter are not whole; `RUN_VALUES` if there are several: call `label_values`.
    """
    columns, bounded, values = plan[5], plan[6] != 0, plan[7] != 0
    skip = left_out(labels, pixels.size)
    labels = labels[skip : skip + pixels.size]
    bits = new_bits(labels, columns)
    found, value = pack(pixels, columns, level[0], bounded, not values, bits[:-1])
    if found == SEVERAL:
        return RUN_VALUES
    if found == NOTHING:
        labels[:] = 0
        return skip * SKIP
    if values and not is_whole(value):
        return FRACTIONS
    unknown, counts = new_table(bits, plan[:AXES], plan[8], plan[9])
    blocks = counts.size - 1
    begin(unknown, 0, blocks, counts)
    runs = index_runs(unknown, counts)
    if counts[blocks] > 1:
        within = (0, blocks, 0, blocks)
        if edges.shape[0] > 0 and runs.tall == 1:
            link_rows_above(runs, within)
        elif edges.shape[0] > 0:
            link_blocks_above(runs, within)
        link(runs, edges, 1, within)
    return skip * SKIP + number_runs(runs, counts, columns, labels)


@njit(nogil=True, cache=True)
def label_values(pixels, level, plan, edges, row_edges, labels):
    """Label an image of several values. See `label_runs`."""
    columns, bounded = plan[5], plan[6] != 0
    skip = left_out(labels, pixels.size)
    labels = labels[skip : skip + pixels.size]
    bits = new_bits(labels, columns)
    unknown, counts = new_table(bits, plan[:AXES], 1, 1)
    rows = counts.size - 1
    pack_values(pixels, columns, level[0], bounded, unknown, 0, rows, counts)
    runs = index_runs(unknown, counts)
    if counts[rows] > 1:
        link_values(pixels, columns, runs, row_edges, (0, rows, 0, rows))
    return skip * SKIP + number_runs(runs, counts, columns, labels)


@njit(inline="always")
def new_bits(labels, columns):
    """Return room for a bit of each pixel, and an empty last row."""
    rows = labels.size // columns
    bits = np.empty((rows + 1, -(-columns // 64)), np.uint64)
    bits[rows] = 0
    return bits


@njit(inline="always")
def new_table(bits, shape, deep, tall):
    """Return a table whose runs are not found yet, and room for their number in each block."""
    grid = shape.copy()
    grid[3] = -(-shape[3] // deep)
    grid[4] = -(-shape[4] // tall)
    blocks = grid.prod()
    starts = np.empty((blocks, bits.shape[1]), np.uint64)
    first = np.empty(starts.shape, np.int32)
    unknown = first.reshape(-1)  # stands for parents, while runs are still to be counted
    table = Runs(bits, starts, first, unknown, shape, grid, deep, tall)
    return table, np.empty(blocks + 1, np.int64)


@njit(inline="always")
def index_runs(unknown, counts):
    """Return the table with an entry for each run, once the runs of each block are counted."""
    blocks = counts.size - 1
    counts[0] = 1
    for k in range(blocks):
        counts[k + 1] += counts[k]
    parents = np.empty(counts[blocks] + SLACK, np.int32)
    parents[0] = 0
    bits, starts, first, _, shape, grid, deep, tall = unknown
    runs = Runs(bits, starts, first, parents, shape, grid, deep, tall)
    index(runs, counts, 0, blocks)
    return runs


@njit(inline="always")
def number_runs(runs, counts, columns, labels):
    """Give numbers to the components of all runs, paint them, and return how many there are."""
    blocks = counts.size - 1
    if counts[blocks] == 1:
        labels[:] = 0
        return 0
    slab = runs.grid[4] if runs.deep > 1 else 1
    ends = np.empty(blocks // slab + 1, np.int64)
    number(counts, runs.parents, 0, blocks, slab, 0, ends)
    components = ends[-1]
    if runs.deep * runs.tall > 1 and components > 1:
        order = np.zeros(components + 1, np.int32)
        reorder(runs, 0, blocks // slab, ends, order)
        relabel(runs.parents, 1, counts[blocks], order)
    lines = np.empty((0, 2), np.int64)
    paint_rows(runs, columns, (0, labels.size // columns), lines, False, labels)
    return components


# Labeling 16 x 16 pixels takes less time than checking the arguments, so whatever does not depend
# on the pixels is done once.

FLAT, FLAT_FULL = 2**18, 2**16  # pixels in 2D up to which `label_rows` is faster (faces, corners)
ALIGNED = 2**13  # pixels from which labels begin at a multiple of 32 bytes
INT32 = np.dtype(np.int32)
UNSIGNED = {np.dtype(kind): np.dtype(f"u{np.dtype(kind).itemsize}") for kind in "?bhilq"}


class SingleCall:
    """Labels images of one shape and type.

    `shape` has no axes of length 1, except for a stacked one, and at least one pixel. `dtype` is
    bool, int or float in native byte order. `foreground` compares with "all" or "!=".
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        foreground: Foreground,
        connectivity: int,
        stacked: bool,
    ) -> None:
        compare, level, values = foreground
        size, columns, rank = int(np.prod(shape)), shape[-1], len(shape)
        self._by_rows = dtype.kind in "bui" and not stacked and rank <= 2
        self._by_rows &= size <= (FLAT if connectivity == 1 else FLAT_FULL)
        unsigned = UNSIGNED.get(dtype)
        self._view = unsigned
        self._level = np.array([0 if compare == "all" else level], dtype).view(unsigned or dtype)
        block, self._edges, self._row_edges = row_unions(rank, connectivity, stacked)
        given = [*(1,) * (AXES + 1 - rank), *shape, compare != "all", values, *block]
        self._plan = np.array(given, np.int64)
        self._room = size + ROOM if size >= ALIGNED else 0
        self._ready: set[Any] = set()
        if self._by_rows:
            level = self._level.astype(np.int64)[0]
            numbers = [size // columns, columns, level, compare != "all", values, connectivity == 2]
            self._row_plan = np.array(numbers, np.int64)

    def label(self, image: HostArray, out: Array = None) -> tuple[NDArray[np.int32], int] | None:
        """Return labels of an image and their number, or None if this had to be compiled first.

        `image` has the type prepared for, any strides, and possibly axes of length 1. `out`, of
        int32, is C-contiguous, aligned and apart from `image`. The number is -1 if values that tell
        components apart are not all whole. See `is_worth_compiling`.
        """
        pixels, room = image.ravel(), self._room
        if out is not None:
            labels, flat = out, out.ravel()
        elif room:
            labels = flat = empty(room, INT32)
        else:
            labels = empty(image.shape, INT32)
            flat = labels.ravel()
        count = self._label(pixels if self._view is None else pixels.view(self._view), flat)
        if count is None:
            return None
        if labels is flat and out is None:
            skip = 0
            if count >= SKIP:
                skip, count = 4 * (count // SKIP), count % SKIP
            labels = ndarray(image.shape, INT32, flat, skip)
        return labels, count

    def _label(self, pixels: HostArray, labels: NDArray[np.int32]) -> int | None:
        """Label contiguous pixels; return the number of components, or None as `label` does."""
        count: int
        if self._by_rows:
            few = pixels, self._row_plan, labels
            if self._is_ready(label_rows, few):
                count = label_rows(*few)
                if count != RUN_VALUES:
                    return count
                self._by_rows = False  # similar images probably have several values, too
        asked = pixels, self._level, self._plan, self._edges, self._row_edges, labels
        if not self._is_ready(label_runs, asked):
            return None
        count = label_runs(*asked)
        if count == RUN_VALUES:
            if has_fractions(pixels, self._level[0], self._plan[6] != 0):
                return FRACTIONS
            if not self._is_ready(label_values, asked):
                return None
            count = label_values(*asked)
        return count

    def _is_ready(self, kernel: Any, asked: tuple[Any, ...]) -> bool:
        """Return whether to call a kernel; a yes is remembered, which saves a tenth of a call."""
        if kernel in self._ready:
            return True
        if not is_worth_compiling(kernel, asked):
            return False
        self._ready.add(kernel)
        return True


single_call = lru_cache(256)(SingleCall)  # prepared at most once for each kind of image
