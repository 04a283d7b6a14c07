"""Prepares the launch that labels an image of two or three axes by bands of rows."""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy

from equilabel.devices.cuda.kernels import handle, kernel

from .jobs import ALIGNED, COMPARES, FAILURES, Labeler, Launch, level_bits, pixel_type

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Foreground

CHUNK, ENTRIES = 8, 4  # pixels and entries of a chunk, see band_nodes.cuh
PAIRS, DEEP_PAIRS = 4, 12  # places in the queue for each chunk, see band_nodes.cuh
SHARED = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
STATIC = 1024  # bytes of static shared memory of the kernel
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
ADDRESSES = struct.Struct("6Q")  # of `Bands`, see band_nodes.cuh
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
        queue = 1 + (DEEP_PAIRS if self.lines > 1 else PAIRS) * chunks
        return 4 * (tables + queue) + plane + chunks

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
    width, deep = shape[-1], len(shape) == 3
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
    *begins, number, room = found.begins()
    return Launch(
        _compiled(pixel_type(dtype, foreground), deep, found.slots, shared, device),
        found.bands,
        found.threads,
        found.shared,
        found.bands > 1,
        device,
        alignment,
        bytes(ADDRESSES.size) + rest,
        ADDRESSES,
        0,
        (0, 0, *begins, number),
        1,
        number,
        room,
    )


@lru_cache(64)
def _compiled(pixel: str, deep: bool, slots: int, shared: int, device: int) -> int:
    """Return the handle of the kernel for such pixels, with `shared` bytes of shared memory."""
    function = kernel("runs/cuda/bands", f"label_bands<{pixel}, {str(deep).lower()}, {slots}>")
    function.max_dynamic_shared_size_bytes = shared
    return handle(function)
