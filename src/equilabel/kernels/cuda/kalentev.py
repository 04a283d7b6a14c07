"""Launchers for kalentev.cu, named and shaped like `equilabel.kernels.cpu.kalentev`."""

import cupy

from ._compile import kernel, launch


def init_labels(values, background, rows, size):
    """Label every foreground element with its own index (Listing 1)."""
    labels = cupy.zeros(size, cupy.int64)
    pixel = values.dtype
    launch(
        kernel("kalentev", f"init_labels<{pixel.str[1:]}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        rows,
        values.size // rows.size,
        values.size,
        labels,
    )
    return labels


def scan(labels, values, rows, jumps, shifts):
    """Lower what each label refers to, to the lowest label nearby (Listing 3).

    Waits for the device, to tell whether any label was lowered.
    """
    changed = cupy.zeros(1, cupy.int32)
    launch(
        kernel("kalentev", f"scan<{values.dtype.str[1:]}>"),
        values.size,
        values,
        rows,
        values.size // rows.size,
        values.size,
        jumps,
        shifts,
        jumps.size,
        labels,
        changed,
    )
    return bool(changed)


def analyze(labels):
    """Point every element at the end of its chain of labels (Listing 2)."""
    launch(kernel("kalentev", "analyze"), labels.size, labels.size, labels)


def init_counts(labels, values, rows, jumps, shifts, counts):
    """Count every foreground element and its exposed faces as its own component (Section 4)."""
    launch(
        kernel("kalentev", f"init_counts<{values.dtype.str[1:]}, u{counts.itemsize}>"),
        values.size,
        values,
        rows,
        values.size // rows.size,
        values.size,
        jumps.reshape(-1),
        shifts.reshape(-1),
        counts.shape[1],
        labels,
        counts,
    )


def analyze_counts(labels, counts):
    """Do as `analyze`, and move the counts of each element to what it refers to (Listing 4)."""
    launch(
        kernel("kalentev", f"analyze_counts<u{counts.itemsize}>"),
        labels.size,
        labels.size,
        counts.shape[1],
        labels,
        counts,
    )


def crop(labels, rows, size):
    """Take the padding off: labels become roots."""
    roots = cupy.empty(size, cupy.int64)
    width = size // rows.size
    launch(kernel("kalentev", "mark_roots"), size, rows, width, size, labels)
    launch(kernel("kalentev", "crop"), size, labels, rows, width, size, roots)
    return roots
