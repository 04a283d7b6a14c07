"""Launchers for blocks.cu: labels of a block or a part of a larger image."""

from collections.abc import Sequence
from math import prod

import cupy
import numpy as np

from equilabel.array_types import Array

from .kernels import kernel, launch

# ---- Labels of a block of a larger image

TOGETHER = 4  # elements of a thread
AXES = 6
PLACE = np.dtype([("sides", "i8", AXES), ("strides", "i8", AXES)])
UNITS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "Four<u4>"}
MOST_FACES = 12
FACES = np.dtype(
    [
        ("begins", "i8", MOST_FACES + 1),
        ("inner", "i8", MOST_FACES),
        ("layers", "i8", MOST_FACES),
        ("length", "i8", MOST_FACES),
        ("first", "i8", MOST_FACES),
    ],
    align=True,
)


def list_firsts(labels: Array, count: int) -> Array:
    """Return the flat index of the first element of each label, (count,) of int64.

    `labels`, of int32 or int64 and C-contiguous, are 0 to `count`.
    """
    firsts = cupy.full(count, np.iinfo(np.int64).max)
    function = kernel("devices/cuda/blocks", f"list_firsts<u{labels.itemsize}>")
    launch(function, -(-labels.size // TOGETHER), labels, firsts, labels.size)
    return firsts


def renumber_block(labels: Array, numbers: Array) -> Array:
    """Return the number of each label, as an array of its own.

    `labels` is of uint16, int32 or int64 and C-contiguous. `numbers`, (N + 1,) of int32 or int64,
    take the place of labels 0, which stays 0, to N.
    """
    out = cupy.empty(labels.shape, numbers.dtype)
    types = f"u{labels.itemsize}, u{numbers.itemsize}"
    function = kernel("devices/cuda/blocks", f"renumber_block<{types}>")
    launch(function, -(-labels.size // TOGETHER), labels, numbers, out, labels.size)
    return out


def rank_keys(keys: Array) -> Array:
    """Return the place of each key, (N,) of int64, among all of them, from 1; no two are equal."""
    ranks = cupy.empty_like(keys)
    ranks[cupy.argsort(keys)] = cupy.arange(1, keys.size + 1)
    return ranks


def cut_faces(labels: Array, cuts: Sequence[tuple[int, int, int]], small: np.dtype) -> Array:
    """Copy layers of labels, one face after the other; return them as (K,) of the type `small`.

    `labels` is of uint16, int32 or int64, with six axes at most; `small` is no wider. `cuts` holds,
    for each face, its axis, its first layer and the one that follows its last.
    """
    labels = cupy.ascontiguousarray(labels)
    shape, faces, end = labels.shape, np.zeros((), FACES), 0
    for k, (axis, first, last) in enumerate(cuts):
        length, inner = shape[axis], prod(shape[axis + 1 :])
        faces["inner"][k], faces["layers"][k] = inner, last - first
        faces["length"][k], faces["first"][k] = length, first
        end += labels.size // length * (last - first)
        faces["begins"][k + 1 :] = end
    out = cupy.empty(end, small)
    types = f"u{small.itemsize}, u{labels.itemsize}"
    launch(kernel("devices/cuda/blocks", f"cut_faces<{types}>"), end, labels, faces, out)
    return out


def renumber_into(labels: Array, numbers: Array, part: np.ndarray) -> None:
    """Write the number of each label to `part`, of an array of the host in pinned memory.

    The current stream does so later. `labels` and `numbers` are those of `renumber_block`; `part`
    has the shape of the labels and the type of `numbers`.
    """
    place = _place(part, part.itemsize)
    address = part.ctypes.data
    whole = address % (TOGETHER * part.itemsize) == 0 and _is_made_of(place, TOGETHER)
    types = f"u{labels.itemsize}, u{numbers.itemsize}"
    function = kernel("devices/cuda/blocks", f"renumber_into<{types}>")
    arguments = (labels, numbers, np.uint64(address), place, labels.size, np.bool_(whole))
    launch(function, -(-labels.size // TOGETHER), *arguments)


def copy_block(part: np.ndarray) -> Array:
    """Copy a part of an array of the host, in pinned memory; the current stream does so later."""
    place, out = _place(part, part.itemsize), cupy.empty(part.shape, part.dtype)
    address, count = part.ctypes.data, 16 // part.itemsize
    while count > 1 and (address % (count * part.itemsize) or not _is_made_of(place, count)):
        count //= 2
    place["sides"][-1] //= count
    place["strides"][:-1] //= count
    function = kernel("devices/cuda/blocks", f"copy_block<{UNITS[count * part.itemsize]}>")
    launch(function, part.size // count, np.uint64(address), place, out, part.size // count)
    return out


def _place(part: np.ndarray, unit: int) -> np.ndarray:
    """Describe where the elements of an array are, in units of so many bytes."""
    place = np.zeros((), PLACE)
    place["sides"][: AXES - part.ndim] = 1
    place["sides"][AXES - part.ndim :] = part.shape
    place["strides"][AXES - part.ndim :] = [stride // unit for stride in part.strides]
    return place


def _is_made_of(place: np.ndarray, count: int) -> bool:
    """Return whether rows consist of stretches of `count` elements, and begin so."""
    *rows, along = place["strides"].tolist()
    return along == 1 and not any(number % count for number in (*rows, int(place["sides"][-1])))


# ---- Labels of a part of an image become those of the whole


def renumber_part(labels: Array, numbers: Array) -> None:
    """Replace labels 1 to N, (P,) of int32 or int64; `numbers`, (N,), have their type. 0 stays."""
    function = kernel("devices/cuda/blocks", f"renumber_part<u{labels.itemsize}>")
    aligned = np.bool_(labels.data.ptr % 16 == 0)
    launch(function, -(-labels.size // 4), labels, numbers, labels.size, aligned)
