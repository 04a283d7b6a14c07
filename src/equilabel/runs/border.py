"""Labels at the border of an image, of its runs, before they are painted."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from equilabel.array_types import HostArray


def mark_border(table: Any, shape: tuple[int, ...], first: int, marks: HostArray) -> None:
    """Write 1 to `marks`, (N + 1,), for labels, and 0, at the ends of axes from `first` on.

    `table` is a `RunTable` of an image of this shape, whose axes from `first` on are longer than 1.
    """
    from .cpu.painting import paint_rows
    from .cpu.seams import mark_ends

    runs, columns = table.runs, table.columns
    rows = np.arange(prod(shape[:-1])).reshape(shape[:-1])
    for axis in range(first, len(shape) - 1):
        for end in (0, -1):
            some = rows.take(end, axis).reshape(-1)
            found = np.zeros(some.size * columns, runs.parents.dtype)
            lines = np.stack([some, np.arange(some.size) * columns], axis=1)
            paint_rows(runs, columns, (0, len(lines)), lines, True, found)
            marks[found] = 1
    mark_ends(runs, columns, marks)
