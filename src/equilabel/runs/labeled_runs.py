"""Labels of an image as its runs, before or instead of pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.domains import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


@dataclass(frozen=True, eq=False)
class LabeledRuns:
    """The runs of an image or of a block of one, each with its label."""

    runs: Any  # of a `RunTable`: each has its label
    used: int  # number of the last run + 1
    columns: int  # pixels in a row
    shape: tuple[int, ...]  # of the image, with axes of length 1
    count: int  # number of labels

    @classmethod
    def of(cls, table: Any, shape: tuple[int, ...], count: int) -> LabeledRuns:
        """Copy what is needed from a `RunTable`, without its pixels."""
        return cls(table.runs, int(table.counts[-1]), table.columns, shape, count)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the labels."""
        kind: np.dtype[Any] = self.runs.parents.dtype
        return kind

    def labels(self) -> HostArray:
        """Return the labels of the image."""
        return self._painted(np.arange(len(self.runs.bits) - 1), self.shape)

    def firsts(self) -> NDArray[np.int64]:
        """Return the first element of each component, as a flat index."""
        from .cpu.seams import list_firsts

        firsts = np.empty(self.count, np.int64)
        list_firsts(self.runs, self.columns, firsts)
        return firsts

    def layers(self, axis: int, first: int, last: int) -> HostArray:
        """Return a copy of the labels of some layers along an axis."""
        from .cpu.seams import paint_columns

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

    def mark_border(self, first: int, marks: HostArray) -> None:
        """Write 1 to `marks`, (N + 1,), for labels, and 0, at the ends of axes from `first` on."""
        for axis in range(first, len(self.shape)):
            for end in (0, self.shape[axis] - 1):
                marks[self.layers(axis, end, end + 1)] = 1

    def write(
        self, numbers: HostArray, part: tuple[slice, ...], blank: bool, out: HostArray
    ) -> None:
        """Write `numbers`, (N + 1,), of labels 0 to N to a part of `out`, which is in C order.

        `blank` says that `out` is 0 there. The labels of the runs may be overwritten.
        """
        from equilabel.devices.cpu.renumbering import renumber

        from .cpu.painting import paint_rows

        if not self.count:
            if not blank:
                out[part] = 0
            return
        runs = self.runs
        if runs.parents.itemsize < numbers.itemsize:
            runs = runs._replace(parents=runs.parents.astype(numbers.dtype))
        renumber(runs.parents, np.zeros(1, np.int64), self.used, numbers)
        along = self._row_axis
        if grid.strides(out.shape)[along] > 1:  # its rows are not rows of the image
            out[part] = replace(self, runs=runs).labels()
            return
        starts = row_starts(out.shape, part, along)
        lines = np.stack([np.arange(len(starts)), starts], axis=1)
        paint_rows(runs, self.columns, (0, len(lines)), lines, blank, out.reshape(-1))

    @property
    def _row_axis(self) -> int:
        """Axis of the rows: the last one longer than 1, in most cases."""
        shape, rows = self.shape, len(self.runs.bits) - 1
        axes = range(len(shape) - 1, -1, -1)
        return next(one for one in axes if shape[one] == self.columns and prod(shape[:one]) == rows)

    def _painted(self, rows: NDArray[np.int64], shape: tuple[int, ...]) -> HostArray:
        """Return the labels of some rows."""
        from .cpu.painting import paint_rows

        found = np.zeros(prod(shape), self.dtype)
        if self.count:
            lines = np.stack([rows, np.arange(len(rows)) * self.columns], axis=1)
            paint_rows(self.runs, self.columns, (0, len(lines)), lines, True, found)
        return found.reshape(shape)


def row_starts(
    shape: tuple[int, ...], part: tuple[slice, ...], along: int = -1
) -> NDArray[np.int64]:
    """Return the flat index in an array of each row of a part; rows are those along an axis."""
    strides = grid.strides(shape)
    offsets = [np.arange(one.start, one.stop) * k for one, k in zip(part, strides, strict=True)]
    offsets[along] = offsets[along][:1]
    starts: NDArray[np.int64] = reduce(np.add.outer, offsets).reshape(-1)
    return starts
