"""Labels on the CPU: the recipe of a method, and the array that receives what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import passes
from equilabel.methods import load_recipe
from equilabel.neighborhood import block_edges, blocks, offsets

from .checks import background_of, check_count, slim
from .visiting import visitor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.measuring import Request
    from equilabel.methods import Method


def label_on_host(
    image: NDArray[Any],
    background: int | None,
    connectivity: int,
    row: Method,
    device: str,
    stacked: bool,
    out: NDArray[Any] | None,
    request: Request | None = None,
    table_only: bool = False,
) -> tuple[NDArray[Any], int]:
    """Label an image whose arguments are checked; see `equilabel.labeling.running.run`."""
    image, value = _foreground(image, background)
    labels = Labels(image.shape, out)
    if image.size == 0:
        return labels.finish(), 0
    shape, full = image.shape, connectivity == image.ndim - stacked
    image = slim(image, stacked)
    visit = None
    if request is not None and row.counts and image.shape == shape:  # fewer axes count otherwise
        visit = visitor(request, row, full, device, table_only)
    connectivity = min(connectivity, image.ndim - stacked)
    recipe = load_recipe(row.name)
    kernels = passes(row.name, device)
    if row.contract == "runs":
        block = blocks(image.ndim, connectivity, stacked=stacked)
        edges = (
            block_edges(image.ndim, connectivity, block, stacked=stacked),
            block_edges(image.ndim, connectivity, stacked=stacked),
        )
        count = recipe(kernels, image, value, block, edges, labels.room, visit)
        if labels.flat is None:  # the request counted all it wants
            return np.empty(0, np.int32), int(count)
    else:
        steps = offsets(image.ndim, connectivity, stacked=stacked)
        more = () if visit is None else (visit,)
        roots = recipe(kernels, np.ascontiguousarray(image), value, steps, *more).reshape(-1)
        count = passes("roots", device).number(roots, roots)
        labels.room(count)[0][:] = roots
    return labels.finish(), int(count)


class Labels:
    """The array that receives labels: the caller's, or a new one of the smallest usual type."""

    def __init__(self, shape: tuple[int, ...], out: NDArray[Any] | None) -> None:
        self.shape = shape
        self.out = out
        self.flat: NDArray[Any] | None = None

    def room(self, count: int) -> tuple[NDArray[Any], bool]:
        """Return a flat array that can hold labels up to `count`, and whether it holds zeros."""
        size = int(np.prod(self.shape, dtype=np.int64))
        if self.out is None:
            dtype = np.int32 if count <= np.iinfo(np.int32).max else np.int64
            self.flat = np.zeros(size, dtype)
            return self.flat, True
        check_count(self.out, count)
        if self.out.flags.c_contiguous and self.out.dtype.isnative:
            self.flat = self.out.reshape(-1)
            return self.flat, False
        self.flat = np.zeros(size, self.out.dtype.newbyteorder("="))
        return self.flat, True

    def finish(self) -> NDArray[Any]:
        """Return the labels in their shape."""
        flat = self.room(0)[0] if self.flat is None else self.flat
        if self.out is None:
            return flat.reshape(self.shape)
        if not np.shares_memory(flat, self.out):
            self.out[...] = flat.reshape(self.shape)
        return self.out


def _foreground(image: NDArray[Any], background: Any) -> tuple[NDArray[Any], Any]:
    """Return the image in native integers, and its background value or None if it has none."""
    value = background_of(image, background)
    if image.dtype.kind == "b":
        return (~image if value else image), np.False_
    image = image.astype(image.dtype.newbyteorder("="), copy=False)
    return image, None if value is None else image.dtype.type(value)
