"""Launchers for kalentev.cu, with the names and signatures of `kalentev2011.cpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid


def init_labels(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index (Listing 1)."""
    values, background = grid.values
    labels = cupy.zeros(grid.padding.size, cupy.int64)
    pixel = values.dtype
    launch(
        kernel("papers/kalentev2011/kalentev", f"init_labels<{pixel.str[1:]}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        *_rows(grid),
        labels,
    )
    return labels


def scan(grid: Grid, labels: cupy.ndarray) -> bool:
    """Lower the label that each label refers to, to the lowest nearby (Listing 3).

    Waits for the device, and returns whether any label was lowered.
    """
    values, padding = grid.values[0], grid.padding
    changed = cupy.zeros(1, cupy.int32)
    launch(
        kernel("papers/kalentev2011/kalentev", f"scan<{values.dtype.str[1:]}>"),
        values.size,
        values,
        *_rows(grid),
        padding.jumps,
        padding.shifts,
        padding.jumps.size,
        labels,
        changed,
    )
    return bool(changed)


def analyze(labels: cupy.ndarray) -> None:
    """Point every element at the root of its chain of labels (Listing 2)."""
    launch(kernel("papers/kalentev2011/kalentev", "analyze"), labels.size, labels.size, labels)


def init_counts(grid: Grid, labels: cupy.ndarray) -> cupy.ndarray:
    """Count every foreground element and its exposed faces as its own component (Section 4)."""
    values, padding = grid.values[0], grid.padding
    kind = cupy.int32 if padding.size < 2**30 else cupy.int64
    counts = cupy.zeros((padding.size, 1 + len(grid.shape)), kind)
    launch(
        kernel(
            "papers/kalentev2011/kalentev",
            f"init_counts<{values.dtype.str[1:]}, u{counts.itemsize}>",
        ),
        values.size,
        values,
        *_rows(grid),
        padding.face_jumps.reshape(-1),
        padding.face_shifts.reshape(-1),
        counts.shape[1],
        labels,
        counts,
    )
    return counts


def analyze_counts(labels: cupy.ndarray, counts: cupy.ndarray) -> None:
    """Resolve labels as `analyze`, and move the counts of each element to its root (Listing 4)."""
    launch(
        kernel("papers/kalentev2011/kalentev", f"analyze_counts<u{counts.itemsize}>"),
        labels.size,
        labels.size,
        counts.shape[1],
        labels,
        counts,
    )


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
