"""Launcher for part_labels.cu: labels of a part of an image become those of the whole."""

import numpy as np

from equilabel.array_types import Array

from ._compile import kernel, launch


def renumber_part(labels: Array, numbers: Array) -> None:
    """Replace the label of each element.

    Parameters
    ----------
    labels : (P,) array of int32 or int64
        Overwritten. 0 for background, which stays.
    numbers : (N,) array of the same type
        In place of labels 1 to N.
    """
    function = kernel("part_labels", f"renumber_part<u{labels.itemsize}>")
    aligned = np.bool_(labels.data.ptr % 16 == 0)
    launch(function, -(-labels.size // 4), labels, numbers, labels.size, aligned)
