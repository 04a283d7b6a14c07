"""Prepares the launch that labels an image of two or three axes by bands of rows."""

from __future__ import annotations

import struct
from ctypes import addressof, c_char
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import handle, kernel

from .tiles import COMPARES, FAILURES, Count, can_receive, level_bits, pixel_type

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Foreground

CHUNK, ENTRIES = 8, 4  # pixels and entries of a chunk, see band_nodes.cuh
SHARED = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
STATIC = 640  # bytes of static shared memory of the kernel
COOPERATIVE = 95  # cudaDevAttrCooperativeLaunch
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
# Threads of a block, chunks of a thread, and most bands: the first entry that fits is used.
CUTS = (
    (512, 1, 1),
    (256, 1, 132),
    (512, 1, 132),
    (1024, 1, 132),
    (1024, 2, 132),
    (1024, 4, 132),
)
ALIGNED = 16
ARGUMENT = struct.Struct("Q")  # the address of `Bands`, see band_nodes.cuh, which follows
ADDRESSES = struct.Struct("6Q")  # of `Bands`
REST = struct.Struct("Q12i")  # of `Bands`, after its addresses


class Cut(NamedTuple):
    """How an image is cut into bands."""

    threads: int  # of a block; a block labels a band
    slots: int  # chunks of a thread
    across: int  # chunks of a row
    lines: int  # rows of a plane
    rows: int  # rows of a band
    bands: int

    @property
    def most(self) -> int:
        """Most border components of a band."""
        return 2 * ENTRIES * self.across * self.lines if self.bands > 1 else 0

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory, as `Memory` of band_nodes.cuh uses it."""
        words, plane = self.most // 32 + 1, self.across * self.lines
        chunks = self.slots * self.threads
        tables = ENTRIES * chunks + chunks // CHUNK + 2 * words + self.most + self.bands
        pairs = 32 * chunks if self.lines > 1 else 5 * chunks + 3 * self.across
        return 4 * (tables + 1 + pairs) + plane + chunks

    def begins(self) -> tuple[int, ...]:
        """Return offsets of tables (not image or labels) in their memory, and its size in bytes."""
        tables = 2 * ENTRIES * self.bands * self.across * self.lines
        sizes = tables, 4 * self.bands * self.most, 4 * self.bands, 8
        return tuple(accumulate((-(-size // 16) * 16 for size in sizes), initial=0))


def cut(shape: tuple[int, ...], multiprocessors: int, shared: int) -> Cut | None:
    """Cut an image into bands, one for each block; None if they do not fit the device."""
    planes, lines, width = (shape[0], 1, shape[1]) if len(shape) == 2 else shape
    across = -(-width // CHUNK)
    for threads, slots, most in CUTS:
        deep = slots * (threads // across) // lines
        if deep == 0 or (slots > 1 and len(shape) == 3):  # tiles are faster for smooth volumes
            continue
        found = Cut(threads, slots, across, lines, deep * lines, -(-planes // deep))
        if found.bands <= min(most, multiprocessors, threads) and found.shared <= shared:
            return found
    return None


def fits(shape: tuple[int, ...]) -> bool:
    """Return whether the current device runs all bands of an image at the same time."""
    limits = _limits(cupy.cuda.runtime.getDevice())
    return len(shape) in (2, 3) and cut(shape, *limits) is not None


@lru_cache(16)
def _limits(device: int) -> tuple[int, int]:
    """Return the most bands of a device, and bytes of shared memory for each."""
    attribute = cupy.cuda.runtime.deviceGetAttribute
    most = attribute(MULTIPROCESSORS, device) if attribute(COOPERATIVE, device) else 1
    return most, attribute(SHARED, device) - STATIC


class Launch(NamedTuple):
    """The launch for images of one shape, type, foreground and neighborhood."""

    function: int  # handle of the kernel
    cut: Cut
    device: int
    alignment: int  # address of the pixels modulo 16
    rest: bytes  # of `Bands`, after its addresses


class Labeler:
    """Labels images of one kind in one thread: it owns an argument buffer that each call fills in.

    `shape` is that of the images; axes of length 1 are left out in `launch`.
    """

    __slots__ = ("_address", "_begins", "_launch", "_memory", "_shape", "_size")

    def __init__(self, launch: Launch, shape: tuple[int, ...]) -> None:
        cut = launch.cut
        self._launch, self._shape, self._begins = launch, shape, cut.begins()
        self._size = cut.bands, 1, 1, cut.threads, 1, 1, cut.shared
        self._memory = bytearray(ARGUMENT.size + ADDRESSES.size) + launch.rest
        self._address = addressof((c_char * len(self._memory)).from_buffer(self._memory))
        ARGUMENT.pack_into(self._memory, 0, self._address + ARGUMENT.size)

    def __call__(
        self, image: cupy.ndarray, out: cupy.ndarray = None
    ) -> tuple[cupy.ndarray, Count] | None:
        """Return labels (int32, or `out`) and their number, or None if an image is unsupported."""
        launch, data = self._launch, image.data
        pixels = data.ptr
        if (
            pixels % ALIGNED != launch.alignment
            or data.device_id != launch.device
            or not image.flags.c_contiguous
            or cupy.cuda.runtime.getDevice() != launch.device
            or (out is not None and not can_receive(out, image))
        ):
            return None
        *begins, found, room = self._begins
        try:
            labels = cupy.ndarray(self._shape, np.int32) if out is None else out
            written = labels.data.ptr
            if written % ALIGNED:
                return None
            tables = cupy.cuda.alloc(room)
            told = [tables.ptr + begin for begin in (*begins, found)]
            ADDRESSES.pack_into(self._memory, ARGUMENT.size, pixels, written, *told)
            stream = cupy.cuda.get_current_stream().ptr
            size, driver = (*self._size, stream), cupy.cuda.driver
            if size[0] > 1:  # blocks must run at the same time
                driver.launchCooperativeKernel(launch.function, *size, self._address)
            else:
                driver.launchKernel(launch.function, *size, self._address, 0)
        except FAILURES:
            return None
        return labels, Count(tables, found)


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
    device = cupy.cuda.runtime.getDevice()
    if image.data.device_id != device or stacked or foreground.values or not fits(image.shape):
        return None
    kind = image.shape, image.dtype, foreground, connectivity
    try:
        launch = prepare_bands(*kind, image.data.ptr % ALIGNED, device)
    except FAILURES:
        return None
    return None if launch is None else Labeler(launch, shape)


@lru_cache(256)
def prepare_bands(
    shape: tuple[int, ...],
    dtype: Any,
    foreground: Foreground,
    connectivity: int,
    alignment: int,
    device: int,
) -> Launch | None:
    """Prepare everything that does not depend on addresses; None if bands do not fit the device.

    `alignment` is the address of the pixels modulo 16; `device` is the current device. All bands
    run at the same time, because they wait for each other.
    """
    width = shape[-1]
    most, shared = _limits(device)
    found = cut(shape, most, shared)
    if found is None:
        return None
    rest = REST.pack(
        0 if foreground.level is None else level_bits(foreground.level, dtype),
        COMPARES.index(foreground.compare),
        width,
        prod(shape[:-1]),
        found.across,
        found.lines,
        found.rows,
        found.bands,
        found.threads // found.across,
        found.threads // found.across * found.across,
        connectivity,
        dtype.itemsize == 1 and width % CHUNK == 0 and alignment % CHUNK == 0,
        (width % 4 == 0) + (width % (2 * CHUNK) == 0),
    )
    deep = "true" if len(shape) == 3 else "false"
    pixel = pixel_type(dtype, foreground)
    function = kernel("runs/cuda/bands", f"label_bands<{pixel}, {deep}, {found.slots}>")
    function.max_dynamic_shared_size_bytes = shared
    return Launch(handle(function), found, device, alignment, rest)
