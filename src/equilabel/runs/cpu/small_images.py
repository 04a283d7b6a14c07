"""Small images are labeled in a single call, prepared once for each shape and type."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty, ndarray

from equilabel.devices.jit import entry_point
from equilabel.domains.neighborhood import earlier_steps, row_unions

from .run_table import AXES
from .serial import (
    ROOM,
    RUN_VALUES,
    SKIP,
    is_worth_compiling,
    label_pixels,
    label_rows,
    label_runs,
    label_values,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.domains.grid import Foreground


# ---- Small images labeled by a single compiled call, prepared for images of one shape and type
# What a call from Python costs counts here: labeling 16 x 16 pixels takes less than checking what
# was asked, so that all that does not depend on the pixels is done once.

TINY = 640  # pixels up to which looking at one after the other is quicker than runs
SHORT, FEW = 16, 2**13  # the same for rows of so few columns
FLAT, FLAT_FULL = 2**18, 2**16  # pixels in 2D up to which rows one by one are, one value given
ALIGNED = 2**13  # pixels from which on labels begin at a multiple of 32 bytes
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
    """Prepare the call for images of one shape and type, or return the one prepared before."""
    return SingleCall(shape, dtype, foreground, connectivity, stacked)


class SingleCall:
    """Labels images of one shape and type.

    Parameters
    ----------
    shape : tuple of int
        Without axes of length 1, but for a stacked one; of at least one pixel.
    dtype : dtype
        That of the image: of bool, int or float, in native byte order.
    foreground : Foreground
        Compared with "all" or "!=".
    connectivity, stacked : int, bool
        As `Grid` has them.
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
        self._label_rows: Any = None  # what to call without looking at types: found later
        self._by_rows = dtype.kind in "bui" and not stacked and rank <= 2
        self._wide = dtype.itemsize > 1
        self._by_rows &= size <= (FLAT if connectivity == 1 else FLAT_FULL)
        few = FEW if connectivity == 1 else FEW // 4
        self._by_pixels = size <= TINY or (columns <= SHORT and size <= few)
        unsigned = UNSIGNED.get(dtype) if not (self._by_pixels and values) else None
        self._view = unsigned
        self._level = np.array([0 if compare == "all" else level], dtype).view(unsigned or dtype)
        self._edges = self._row_edges = np.empty((0, 0), np.int64)
        given = [*(1,) * (AXES + 1 - rank), *shape, compare != "all", values]
        if self._by_pixels:
            self._steps = earlier_steps(rank, connectivity, stacked)
            given.append(connectivity == rank - stacked)
        else:
            block, self._edges, self._row_edges = row_unions(rank, connectivity, stacked)
            given += block
        self._plan = np.array(given, np.int64)
        self._room = size + ROOM if size >= ALIGNED and not self._by_pixels else 0
        if self._by_rows:
            level = self._level.astype(np.int64)[0]
            numbers = [size // columns, columns, level, compare != "all", values, connectivity == 2]
            self._row_plan = np.array(numbers, np.int64)
        self._ready: set[Any] = set()

    def label(self, image: HostArray, out: Array = None) -> tuple[NDArray[np.int32], int] | None:
        """Label an image.

        Parameters
        ----------
        image : array
            Of the type and shape that were prepared for, with any strides; it may have axes of
            length 1. Too small to be worth several threads.
        out : array of int32, optional
            Receives the labels: C-contiguous, aligned, and apart from `image`.

        Returns
        -------
        labels : array of int32
            In the shape of `image`, or `out`.
        count : int
            Number of components; -1 if values that tell them apart are not all whole numbers.

        Nothing is returned where the call would have to be compiled, see `is_worth_compiling`.
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
                    if pixels.flags.aligned:  # as later ones will be
                        self._label_rows = entry_point(label_rows, few)
                    return count
                self._by_rows = False  # as others like it probably have several values, too
        if self._view is not None:
            pixels = pixels.view(self._view)
        level, plan = self._level, self._plan
        if self._by_pixels:
            count = label_pixels(pixels, level, plan, self._steps, labels)
            return count
        asked = pixels, level, plan, self._edges, self._row_edges, labels
        if not self._is_ready(label_runs, asked):
            return None
        count = label_runs(*asked)
        if count == RUN_VALUES:
            if not self._is_ready(label_values, asked):
                return None
            count = label_values(*asked)
        return count

    def _is_ready(self, kernel: Any, asked: tuple[Any, ...]) -> bool:
        """Return whether to call a kernel: what was answered with yes once is not asked again."""
        if kernel in self._ready:
            return True
        if not is_worth_compiling(kernel, asked):
            return False
        self._ready.add(kernel)
        return True
