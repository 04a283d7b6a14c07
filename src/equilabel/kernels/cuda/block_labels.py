"""Launchers for block_labels.cu: labels of a block of a larger image."""

import cupy
import numpy as np

from equilabel.array_types import Array

from ._compile import kernel, launch

TOGETHER = 4  # elements of a thread


def list_firsts(labels: Array, count: int) -> Array:
    """Find the first element of each label.

    Parameters
    ----------
    labels : array of int32 or int64
        C-contiguous, of 0 to `count`.
    count : int

    Returns
    -------
    (count,) array of int64
        Flat indices.
    """
    firsts = cupy.full(count, np.iinfo(np.int64).max)
    function = kernel("block_labels", f"list_firsts<u{labels.itemsize}>")
    launch(function, -(-labels.size // TOGETHER), labels, firsts, labels.size)
    return firsts


def renumber_block(labels: Array, numbers: Array) -> Array:
    """Return the number of each label, as an array of its own.

    Parameters
    ----------
    labels : array of uint16, int32 or int64
        C-contiguous.
    numbers : (N + 1,) array of int32 or int64
        In place of labels 0, which stays 0, to N.
    """
    out = cupy.empty(labels.shape, numbers.dtype)
    types = f"u{labels.itemsize}, u{numbers.itemsize}"
    function = kernel("block_labels", f"renumber_block<{types}>")
    launch(function, -(-labels.size // TOGETHER), labels, numbers, out, labels.size)
    return out
