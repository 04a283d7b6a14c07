"""Launchers for cells.cu: components come to the host, and their parts go back.

`places`, (N, 3 + 2 axes) of int64, are on the host: the label of each component, the begin and the
end of its cells among those of all, the first coordinates of its cells, and their sides.
"""

import cupy
import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.devices.cuda.blocks import list_firsts, rank_keys, renumber_block
from equilabel.devices.cuda.kernels import THREADS, kernel, start
from equilabel.devices.cuda.staging import Staged, fetch, room


def copy_cells(labels: Array, places: HostArray, *, measured: bool) -> HostArray:
    """Copy components to the host: cells as in `cpu.parts`, one component after the other.

    If `measured`, what is copied is the squared distance of each of them, int32, along the last two
    axes, in half pixels.
    """
    cells = cupy.empty(int(places[-1, 2]), np.uint8)
    function = kernel("segmentation/cuda/cells", f"copy_cells<u{labels.itemsize}>")
    told = _tell(labels, places)
    start(function, len(places), THREADS, *told, cells)
    if not measured:
        return fetch(cells)
    gaps, squares = cupy.empty(cells.size, np.uint32), cupy.empty(cells.size, np.int32)
    function = kernel("segmentation/cuda/cells", "measure_cells")
    start(function, len(places), THREADS, *told[2:], cells, gaps, squares)
    return fetch(squares)


def room_for_parts(count: int) -> HostArray:
    """Return (count,) uint16 on the host, for parts of cells, that the bus can copy."""
    return room(2 * count).view(np.uint16)


def place_parts(labels: Array, places: HostArray, parts: HostArray, count: int) -> Array:
    """Return labels in raster order where components have parts, (P,) uint16, like their cells.

    The first part of a component gets the label in `places` + 1, up to `count`, before all are
    numbered. `labels` are overwritten.
    """
    function = kernel("segmentation/cuda/cells", f"place_parts<u{labels.itemsize}>")
    start(function, len(places), THREADS, *_tell(labels, places), Staged(parts).send())
    numbers = cupy.zeros(count + 1, labels.dtype)
    numbers[1:] = rank_keys(list_firsts(labels, count))
    placed = renumber_block(labels, numbers)
    cupy.cuda.get_current_stream().synchronize()  # the memory of the parts may be used again
    return placed


def _tell(labels: Array, places: HostArray) -> tuple[Array, Array, int, Array]:
    shape = cupy.asarray(np.array(labels.shape, np.int64))
    return labels, shape, labels.ndim, cupy.asarray(places)
