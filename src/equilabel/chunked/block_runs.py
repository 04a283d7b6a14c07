"""Blocks of an image in memory as runs, so that labels are written once, when they are final."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.domains import neighborhood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


@dataclass(frozen=True, eq=False)
class BlockRuns:
    """The numbered runs of a block."""

    runs: Any  # of a `RunTable`: each has its label
    used: int  # number of the last run + 1
    columns: int  # pixels in a row
    shape: tuple[int, ...]  # of the block, with axes of length 1
    count: int  # number of labels

    @classmethod
    def of(cls, table: Any, shape: tuple[int, ...], count: int) -> BlockRuns:
        """Copy what is needed from a `RunTable`, without its pixels."""
        return cls(table.runs, int(table.counts[-1]), table.columns, shape, count)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        kind: np.dtype[Any] = self.runs.parents.dtype
        return kind

    def labels(self) -> HostArray:
        """Return the labels of the block."""
        return self._painted(np.arange(len(self.runs.bits) - 1), self.shape)

    def firsts(self) -> NDArray[np.int64]:
        """Return the first element of each component, as a flat index in the block."""
        from equilabel.runs.cpu.seams import list_firsts

        firsts = np.empty(self.count, np.int64)
        list_firsts(self.runs, self.columns, firsts)
        return firsts

    def layers(self, axis: int, first: int, last: int) -> HostArray:
        """Return a copy of the labels of some layers along an axis."""
        from equilabel.runs.cpu.seams import paint_columns

        rows = len(self.runs.bits) - 1
        shape = (*self.shape[:axis], last - first, *self.shape[axis + 1 :])
        along = self._row_axis
        if not self.count:
            return np.zeros(shape, self.dtype)
        if axis == along:
            found = np.empty((rows, last - first), self.dtype)
            paint_columns(self.runs, first, last, found)
            return found.reshape(shape)
        sides = (*self.shape[:along], 1, *self.shape[along + 1 :])
        some = np.arange(rows).reshape(sides)[(*(slice(None),) * axis, slice(first, last))]
        return self._painted(np.ascontiguousarray(some).reshape(-1), shape)

    def write(
        self, numbers: HostArray, part: tuple[slice, ...], blank: bool, out: HostArray
    ) -> None:
        """Write `numbers`, (N + 1,), of labels 0 to N to a part of `out`, which is in C order.

        `blank` says that `out` is 0 there. The labels of the runs may be overwritten.
        """
        from equilabel.devices.cpu.renumbering import renumber
        from equilabel.runs.cpu.painting import paint_lines

        if not self.count:
            if not blank:
                out[part] = 0
            return
        runs = self.runs
        if runs.parents.itemsize < numbers.itemsize:
            runs = runs._replace(parents=runs.parents.astype(numbers.dtype))
        renumber(runs.parents, np.zeros(1, np.int64), self.used, numbers)
        along = self._row_axis
        strides = neighborhood.strides(out.shape).tolist()
        if strides[along] > 1:  # rows of the block are not rows of the image
            out[part] = replace(self, runs=runs).labels()
            return
        first = slice(part[along].start, part[along].start + 1)
        lines = (*part[:along], first, *part[along + 1 :])
        each = [
            np.arange(one.start, one.stop) * step for one, step in zip(lines, strides, strict=True)
        ]
        starts = reduce(np.add.outer, each).reshape(-1)
        rows = np.arange(len(starts))
        flat = out.reshape(-1)
        paint_lines(runs, self.columns, rows, starts, blank, flat)

    @property
    def _row_axis(self) -> int:
        """Axis of the rows: the last one longer than 1, in most cases."""
        shape, rows = self.shape, len(self.runs.bits) - 1
        axes = range(len(shape) - 1, -1, -1)
        return next(one for one in axes if shape[one] == self.columns and prod(shape[:one]) == rows)

    def _painted(self, rows: NDArray[np.int64], shape: tuple[int, ...]) -> HostArray:
        """Return the labels of some rows."""
        from equilabel.runs.cpu.painting import paint_lines

        found = np.zeros(prod(shape), self.dtype)
        if self.count:
            starts = np.arange(len(rows)) * self.columns
            paint = paint_lines
            paint(self.runs, self.columns, rows, starts, True, found)
        return found.reshape(shape)


class Kept:
    """Labels of blocks of an array in memory, kept from labeling to writing.

    They are runs if a method finds these, otherwise in `array`. `out` receives the final labels:
    int32 or int64, in C order; its content is overwritten.
    """

    def __init__(self, shape: tuple[int, ...], out: HostArray | None = None) -> None:
        self._blank = out is None  # zeros take no memory before they are written to
        self.array: HostArray = np.zeros(shape, np.int32) if out is None else out
        self._runs: dict[int, BlockRuns] = {}
        self._in_array = False

    def keep(self, block: int, part: tuple[slice, ...], labels: HostArray | BlockRuns) -> None:
        """Keep the labels of a block."""
        if isinstance(labels, BlockRuns):
            self._runs[block] = labels
        else:
            self.array[part] = labels
            self._in_array = True

    def labels(self, block: int, part: tuple[slice, ...]) -> HostArray:
        """Return the labels of a block."""
        runs = self._runs.get(block)
        return self.array[part] if runs is None else runs.labels()

    def widen(self) -> None:
        """Change the array to 64 bits."""
        blank = np.zeros(self.array.shape, np.int64)
        self.array = self.array.astype(np.int64) if self._in_array else blank

    def finish(self, block: int, part: tuple[slice, ...], numbers: HostArray) -> None:
        """Replace the labels 0 to N of a block by `numbers`, and forget its runs."""
        from equilabel.devices.cpu.renumbering import renumber

        runs = self._runs.pop(block, None)
        if runs is not None:
            runs.write(numbers.astype(self.array.dtype), part, self._blank, self.array)
            return
        strides = neighborhood.strides(self.array.shape)
        offsets = [
            np.arange(one.start, one.stop) * step for one, step in zip(part, strides, strict=True)
        ]
        starts = reduce(np.add.outer, offsets[:-1], offsets[-1][:1]).reshape(-1)
        flat, width = self.array.reshape(-1), len(offsets[-1])
        renumber(flat, starts, width, numbers)
