"""Passes of label equivalence (Kalentev et al. 2011) on the CPU.

Labels are indices into the padded image, 0 stands for background and padding; a label is at most
the index of the element that bears it. Kernels take the image as ``values``, flat and without
padding; ``rows`` holds where each of its rows begins in the padded one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of
from equilabel.devices.jit import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.grid import Grid


def init_labels(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index (Listing 1)."""
    return np.asarray(label_elements(*grid.bounded_values, grid.padding.rows, grid.padding.size))


def scan(grid: Grid, labels: NDArray[np.int64]) -> bool:
    """Lower what each label refers to, to the lowest label nearby (Listing 3).

    Returns
    -------
    bool
        Whether any label was lowered, so that another round is needed.
    """
    padding = grid.padding
    return bool(lower_labels(labels, grid.values[0], padding.rows, padding.jumps, padding.shifts))


def analyze(labels: NDArray[np.int64]) -> None:
    """Point every element at the end of its chain of labels (Listing 2)."""
    resolve_chains(labels)


def init_counts(grid: Grid, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count every foreground element and its exposed faces as its own component (Section 4)."""
    padding = grid.padding
    kind = np.int32 if padding.size < 2**30 else np.int64
    counts = np.zeros((padding.size, 1 + len(grid.shape)), kind)
    faces = padding.face_jumps, padding.face_shifts
    count_elements(labels, grid.values[0], padding.rows, *faces, counts)
    return counts


def analyze_counts(labels: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Do as `analyze`, and move the counts of each element to what it refers to (Listing 4)."""
    resolve_counts(labels, counts)


def crop(grid: Grid, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take the padding off: labels become roots."""
    return np.asarray(find_roots(labels, grid.padding.rows, grid.values[0].size))


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def label_elements(values, background, bounded, rows, size):
    """Label every foreground element with its own index (Listing 1).

    Parameters
    ----------
    values : (N,) array of unsigned integers
        The image, row after row.
    background : scalar of the same type
        Value that gets label 0, if `bounded`.
    bounded : bool
        Whether there is one.
    rows : (R,) array of int64
        ``rows[r]`` is the padded index of element ``r * N / R``; none is 0. Not checked.
    size : int
        Number of elements of the padded image.

    Returns
    -------
    labels : (size,) array of int64
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
    """Lower what each label refers to, to the lowest label nearby (Listing 3).

    The lowest label goes to the element that the present label refers to, without an atomic: of
    two that write to one place either may win, as long as there is another scan. Row after row,
    a scan meets labels that it has lowered already; this saves rounds and changes no result.

    Parameters
    ----------
    labels : (size,) array of int64
        Overwritten. After `label_elements` or `resolve_chains`: each label is the label of what it
        refers to.
    values : (N,) array of unsigned integers
    rows : (R,) array of int64
        As for `label_elements`.
    jumps, shifts : (K,) arrays of int64
        Distances to the neighbors, in the padded image and in the image. Those that leave the
        image end in its padding. Not checked.

    Returns
    -------
    changed : bool
        Whether any label was lowered, so that another round is needed.
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
                # a label that is not 0 lies inside the image: only then is there a value
                if 0 < near < lowest and values[element + shifts[k]] == values[element]:
                    lowest = near
            if lowest < label:
                labels[label] = min(labels[label], lowest)
                changed = True
    return changed


@njit(nogil=True, cache=True)
def resolve_chains(labels):
    """Point every element at the end of its chain of labels (Listing 2).

    Parameters
    ----------
    labels : (size,) array of int64
        Overwritten. ``labels[p] <= p``. Not checked.
    """
    for position in range(labels.size):
        if labels[position] != 0:
            labels[position] = root_of(labels, position)


@njit(nogil=True, cache=True)
def count_elements(labels, values, rows, jumps, shifts, counts):
    """Count every foreground element and its exposed faces as its own component (Section 4).

    Parameters
    ----------
    labels : (size,) array of int64
        After `label_elements`.
    values, rows
        As for `lower_labels`.
    jumps, shifts : (axes, 2) arrays of int64
        Distances to the two neighbors along each axis; 0 where the axis has but one element.
    counts : (size, 1 + axes) array of int
        Zeros; overwritten with 1 and the number of faces along each axis behind which there is
        another value, background or nothing.
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
def resolve_counts(labels, counts):
    """Do as `resolve_chains`, and move the counts of each element to its label (Listing 4).

    In the end the element with the smallest index of a component holds its size and faces, all
    others zeros. The listing's atomic addition is a plain one here: elements come one by one.

    Parameters
    ----------
    labels : (size,) array of int64
    counts : (size, 1 + axes) array of int
        Overwritten.
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
    """Take the padding off: labels become roots.

    Parameters
    ----------
    labels : (padded size,) array of int64
        Overwritten. Every label refers to an element that bears its own index. Not checked.
    rows : (R,) array of int64
        As for `label_elements`.
    size : int
        Number of elements of the image.

    Returns
    -------
    roots : (size,) array of int64
        For each element the index, in the image, of the one its label refers to; -1 for label 0.
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
                labels[position] = -1 - element  # for those that refer to it: they come later
            else:
                roots[element] = -1 - labels[label]
    return roots
