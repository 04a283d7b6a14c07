"""Labels images by tiles: four launches, prepared once for images of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from .jobs import FAILURES, Count, can_receive, prepare

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Foreground


def label_tiles(
    image: Array,
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
    out: cupy.ndarray = None,
) -> tuple[cupy.ndarray, Count] | None:
    """Label an image without a table of runs that others could use.

    `image` is not empty; `out` has as many pixels. Returns int32 labels, or `out`, and their
    number. Returns None for an unsupported image and if anything fails: the caller takes the passes
    one by one, which report errors.
    """
    device, dtype = cupy.cuda.runtime.getDevice(), image.dtype
    if (
        image.size >= 2**31
        or image.data.device_id != device
        or not image.flags.c_contiguous
        or (dtype.kind == "f" and foreground.values)
        or (out is not None and not can_receive(out, image))
    ):
        return None
    try:
        labels = cupy.empty(image.shape, np.int32) if out is None else out
        pixels, room = image.data.ptr, labels.data.ptr
        work = prepare(
            image.shape,
            dtype,
            foreground,
            connectivity,
            stacked,
            4,
            (pixels % 16, room % 16),
            device,
        )
        tables = cupy.cuda.alloc(work.begins[-1])
        arguments, _memory = work.tell(pixels, room, tables.ptr)
        stream = cupy.cuda.get_current_stream().ptr
        for number in range(len(work.launches)):
            work.start(number, stream, arguments)
    except FAILURES:
        return None
    return labels, Count(tables + work.begins[5])
