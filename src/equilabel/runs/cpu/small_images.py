"""Labels small images in a single call, which is prepared once for each shape and type."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty, ndarray

from equilabel.devices.jit import entry_point
from equilabel.domains.neighborhood import row_unions

from .run_table import AXES
from .serial import (
    ROOM,
    RUN_VALUES,
    SKIP,
    is_worth_compiling,
    label_rows,
    label_runs,
    label_values,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Foreground


# Labeling 16 x 16 pixels takes less time than checking the arguments, so whatever does not depend
# on the pixels is done once.

FLAT, FLAT_FULL = 2**18, 2**16  # pixels in 2D up to which `label_rows` is faster (faces, corners)
ALIGNED = 2**13  # pixels from which labels begin at a multiple of 32 bytes
INT32 = np.dtype(np.int32)
UNSIGNED = {np.dtype(kind): np.dtype(f"u{np.dtype(kind).itemsize}") for kind in "?bhilq"}


@lru_cache(256)
def single_call(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
) -> SingleCall:
    """Return the call for images of one shape and type, prepared at most once."""
    return SingleCall(shape, dtype, foreground, connectivity, stacked)


class SingleCall:
    """Labels images of one shape and type.

    `shape` has no axes of length 1, except for a stacked one, and at least one pixel. `dtype` is
    bool, int or float in native byte order. `foreground` compares with "all" or "!=".
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        foreground: Foreground,
        connectivity: int,
        stacked: bool,
    ) -> None:
        compare, level, values = foreground
        size, columns, rank = int(np.prod(shape)), shape[-1], len(shape)
        self._label_rows: Any = None  # entry point without a check of types, once it is found
        self._by_rows = dtype.kind in "bui" and not stacked and rank <= 2
        self._wide = dtype.itemsize > 1
        self._by_rows &= size <= (FLAT if connectivity == 1 else FLAT_FULL)
        unsigned = UNSIGNED.get(dtype)
        self._view = unsigned
        self._level = np.array([0 if compare == "all" else level], dtype).view(unsigned or dtype)
        block, self._edges, self._row_edges = row_unions(rank, connectivity, stacked)
        given = [*(1,) * (AXES + 1 - rank), *shape, compare != "all", values, *block]
        self._plan = np.array(given, np.int64)
        self._room = size + ROOM if size >= ALIGNED else 0
        if self._by_rows:
            level = self._level.astype(np.int64)[0]
            numbers = [size // columns, columns, level, compare != "all", values, connectivity == 2]
            self._row_plan = np.array(numbers, np.int64)
        self._ready: set[Any] = set()

    def label(self, image: HostArray, out: Array = None) -> tuple[NDArray[np.int32], int] | None:
        """Return labels of an image and their number, or None if this had to be compiled first.

        `image` has the type prepared for, any strides, and possibly axes of length 1. `out`, of
        int32, is C-contiguous, aligned and apart from `image`. The number is -1 if values that tell
        components apart are not all whole. See `is_worth_compiling`.
        """
        pixels, room = image.ravel(), self._room
        if out is not None:
            labels, flat = out, out.ravel()
        elif room:
            labels = flat = empty(room, INT32)
        else:
            labels = empty(image.shape, INT32)
            flat = labels.ravel()
        by_rows = self._label_rows
        if by_rows is not None:
            if self._wide and not pixels.flags.aligned:
                pixels = pixels.copy()
            count = by_rows(pixels, self._row_plan, flat)
            if count == RUN_VALUES:
                self._by_rows, self._label_rows = False, None
                count = self._label(pixels, flat)
        else:
            count = self._label(pixels, flat)
        if count is None:
            return None
        if labels is flat and out is None:
            skip = 0
            if count >= SKIP:
                skip, count = 4 * (count // SKIP), count % SKIP
            labels = ndarray(image.shape, INT32, flat, skip)
        return labels, count

    def _label(self, pixels: HostArray, labels: NDArray[np.int32]) -> int | None:
        """Label contiguous pixels; return the number of components, or None as `label` does."""
        count: int
        if self._by_rows:
            few = pixels.view(f"u{pixels.itemsize}"), self._row_plan, labels
            if self._is_ready(label_rows, few):
                count = label_rows(*few)
                if count != RUN_VALUES:
                    if pixels.flags.aligned:  # later calls make sure of this
                        self._label_rows = entry_point(label_rows, few)
                    return count
                self._by_rows = False  # similar images probably have several values, too
        if self._view is not None:
            pixels = pixels.view(self._view)
        asked = pixels, self._level, self._plan, self._edges, self._row_edges, labels
        if not self._is_ready(label_runs, asked):
            return None
        count = label_runs(*asked)
        if count == RUN_VALUES:
            if not self._is_ready(label_values, asked):
                return None
            count = label_values(*asked)
        return count

    def _is_ready(self, kernel: Any, asked: tuple[Any, ...]) -> bool:
        """Return whether to call a kernel; a yes is remembered."""
        if kernel in self._ready:
            return True
        if not is_worth_compiling(kernel, asked):
            return False
        self._ready.add(kernel)
        return True
