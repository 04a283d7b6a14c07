"""Passes of Row-Col Unify (Kalentev et al. 2011, Section 2.1) on the CPU.

Labels are flat indices, -1 for background. A line is cut into segments, which stand for the shared
memory of a block of threads: labels, references to elements of the segment, and whether an element
is joined to the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.jit import njit
from equilabel.papers.cpu.neighbors import find_line, label_by_index
from equilabel.papers.meshes import count_lines, longest_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def initialize(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def unify(grid: Grid, labels: NDArray[np.int64], segment: int) -> bool:
    """Give equal neighbors on a line one label, the lowest: rows first, then other lines.

    Returns whether any label was lowered, so that another round is needed.
    """
    shape, steps, offsets = grid.full
    changed = False
    for k in range(len(steps) // 2, len(steps)):  # the step along rows comes first
        longest = longest_line(grid.shape, grid.steps[k])
        size = min(segment, 1 << max(longest - 1, 1).bit_length())
        lines = count_lines(grid.shape, grid.steps[k])
        found = unify_lines(labels, grid.values[0], shape, steps[k], offsets[k], lines, size)
        changed = changed or bool(found)
    return changed


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def unify_lines(labels, values, shape, step, offset, lines, size):
    """Unify all lines in one direction: segment by segment to the end of a line, and back.

    Neighboring segments share an element, which carries the lowest label so far to the next
    segment, and on the way back to the one before; so lines may have any length. `step`, (ndim,),
    is also given as `offset`, a distance of flat indices; `lines` is from `meshes.count_lines`;
    `size` is that of a segment, a power of two, at least 2. Returns whether any label was lowered.
    """
    changed = False
    own = np.empty(size, np.int64)
    refs = np.empty(size, np.int64)
    joined = np.empty(size, np.bool_)
    for line in range(lines):
        first, length = find_line(line, shape, step)
        if length < 2:
            continue
        last = (length - 2) // (size - 1)  # of the segments
        for turn in range(2 * last + 1):
            begin = min(turn, 2 * last - turn) * (size - 1)
            load_segment(labels, values, first, offset, begin, length, own, joined)
            if unify_segment(own, refs, joined):
                changed = True
            for e in range(min(size, length - begin)):
                labels[first + (begin + e) * offset] = own[e]
    return changed


@njit(nogil=True, cache=True)
def load_segment(labels, values, first, offset, begin, length, own, joined):
    """Copy the labels of a segment, and find which elements are joined to the next.

    The segment begins at element `begin` of a line, which has `first` and `length`. `own` and
    `joined` are (S,) of int64 and bool: -1 and False beyond the end of the line.
    """
    for e in range(own.size):
        own[e] = -1
        joined[e] = False
        if begin + e < length:
            i = first + (begin + e) * offset
            own[e] = labels[i]
            if own[e] >= 0 and e + 1 < own.size and begin + e + 1 < length:
                joined[e] = values[i] == values[i + offset]


@njit(nogil=True, cache=True)
def unify_segment(own, refs, joined):
    """Give joined elements of a segment the lowest label; return whether any labels differed.

    Algorithm 2. `own` and `refs` are (S,) of int64, labels and references; S is a power of two, at
    least 2. `joined` is (S,) of bool.
    """
    changed = unify_pairs(own, refs, joined)
    half = 2
    while half < own.size:
        if unify_groups(own, refs, joined, half):
            changed = True
        update(own, refs)
        half *= 2
    return changed


@njit(nogil=True, cache=True)
def unify_pairs(own, refs, joined):
    """Unify elements two by two; the second refers to the first, which to itself (Algorithm 3)."""
    changed = False
    for e in range(0, own.size, 2):
        refs[e] = e
        refs[e + 1] = e + 1
        if joined[e]:
            if own[e] != own[e + 1]:
                changed = True
            own[e] = min(own[e], own[e + 1])
            own[e + 1] = own[e]
            refs[e + 1] = e
    return changed


@njit(nogil=True, cache=True)
def unify_groups(own, refs, joined, half):
    """Unify groups of `half` elements two by two, where they meet (Algorithm 4)."""
    changed = False
    for e in range(half - 1, own.size - 1, 2 * half):
        if joined[e]:
            if own[e] != own[e + 1]:
                changed = True
            ref = refs[e]
            own[ref] = min(own[e], own[e + 1])
            refs[e + 1] = ref
            own[e + 1] = own[ref]
    return changed


@njit(nogil=True, cache=True)
def update(own, refs):
    """Copy label and reference of the element that each one refers to (Algorithm 5)."""
    for e in range(own.size):
        own[e] = own[refs[e]]
        refs[e] = refs[refs[e]]
