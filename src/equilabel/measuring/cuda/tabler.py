"""Tables of labels that are prepared once."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import Call, kernel
from equilabel.devices.cuda.transfers import Pinned

from .columns import (
    BEYOND,
    COUNTED,
    ENDED,
    ROWS,
    STATES,
    TOLD,
    columns_of_device,
    columns_of_host,
    expect,
    expected,
    roomy,
)
from .sources import GRAYS, MEASURERS, describe, find_counting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import Array
    from equilabel.measuring.layout import Layout

    from .columns import Formulas


# ---- Memory of the device that holds zeros: kernels that use it clear it again

KEPT = 1 << 22  # bytes of a device that a thread keeps, at most


class Zeros(threading.local):
    """Memory of each device that a thread keeps, for kernels that need zeros and clear it again."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}

    def take(self, size: int, device: int, stream: int) -> Any:
        """Return memory of the current device for work on a stream; it belongs to the caller."""
        memory = self._kept.pop(device, None) if size <= KEPT else None
        if memory is not None and memory.mem.size >= size:
            return memory
        memory = cupy.cuda.alloc(size)
        cupy.cuda.runtime.memsetAsync(memory.ptr, 0, memory.mem.size, stream)
        return memory

    def give_back(self, memory: Any, device: int) -> None:
        """Take back memory that holds zeros, when the work has ended."""
        self._kept[device] = memory


# ---- Tables of labels on the GPU, prepared once for labels of one kind: a call fills in addresses

ALIGNED = 16  # bytes that are read at once
LOOKS = 2000  # polls of the numbers for the host, before it waits in another way
NOTHING_TOLD = [0] * TOLD
VALUE_BYTES = 32  # of the sums of a label's values
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)
zeros = Zeros()


class TableSpec(NamedTuple):
    """What is computed for labels of one kind."""

    layout: Layout
    formulas: Formulas
    gray: Any  # type of the values: bool or unsigned int of up to 16 bits; or None
    kind: Any  # labels of one kind are expected to be similarly many
    most: int  # labels for which a table has room
    on_host: bool  # whether columns are arrays of NumPy
    names: tuple[str, ...]  # of the columns


class Tabler:
    """Compute columns of labels of one kind in one thread; owns a mutable argument buffer.

    `labels` are the first of their kind, C-contiguous on the current device.
    """

    def __init__(self, labels: Array, spec: TableSpec) -> None:
        layout, formulas, gray, self._kind, self._most, self._on_host, self._names = spec
        self._device, self._alignment = labels.data.device_id, labels.data.ptr % ALIGNED
        self._dtypes, self._width = formulas.dtypes, layout.width
        self._told, self._values = Pinned(TOLD), 0 if gray is None else VALUE_BYTES
        self._numbers = (ctypes.c_uint64 * TOLD).from_address(self._told.address)
        self._room = -1
        shape = labels.shape
        self._row_bytes = 0 if gray is None else shape[-1] * gray.itemsize
        self._grays = np.zeros(3, np.uint64)
        under = "Nothing" if gray is None else f"u{gray.itemsize}"
        function, (image, self._strips), last = find_counting(
            f"u{labels.itemsize}", shape, layout, labels.data.ptr,
            (under, self._grays.view(f"V{GRAYS.itemsize}").reshape(())), sizes=formulas.sizes,
        )  # fmt: skip
        self._count = Call(function, MEASURERS, None, image, None, None, last)
        image, _ = describe(shape, layout, 1, 1)
        self._fill = Call(
            kernel("measuring/cuda/columns", "fill_columns"), ROWS,
            None, None, None, image, formulas.packed, None, None, None, None, None,
        )  # fmt: skip

    def __call__(self, labels: Array, values: Array = None) -> dict[str, Array] | None:
        """Measure labels of the right shape and type; None if the caller must take another path.

        `values` are given if and only if there is a `gray` type.
        """
        data, device = labels.data, self._device
        pixels = data.ptr
        if (
            pixels % ALIGNED != self._alignment
            or data.device_id != device
            or not labels.flags.c_contiguous
            or cupy.cuda.runtime.getDevice() != device
        ):
            return None
        if values is not None:
            if values.data.device_id != device or not values.flags.c_contiguous:
                return None
            at = values.data.ptr
            self._grays[0], self._grays[2] = at, at % ALIGNED == self._row_bytes % ALIGNED == 0
        try:
            while True:
                room = min(expected(self._kind), self._most)
                found = self._measure(pixels, room)
                if not isinstance(found, int):
                    return found
                expect(self._kind, roomy(found))
        except FAILURES:
            return None

    def _measure(self, pixels: int, room: int) -> dict[str, Array] | int | None:
        """Return columns, with room for so many labels; or the greatest label if it has no room."""
        if room != self._room:
            self._arrange(room)
        stream = cupy.cuda.get_current_stream()
        where = stream.ptr
        memory = zeros.take(self._size, self._device, where)
        table = memory.ptr
        if self._values:
            self._grays[1] = table + self._sums
        self._count.start(self._strips, where, pixels, room, table)
        # While the kernel counts:
        numbers: Any
        out: Any
        cut: Any
        if self._on_host:
            out = told = Pinned(TOLD + self._out // 8)
            numbers = (ctypes.c_uint64 * TOLD).from_address(told.address)
            target, cut = told.address + 8 * TOLD, columns_of_host
        else:
            told, numbers, out = self._told, self._numbers, cupy.cuda.alloc(self._out)
            target, cut = out.ptr, columns_of_device
        numbers[:] = NOTHING_TOLD
        self._fill.start(
            self._blocks, where, table, self._values and table + self._sums, room + 1,
            table + self._states, told.address, target, room, self._clean,
        )  # fmt: skip
        found = None
        try:
            if not self._on_host and wait_for(numbers, COUNTED) and not numbers[BEYOND]:
                # While the kernel fills them:
                found = self._name(cut(out, room, numbers[COUNTED] - 1, self._dtypes))
            wait_for(numbers, ENDED)
        finally:
            if not numbers[ENDED]:  # the memory must not be reused while kernels write to it
                stream.synchronize()
        counted, beyond, torn, gaps, _ = numbers[:]
        if beyond or torn:
            return beyond if beyond <= self._most and not torn else None
        if self._clean:
            zeros.give_back(memory, self._device)
        if counted != self._fitting:
            self._expect(room, counted, gaps)
        return found or self._name(cut(out, room, counted - 1, self._dtypes))

    def _arrange(self, room: int) -> None:
        """Lay out tables with room for so many labels."""
        blocks = -(-room // ROWS) or 1
        self._sums = 8 * (room + 1) * self._width
        self._states = self._sums + self._values * (room + 1)
        self._size = self._states + 8 * (blocks + STATES)
        self._out = 8 * len(self._dtypes) * room
        self._room, self._blocks, self._clean = room, blocks, self._size <= KEPT
        self._fitting = 0  # the value of COUNTED for which the room is right

    def _expect(self, room: int, counted: int, gaps: int) -> None:
        """Expect as many labels as were counted, or as there was room for if some are missing."""
        if roomy(counted - 1) == room:
            self._fitting = counted
        else:
            expect(self._kind, room if gaps else roomy(counted - 1))

    def _name(self, columns: Sequence[Array]) -> dict[str, Array]:
        return dict(zip(self._names, columns, strict=True))


def wait_for(numbers: Any, which: int) -> bool:
    """Poll for a while whether a kernel has written one of its numbers for the host."""
    return any(numbers[which] for _ in range(LOOKS))


def tabler_for(labels: Array, spec: TableSpec) -> Tabler | None:
    """Return a `Tabler` for such labels; None if the current device is another one, or fails."""
    try:
        if labels.data.device_id != cupy.cuda.runtime.getDevice():
            return None
        return Tabler(labels, spec)
    except FAILURES:
        return None
