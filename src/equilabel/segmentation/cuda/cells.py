"""Launchers for cells.cu: components are split at their necks.

`places`, (N, 3 + 2 axes) of int64, are on the host: the label of each component, the begin and the
end of its cells among those of all, the first coordinates of its cells, and their sides.
"""

from typing import Any

import cupy
import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.devices.cuda.blocks import list_firsts, rank_keys, renumber_part
from equilabel.devices.cuda.kernels import kernel, start
from equilabel.devices.cuda.staging import fetch

TEAM = 512  # threads of a component
LIMITS = np.dtype([(name, "f8") for name in ("tolerance", "smallest", "far", "scale")])


def find_parts(
    labels: Array, places: HostArray, hops: int, how: tuple[Any, ...]
) -> tuple[Array, HostArray]:
    """Return the part of each cell, uint32, and on the host how many each component has, (N,).

    `how` are margins, steps, costs, scale and limits, as for `find_parts` of the CPU.
    """
    margins, _, costs, scale, limits = how
    count, blocks, real = int(places[-1, 2]), (len(places), TEAM), costs.dtype.str[1:]
    cells, squares = cupy.empty(count, np.uint8), cupy.empty(count, costs.dtype)
    rooms = cupy.empty(count, costs.dtype), cupy.empty(count, costs.dtype)
    axes, shape, told, known = _send(labels, places, costs.reshape(-1).view(np.int64))
    rule = np.array((*limits, scale), LIMITS)
    copy = kernel("segmentation/cuda/cells", f"copy_cells<u{labels.itemsize}>")
    start(copy, *blocks, labels, shape, axes, told, cells)
    top = axes - int(margins.sum())
    measure = kernel("segmentation/cuda/cells", f"measure_cells<{real}>")
    start(measure, *blocks, axes, told, top, known, costs.shape[-1], rule, cells, *rooms, squares)
    marks, several = cupy.empty(count, np.uint32), cupy.empty(len(places), np.int64)
    divide = kernel("segmentation/cuda/cells", f"divide_cells<{real}>")
    start(divide, *blocks, axes, told, hops, rule, squares, *rooms, marks, several)
    return marks, fetch(several)


def place_parts(labels: Array, places: HostArray, parts: Array) -> None:
    """Give the parts of components the labels from those in `places` + 1 on."""
    function = kernel("segmentation/cuda/cells", f"place_parts<u{labels.itemsize}>")
    axes, shape, told = _send(labels, places)
    start(function, len(places), TEAM, labels, shape, axes, told, parts)


def number_again(labels: Array, count: int) -> None:
    """Renumber labels 0 to `count` in the raster order of their first pixels, in place."""
    renumber_part(labels, rank_keys(list_firsts(labels, count)).astype(labels.dtype))


def _send(labels: Array, *tables: HostArray) -> tuple[Any, ...]:
    """Return the number of axes, and on the device the shape and tables of int64, at once."""
    every = (np.array(labels.shape), *(table.reshape(-1) for table in tables))
    sent = cupy.asarray(np.concatenate(every))
    return labels.ndim, *np.split(sent, np.cumsum([len(each) for each in every[:-1]]))
