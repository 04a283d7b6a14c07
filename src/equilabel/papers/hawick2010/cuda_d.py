"""Launchers for hawick_d.cu, with the names and signatures of `hawick2010.cpu_d`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.cuda.neighbors import label_by_index

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Label every foreground element with its own index, and let each label refer to itself."""
    labels = label_by_index(grid)
    return labels, labels.copy()


def scan(grid: Grid, labels: cupy.ndarray, references: cupy.ndarray) -> bool:
    """Refer each label to the lowest label next to it (Algorithm 8, scanning phase).

    Waits for the device, and returns whether any label has a lower one next to it.
    """
    values = grid.values[0]
    shape, steps, offsets = grid.full
    changed = cupy.zeros(1, cupy.int32)
    launch(
        kernel("papers/hawick2010/hawick_d", f"scan<{values.dtype.str[1:]}, {shape.size}>"),
        values.size,
        values,
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
        references,
        changed,
    )
    return bool(changed)


def analyze(labels: cupy.ndarray, references: cupy.ndarray) -> None:
    """Refer each label in use to the root of its chain (Algorithm 8, analysis phase)."""
    launch(
        kernel("papers/hawick2010/hawick_d", "analyze"),
        labels.size,
        labels.size,
        labels,
        references,
    )


def relabel(labels: cupy.ndarray, references: cupy.ndarray) -> None:
    """Replace each label by the one it refers to (Algorithm 8, labeling phase)."""
    launch(
        kernel("papers/hawick2010/hawick_d", "relabel"),
        labels.size,
        labels.size,
        labels,
        references,
    )
