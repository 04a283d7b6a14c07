"""Passes of label equivalence with references (Hawick et al. 2010, Kernel D) on the CPU.

Labels are flat indices, -1 for background. A label in use is that of the element whose index it is,
its owner; ``references[l]`` is the lowest label that label l is known to be equivalent to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of
from equilabel.devices.jit import njit
from equilabel.papers.cpu.neighbors import label_by_index, lowest_near
from equilabel.papers.komura2016.cpu import mark_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Label every foreground element with its own index, and let each label refer to itself."""
    labels = label_by_index(grid)
    return labels, labels.copy()


def scan(grid: Grid, labels: NDArray[np.int64], references: NDArray[np.int64]) -> bool:
    """Refer each label to the lowest label next to it (Algorithm 8, scanning phase).

    Returns whether any label has a lower one next to it, so that another round is needed.
    """
    return bool(lower_references(labels, grid.values[0], *grid.full, references))


def analyze(labels: NDArray[np.int64], references: NDArray[np.int64]) -> None:
    """Refer each label in use to the root of its chain (Algorithm 8, analysis phase)."""
    resolve_references(labels, references)


def relabel(labels: NDArray[np.int64], references: NDArray[np.int64]) -> None:
    """Replace each label by the one it refers to (Algorithm 8, labeling phase)."""
    replace_labels(labels, references)


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def lower_references(labels, values, shape, steps, offsets, references):
    """Refer each label to the lowest label next to an element that has it.

    A minimum takes the place of the paper's atomicMin. Arrays are those of `cpu_a.take_lowest`.
    Returns whether any label has a lower one next to it.
    """
    changed = False
    inside = np.empty(offsets.size, np.bool_)
    width = shape[-1]
    for start in range(0, values.size, width):
        mark_inside(start, shape, steps, inside)
        for column in range(width):
            i = start + column
            label = labels[i]
            if label < 0:
                continue
            lowest = lowest_near(labels, values, i, column, width, steps, offsets, inside)
            if lowest < label:
                references[label] = min(references[label], lowest)
                changed = True
    return changed


@njit(nogil=True, cache=True)
def resolve_references(labels, references):
    """Refer each label in use to the root of its chain, at the element that owns the label.

    A label in use refers to a label in use that is not higher. Not checked.
    """
    for i in range(labels.size):
        if labels[i] == i:
            references[i] = root_of(references, i)


@njit(nogil=True, cache=True)
def replace_labels(labels, references):
    """Replace each label by the one it refers to."""
    for i in range(labels.size):
        if labels[i] >= 0:
            labels[i] = references[labels[i]]
