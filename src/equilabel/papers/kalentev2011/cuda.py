"""Launchers for kalentev.cu, with the names and signatures of `kalentev2011.cpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.papers.meshes import count_lines, longest_line
from equilabel.papers.meshes.cuda import label_by_index, pixel_and_rank

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


# ---- Label equivalence


def init_labels(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index (Listing 1)."""
    values, *background = grid.bounded_values
    labels = cupy.zeros(grid.padding.size, cupy.int64)
    function = kernel("papers/kalentev2011/kalentev", f"init_labels<{values.dtype.str[1:]}>")
    launch(function, values.size, values, *background, *_rows(grid), labels)
    return labels


def scan(grid: Grid, labels: cupy.ndarray) -> bool:
    """Lower the label that each label refers to, to the lowest nearby (Listing 3).

    Waits for the device, and returns whether any label was lowered.
    """
    values, changed = grid.values[0], cupy.zeros(1, cupy.int32)
    jumps, shifts = grid.padding.jumps, grid.padding.shifts
    function = kernel("papers/kalentev2011/kalentev", f"scan<{values.dtype.str[1:]}>")
    steps = jumps, shifts, jumps.size
    launch(function, values.size, values, *_rows(grid), *steps, labels, changed)
    return bool(changed)


def analyze(labels: cupy.ndarray) -> None:
    """Point every element at the root of its chain of labels (Listing 2)."""
    launch(kernel("papers/kalentev2011/kalentev", "analyze"), labels.size, labels.size, labels)


def init_counts(grid: Grid, labels: cupy.ndarray) -> cupy.ndarray:
    """Count every foreground element and its exposed faces as its own component (Section 4)."""
    values, padding = grid.values[0], grid.padding
    kind = cupy.int32 if padding.size < 2**30 else cupy.int64
    counts = cupy.zeros((padding.size, 1 + len(grid.shape)), kind)
    types = f"{values.dtype.str[1:]}, u{counts.itemsize}"
    function = kernel("papers/kalentev2011/kalentev", f"init_counts<{types}>")
    faces = padding.face_jumps.reshape(-1), padding.face_shifts.reshape(-1), counts.shape[1]
    launch(function, values.size, values, *_rows(grid), *faces, labels, counts)
    return counts


def analyze_counts(labels: cupy.ndarray, counts: cupy.ndarray) -> None:
    """Resolve labels as `analyze`, and move the counts of each element to its root (Listing 4)."""
    function = kernel("papers/kalentev2011/kalentev", f"analyze_counts<u{counts.itemsize}>")
    launch(function, labels.size, labels.size, counts.shape[1], labels, counts)


def crop(grid: Grid, labels: cupy.ndarray) -> cupy.ndarray:
    """Remove the padding, and turn labels into roots."""
    rows, width, size = _rows(grid)
    roots = cupy.empty(size, cupy.int64)
    launch(kernel("papers/kalentev2011/kalentev", "mark_roots"), size, rows, width, size, labels)
    launch(kernel("papers/kalentev2011/kalentev", "crop"), size, labels, rows, width, size, roots)
    return roots


def _rows(grid: Grid) -> tuple[cupy.ndarray, int, int]:
    """Return where rows begin in the padded image, their width, and the size of the image."""
    rows, size = grid.padding.rows, grid.values[0].size
    return rows, size // rows.size, size


# ---- Row-Col Unify

MOST_BLOCKS = 2**20  # if there are more lines, a block takes several


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def unify(grid: Grid, labels: cupy.ndarray, segment: int) -> bool:
    """Give equal neighbors on a line one label, the lowest: rows first, then other lines.

    Waits for the device, and returns whether any label was lowered.
    """
    values, changed = grid.values[0], cupy.zeros(1, cupy.int32)
    function = kernel("papers/kalentev2011/kalentev", f"unify<{pixel_and_rank(grid)}>")
    for k in range(len(grid.steps) // 2, len(grid.steps)):  # rows come first
        longest = longest_line(grid.shape, grid.steps[k])
        threads = min(segment, max(64, 1 << max(longest - 1, 1).bit_length())) // 2
        lines = count_lines(grid.shape, grid.steps[k])
        arguments = (values, values.size, *grid.full, k, lines, labels, changed)
        function((min(lines, MOST_BLOCKS),), (threads,), arguments)
    return bool(changed)
