"""Passes of directional propagation (Hawick et al. 2010, Kernel C) on the CPU.

Labels are flat indices, -1 for background.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.devices.jit import njit
from equilabel.papers.cpu.neighbors import find_line, label_by_index
from equilabel.papers.meshes import both_ways, count_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def sweep(grid: Grid, labels: NDArray[np.int64]) -> bool:
    """Carry the lowest label along all lines, in each direction once; return whether any changed.

    Algorithm 7.
    """
    shape, steps, offsets = grid.full
    changed = False
    for k in both_ways(len(steps)):
        lines = count_lines(grid.shape, grid.steps[k])
        found = sweep_lines(labels, grid.values[0], shape, steps[k], offsets[k], lines)
        changed = changed or bool(found)
    return changed


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def sweep_lines(labels, values, shape, step, offset, lines):
    """Carry the lowest label along all lines in one direction; return whether any changed.

    Lines of one direction have no element in common, so their order does not matter (Algorithm 7).
    `step`, (ndim,), is also given as `offset`, a distance of flat indices (not checked); `lines` is
    from `meshes.count_lines`.
    """
    changed = False
    for line in range(lines):
        i, length = find_line(line, shape, step)
        if length < 2:
            continue
        label = labels[i]
        for _ in range(length - 1):
            before = i
            i += offset
            if 0 <= label < labels[i] and values[i] == values[before]:
                labels[i] = label
                changed = True
            else:
                label = labels[i]
    return changed
