"""What is measured: an image of labels, or a table of runs whose runs have their labels."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import diagonals, neighbor_bits, run_lists
from .run_table import AXES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.kernels.layout import Layout

    from .caching import Kernel
    from .run_table import RunTable


class LabelSource:
    """The rows of an image of labels.

    Parameters
    ----------
    labels : C-contiguous array of int, 1 to 6 axes
    """

    def __init__(self, labels: HostArray) -> None:
        self.sides = labels.shape
        self.shape, self.lengths = _sides_of(labels.shape)
        self.flat = labels.reshape(-1)

    def fill(self, steps: NDArray[np.int64], first: int, last: int, planes: Array) -> None:
        """Compare pixels of some rows with earlier neighbors."""
        kernel: Kernel = neighbor_bits.compare
        kernel(self.flat, self.sides[-1], self.shape, steps, first, last, planes)

    def list(
        self, planes: Array, left: int, first: int, skip: int, span: Array, runs: Array
    ) -> Any:
        """List the runs of some rows, and return their least and greatest label."""
        columns = self.sides[-1]
        kernel: Kernel = run_lists.list_runs
        ends: tuple[int, int] = kernel(self.flat, columns, span, planes, left, first, skip, runs)
        return ends


@lru_cache(256)
def _sides_of(sides: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leading axes of an image, padded with ones in front to five, and its sides."""
    leading = (1,) * (AXES + 1 - len(sides)) + sides[:-1]
    return np.array(leading, np.int64), np.array(sides, np.int64)


class RunSource:
    """The rows of a run table whose runs have their labels: nothing is read of the image.

    Neighbors are compared as pixels; labels are looked up where these leave it open, which is
    where pixels touch that do not connect.

    Parameters
    ----------
    table : RunTable
        After `equilabel.kernels.cpu.runs.number`.
    sides : tuple of int
        Shape of the image.
    full : bool
        Whether pixels that share a corner have one label.
    """

    def __init__(self, table: RunTable, sides: tuple[int, ...], *, full: bool) -> None:
        self.sides = sides
        self.shape = table.runs.shape
        self.table = table
        self.full = full

    def suffices(self, layout: Layout, values: Array, *, moments: bool) -> bool:
        """Return whether runs tell all that is counted, so that no image of labels is needed.

        Neighbors can be compared unless their values matter; all sums over pixels follow.
        """
        return layout.compared == "none" or not self.table.many

    def fill(self, steps: NDArray[np.int64], first: int, last: int, planes: Array) -> None:
        """Compare pixels of some rows with earlier neighbors."""
        if not self.table.many:
            neighbor_bits.overlay(self.table.runs.bits, self.shape, steps, first, last, planes)
            if not self.full:
                diagonals.separate(self.table.runs, steps, first, last, planes)
        else:
            neighbor_bits.divide(self.table.runs.bits, self.table.runs.starts, first, last, planes)

    def list(
        self, planes: Array, left: int, first: int, skip: int, span: Array, runs: Array
    ) -> Any:
        """List the runs of some rows, and return their least and greatest label."""
        kernel: Kernel = run_lists.list_joined
        ends: tuple[int, int] = kernel(self.table.runs, planes, left, first, skip, runs)
        return ends
