"""Small images labeled by a single compiled call, prepared for images of one shape and type.

What a call from Python costs counts here: labeling 16 x 16 pixels takes less than checking what was
asked, so that all that does not depend on the pixels is done once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import threads
from equilabel.neighborhood import earlier_steps, row_unions

from .run_table import AXES
from .serial_pixels import label_pixels
from .serial_runs import VALUES, is_worth_compiling, label_runs, label_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.grid import Foreground

TINY = 640  # pixels up to which looking at one after the other is quicker than runs
SHORT, FEW = 16, 2**13  # the same for rows of so few columns
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
        self._ready: set[Any] = set()

    def __call__(self, image: HostArray, out: Array = None) -> tuple[NDArray[np.int32], int] | None:
        """Label an image.

        Parameters
        ----------
        image : array
            Of the type and shape that were prepared for, with any strides; it may have axes of
            length 1.
        out : array of int32, optional
            Receives the labels: C-contiguous, aligned, and apart from `image`.

        Returns
        -------
        labels : array of int32
            In the shape of `image`, or `out`.
        count : int
            Number of components; -1 if values that tell them apart are not all whole numbers.

        Nothing is returned of an image that is worth several threads, or where the call would have
        to be compiled, see `is_worth_compiling`.
        """
        if image.size >= 2 * threads.WEIGHT:
            return None
        pixels = image.ravel()  # contiguous, unlike what `reshape` returns
        if self._view is not None:
            pixels = pixels.view(self._view)
        labels = np.empty(image.shape, np.int32) if out is None else out
        level, plan = self._level, self._plan
        if self._by_pixels:
            return labels, label_pixels(pixels, level, plan, self._steps, labels.ravel())
        asked = pixels, level, plan, self._edges, self._row_edges, labels.ravel()
        if not self._is_ready(label_runs, asked):
            return None
        count = label_runs(*asked)
        if count == VALUES:
            if not self._is_ready(label_values, asked):
                return None
            count = label_values(*asked)
        return labels, count

    def _is_ready(self, kernel: Any, asked: tuple[Any, ...]) -> bool:
        """Return whether to call a kernel: what was answered with yes once is not asked again."""
        if kernel in self._ready:
            return True
        if not is_worth_compiling(kernel, asked):
            return False
        self._ready.add(kernel)
        return True
