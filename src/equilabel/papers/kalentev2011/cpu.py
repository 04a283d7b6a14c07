"""Passes of label equivalence and of Row-Col Unify (Kalentev et al. 2011) on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of
from equilabel.devices.jit import called, njit
from equilabel.papers.meshes import count_lines, longest_line
from equilabel.papers.meshes.cpu import find_line, label_by_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


# ---- Label equivalence (Listings 1 to 4)
# Labels are indices into the padded image; 0 stands for background and padding; a label is at most
# the index of its element. Kernels take the image as `values`, (N,), flat and without padding;
# ``rows[r]``, (R,), is the padded index of its element ``r * N / R``, and never 0 (not checked).


def init_labels(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index (Listing 1)."""
    return np.asarray(label_elements(*grid.bounded_values, grid.padding.rows, grid.padding.size))


def scan(grid: Grid, labels: NDArray[np.int64]) -> bool:
    """Lower the label that each label refers to, to the lowest nearby (Listing 3).

    Returns whether any label was lowered, so that another round is needed.
    """
    padding = grid.padding
    return bool(lower_labels(labels, grid.values[0], padding.rows, padding.jumps, padding.shifts))


def init_counts(grid: Grid, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count every foreground element and its exposed faces as its own component (Section 4)."""
    padding = grid.padding
    kind = np.int32 if padding.size < 2**30 else np.int64
    counts = np.zeros((padding.size, 1 + len(grid.shape)), kind)
    faces = padding.face_jumps, padding.face_shifts
    count_elements(labels, grid.values[0], padding.rows, *faces, counts)
    return counts


def crop(grid: Grid, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Remove the padding, and turn labels into roots."""
    return np.asarray(find_roots(labels, grid.padding.rows, grid.values[0].size))


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def label_elements(values, bounded, background, rows, size):
    """Label every foreground element with its own index (Listing 1).

    `background` gets label 0 if `bounded`. Returns labels of the padded image, (size,) of int64.
    """
    labels = np.zeros(size, np.int64)
    width = values.size // rows.size
    for row in range(rows.size):
        for column in range(width):
            position = rows[row] + column
            foreground = not bounded or values[row * width + column] != background
            labels[position] = position if foreground else 0
    return labels


@njit(nogil=True, cache=True)
def lower_labels(labels, values, rows, jumps, shifts):
    """Lower the label that each label refers to, to the lowest nearby; return whether any changed.

    Listing 3. A scan reads labels that it has lowered, which saves rounds and changes no result.
    `labels`, (size,), are those of the elements they refer to. `jumps` and `shifts`, (K,), lead to
    neighbors in the padded image and in the image. Not checked.
    """
    changed = False
    width = values.size // rows.size
    for row in range(rows.size):
        for column in range(width):
            position = rows[row] + column
            label = labels[position]
            if label == 0:
                continue
            element = row * width + column
            lowest = label
            for k in range(jumps.size):
                near = labels[position + jumps[k]]
                # A label that is not 0 is inside the image: only then there is a value.
                if 0 < near < lowest and values[element + shifts[k]] == values[element]:
                    lowest = near
            if lowest < label:
                labels[label] = min(labels[label], lowest)
                changed = True
    return changed


@njit(nogil=True, cache=True)
def analyze(labels: NDArray[np.int64]) -> None:
    """Point every element at the root of its chain of labels, ``labels[p] <= p`` (Listing 2)."""
    for position in range(labels.size):
        if labels[position] != 0:
            labels[position] = root_of(labels, position)


@njit(nogil=True, cache=True)
def count_elements(labels, values, rows, jumps, shifts, counts):
    """Count every foreground element and its exposed faces as its own component (Section 4).

    `jumps` and `shifts` are (axes, 2), distances to the two neighbors along each axis; 0 if the
    axis has only one element. `counts` is (size, 1 + axes), zeros at first: set to 1 and the number
    of faces along each axis beyond which there is another value, background or nothing.
    """
    width = values.size // rows.size
    for row in range(rows.size):
        for column in range(width):
            position = rows[row] + column
            if labels[position] == 0:
                continue
            element = row * width + column
            counts[position, 0] = 1
            for axis in range(jumps.shape[0]):
                exposed = 0
                for side in range(2):
                    jump = jumps[axis, side]
                    if (
                        jump == 0
                        or labels[position + jump] == 0
                        or values[element + shifts[axis, side]] != values[element]
                    ):
                        exposed += 1
                counts[position, 1 + axis] = exposed


@njit(nogil=True, cache=True)
def analyze_counts(labels: NDArray[np.int64], counts: NDArray[np.integer]) -> None:
    """Resolve labels as `analyze`, and move the counts of each element to its label.

    Listing 4. In the end the first element of a component holds its counts, and all others hold
    zeros. The atomic addition of the listing is a plain one here.
    """
    for position in range(labels.size):
        if labels[position] != 0:
            label = root_of(labels, position)
            labels[position] = label
            if counts[position, 0] != 0 and label != position:
                for kind in range(counts.shape[1]):
                    counts[label, kind] += counts[position, kind]
                    counts[position, kind] = 0


@njit(nogil=True, cache=True)
def find_roots(labels, rows, size):
    """Remove the padding, and turn labels into roots, (size,), -1 for label 0.

    Every label refers to an element that has its own index (not checked); `labels` is overwritten.
    """
    roots = np.empty(size, np.int64)
    width = size // rows.size
    for row in range(rows.size):
        for column in range(width):
            position = rows[row] + column
            element = row * width + column
            label = labels[position]
            if label == 0:
                roots[element] = -1
            elif label == position:
                roots[element] = element
                labels[position] = -1 - element  # for later elements that refer to it
            else:
                roots[element] = -1 - labels[label]
    return roots


# ---- Row-Col Unify (Section 2.1)
# Labels are flat indices, -1 for background. A line is cut into segments, which stand for the
# shared memory of a block of threads: labels, references to elements of the segment, and whether an
# element is joined to the next one.


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


@called
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


@called
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
