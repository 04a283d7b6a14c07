"""The method `runs` in one launch, for images whose tiles fit the GPU at once."""

from __future__ import annotations

from ctypes import addressof, c_char
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from ._compile import THREADS, handle, kernel
from .run_jobs import ADDRESSES, ARGUMENTS, JOB, lay_out, pack_rest
from .tiling import arrange

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.grid import Foreground

    from .tiling import Tiling

CLUSTER = 8  # blocks of a cluster, see grid_barrier.cuh
CLUSTERS = 90  # compute capability that knows clusters
COOPERATIVE = 95  # cudaDevAttrCooperativeLaunch
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
ALIGNED = 16
MOST_PIXELS = 2**20  # beyond, dense images take less in a launch for each pass
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)


class Launch(NamedTuple):
    """What the images of one shape, type, foreground and neighborhood have in common.

    Attributes
    ----------
    function : int
        Handle of the kernel.
    blocks : int
    cluster : bool
        Whether its blocks are a cluster.
    device : int
    alignment : int
        What is left of the addresses of pixels, divided by 16.
    begins : tuple of int
        As `Work` has them; nodes come after all others.
    job : bytes
        A Job of tiling.cuh whose addresses are 0.
    tiling : Tiling
    """

    function: int
    blocks: int
    cluster: bool
    device: int
    alignment: int
    begins: tuple[int, ...]
    job: bytes
    tiling: Tiling


class Count:
    """Number of components, in memory of the device: to ask for it as an int is to wait.

    Parameters
    ----------
    memory : cupy.cuda.MemoryPointer
        Of 64 bits.
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __int__(self) -> int:
        return int(cupy.ndarray((), np.int64, self._memory))


class Labeler:
    """Label images of one kind in one thread: a call fills in where they are.

    Parameters
    ----------
    launch : Launch
    shape : tuple of int
        Of the images; their axes of length 1 have no part in `launch`.
    """

    __slots__ = ("_address", "_begins", "_bytes", "_launch", "_memory", "_shape", "_where")

    def __init__(self, launch: Launch, shape: tuple[int, ...]) -> None:
        self._launch, self._shape = launch, shape
        self._memory = bytearray(JOB + len(launch.job))
        self._address = addressof((c_char * len(self._memory)).from_buffer(self._memory))
        ARGUMENTS.pack_into(self._memory, 0, self._address + JOB, launch.tiling.address)
        self._memory[JOB:] = launch.job
        self._where = JOB + len(launch.tiling.plan)
        self._begins = launch.begins[1:7]
        self._bytes = launch.begins[7]

    def __call__(self, image: cupy.ndarray) -> tuple[cupy.ndarray, Count] | None:
        """Label an image of the right shape and type, or return None if it takes more care.

        Returns
        -------
        labels : cupy array of int32
        count : Count
        """
        launch = self._launch
        data = image.data
        pixels = data.ptr
        if (
            pixels % ALIGNED != launch.alignment
            or data.device_id != launch.device
            or not image.flags.c_contiguous
            or cupy.cuda.runtime.getDevice() != launch.device
        ):
            return None
        try:
            labels = cupy.ndarray(self._shape, np.int32)
            tables = cupy.cuda.alloc(self._bytes)
            out, base = labels.data.ptr, tables.ptr
            if out % ALIGNED:
                return None
            begins, counts, states, entries, found, nodes = self._begins
            ADDRESSES.pack_into(
                self._memory,
                self._where,
                pixels,
                base,
                base + begins,
                base + counts,
                base + nodes,
                base + entries,
                out,
                base + states,
                base + found,
            )
            stream = cupy.cuda.get_current_stream().ptr
            start = cupy.cuda.driver
            if launch.cluster:
                start.launchKernel(
                    launch.function, CLUSTER, 1, 1, THREADS, 1, 1, 0, stream, self._address, 0
                )
            else:
                start.launchCooperativeKernel(
                    launch.function, launch.blocks, 1, 1, THREADS, 1, 1, 0, stream, self._address
                )
        except FAILURES:
            return None
        return labels, Count(tables + found)


def labeler_for(
    image: Array,
    foreground: Foreground,
    connectivity: int,
    stacked: bool,
    shape: tuple[int, ...],
) -> Labeler | None:
    """Return what labels such images in one launch; None if they take more.

    Parameters
    ----------
    image, foreground, connectivity, stacked
        As `runs.label_at_once` takes them.
    shape : tuple of int
        Of the labels: that of the image, perhaps with more axes of length 1.
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
    """Prepare all that does not depend on where an image is; None if it is too large.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        Of the pixels.
    foreground, connectivity, stacked
        As `Grid` has them.
    alignment : int
        What is left of the addresses of pixels, divided by 16.
    device : int
        The current device.
    """
    size = int(np.prod(shape, dtype=np.int64))
    many = foreground.values
    multiprocessors = cupy.cuda.runtime.deviceGetAttribute(MULTIPROCESSORS, device)
    if size > MOST_PIXELS:
        return None
    tiling = arrange(shape, connectivity, stacked, many, True)
    major = int(cupy.cuda.Device(device).compute_capability)
    cluster = 1 < tiling.tiles <= CLUSTER and major >= CLUSTERS
    blocks = CLUSTER if cluster else tiling.tiles
    function = _compiled(
        dtype.str[1:], foreground.compare, many, tiling.tile, tiling.most, cluster, device
    )
    if not cluster:
        each = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function, THREADS, 0)
        if blocks > each * multiprocessors:
            return None
        if not cupy.cuda.runtime.deviceGetAttribute(COOPERATIVE, device):
            return None
    _, begins = lay_out(tiling, size // tiling.columns, many=many, blocks=blocks)
    begins = (*begins, begins[-1] + 4 * size)
    rest = pack_rest(tiling, foreground, dtype, blocks, (alignment, 0))
    job = tiling.plan + bytes(ADDRESSES.size) + rest
    return Launch(function, blocks, cluster, device, alignment, begins, job, tiling)


@lru_cache(64)
def _compiled(
    dtype: str,
    compare: str,
    many: bool,
    tile: tuple[int, int, int],
    most: int,
    cluster: bool,
    device: int,
) -> int:
    """Return the handle of the kernel for such pixels, on the current device."""
    pixel = f"Gray<{dtype}>" if compare in (">", "<=", "<") else f"u{dtype[1:]}"
    types = f"{pixel}, Tile<{str(many).lower()}, {', '.join(map(str, tile))}>, Edges<{most}>"
    if cluster:
        return handle(kernel("at_once", f"label_in_cluster<{types}>"))
    return handle(kernel("at_once", f"label_at_once<{types}>"))
