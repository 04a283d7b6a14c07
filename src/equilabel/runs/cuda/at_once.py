"""The method `runs` in one launch, for images whose tiles fit the GPU at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import THREADS, handle, kernel

from .bands import CLUSTER, CLUSTERS, prepare_bands
from .jobs import ADDRESSES, lay_out, pack_rest, pixel_type
from .labeler import ALIGNED, FAILURES, Labeler, Launch
from .tiling import arrange

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Foreground

COOPERATIVE = 95  # cudaDevAttrCooperativeLaunch
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
MOST_PIXELS = 2**20  # beyond this, a launch for each pass is faster for dense images


def labeler_for(
    image: Array,
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
    shape: tuple[int, ...],
) -> Labeler | None:
    """Return a labeler for such images, of labels of this shape; None if one launch is not enough.

    `shape` is that of the image, possibly with more axes of length 1.
    """
    device, dtype = cupy.cuda.runtime.getDevice(), image.dtype
    if image.data.device_id != device or (dtype.kind == "f" and foreground.values):
        return None
    try:
        launch = prepare_launch(
            image.shape,
            dtype,
            foreground,
            connectivity,
            stacked,
            image.data.ptr % ALIGNED,
            device,
        )
    except FAILURES:
        return None
    return None if launch is None else Labeler(launch, shape)


@lru_cache(256)
def prepare_launch(
    shape: tuple[int, ...],
    dtype: Any,
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
    alignment: int,
    device: int,
) -> Launch | None:
    """Prepare everything that does not depend on addresses; None if an image is too large.

    `alignment` is the address of the pixels modulo 16; `device` is the current device.
    """
    size = int(np.prod(shape, dtype=np.int64))
    kind = dtype, foreground, connectivity
    clusters = int(cupy.cuda.Device(device).compute_capability) >= CLUSTERS
    together = bool(cupy.cuda.runtime.deviceGetAttribute(COOPERATIVE, device))
    multiprocessors = cupy.cuda.runtime.deviceGetAttribute(MULTIPROCESSORS, device)
    if len(shape) in (2, 3) and not (stacked or foreground.values):
        most = multiprocessors if together else 1
        launch = prepare_bands(shape, *kind, alignment, device, most, clusters)
        if launch is not None:
            return launch
    if size > MOST_PIXELS:
        return None
    tiling = arrange(shape, connectivity, stacked, foreground.values, True)
    cluster = 1 < tiling.tiles <= CLUSTER and clusters
    blocks = CLUSTER if cluster else tiling.tiles
    pixel = pixel_type(dtype, foreground)
    function = _compiled(pixel, foreground.values, tiling.tile, tiling.most, cluster, device)
    if not cluster:
        each = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function, THREADS, 0)
        if blocks > each * multiprocessors or not together:
            return None
    _, begins = lay_out(tiling, size // tiling.columns, many=foreground.values, blocks=blocks)
    bits, starts, counts, states, entries, found, nodes = begins
    rest = pack_rest(tiling, foreground, dtype, blocks, (alignment, 0))
    return Launch(
        function,
        blocks,
        THREADS,
        0,
        not cluster,
        device,
        alignment,
        tiling.plan + bytes(ADDRESSES.size) + rest,
        ADDRESSES,
        len(tiling.plan),
        (0, bits, starts, counts, nodes, entries, 0, states, found),
        6,
        found,
        nodes + 4 * size,
        tiling.edges,
    )


@lru_cache(64)
def _compiled(
    pixel: str,
    many: bool,
    tile: tuple[int, int, int],
    most: int,
    cluster: bool,
    device: int,
) -> int:
    """Return the handle of the kernel for such pixels, on the current device."""
    types = f"{pixel}, Tile<{str(many).lower()}, {', '.join(map(str, tile))}>, Edges<{most}>"
    if cluster:
        return handle(kernel("runs/cuda/at_once", f"label_in_cluster<{types}>"))
    return handle(kernel("runs/cuda/at_once", f"label_at_once<{types}>"))
