"""Passes of label equivalence with references (Hawick et al. 2010, Kernel D) on the CPU.

Labels are flat indices, -1 for background. A label in use is that of the element that it names, its
owner; ``references[l]`` is the lowest label that label l is known to be equivalent to.
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

    Returns
    -------
    bool
        Whether any label met a lower one, so that another round is needed.
    """
    return bool(lower_references(labels, grid.values[0], *grid.full, references))


def analyze(labels: NDArray[np.int64], references: NDArray[np.int64]) -> None:
    """Refer each label in use to the end of its chain (Algorithm 8, analysis phase)."""
    resolve_references(labels, references)


def relabel(labels: NDArray[np.int64], references: NDArray[np.int64]) -> None:
    """Replace each label by the one it refers to (Algorithm 8, labeling phase)."""
    replace_labels(labels, references)


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def lower_references(labels, values, shape, steps, offsets, references):
    """Refer each label to the lowest label next to an element that bears it.

    Parameters
    ----------
    labels : (N,) array of int64
    values, shape, steps, offsets
        As for `hawick_a.take_lowest`.
    references : (N,) array of int64
        Overwritten: a minimum takes the place of the paper's atomicMin.

    Returns
    -------
    changed : bool
        Whether any label met a lower one.
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
    """Refer each label in use to the end of its chain; the owner of a label does it.

    Parameters
    ----------
    labels : (N,) array of int64
    references : (N,) array of int64
        Overwritten where ``labels[i] == i``. A label in use refers to a label in use, and to none
        higher. Not checked.
    """
    for i in range(labels.size):
        if labels[i] == i:
            references[i] = root_of(references, i)


@njit(nogil=True, cache=True)
def replace_labels(labels, references):
    """Replace each label by the one it refers to.

    Parameters
    ----------
    labels : (N,) array of int64
        Overwritten.
    references : (N,) array of int64
        From `resolve_references`.
    """
    for i in range(labels.size):
        if labels[i] >= 0:
            labels[i] = references[labels[i]]
