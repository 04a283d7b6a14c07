"""Tables of labels that are prepared once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import Call

from .columns import AGAIN, BEYOND, COUNTED, ENDED, ColumnFiller
from .sources import GRAYS, MEASURERS, find_counting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import Array

    from .columns import TableSpec


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
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)
zeros = Zeros()


class Tabler(ColumnFiller):
    """Compute columns of labels of one kind in one thread, and wait for them.

    `labels` are the first of their kind, on the current device; `names` are those of the columns.
    """

    def __init__(self, labels: Array, spec: TableSpec, names: tuple[str, ...]) -> None:
        super().__init__(labels.shape, spec)
        self._names, gray = names, spec.gray
        self._device, self._alignment = labels.data.device_id, labels.data.ptr % ALIGNED
        self._row_bytes = 0 if gray is None else labels.shape[-1] * gray.itemsize
        self._grays = np.zeros(3, np.uint64)
        under = "Nothing" if gray is None else f"u{gray.itemsize}"
        function, (image, self._strips), last = find_counting(
            f"u{labels.itemsize}", labels.shape, spec.layout, labels.data.ptr,
            (under, self._grays.view(f"V{GRAYS.itemsize}").reshape(())), sizes=spec.formulas.sizes,
        )  # fmt: skip
        self._measure_labels = Call(function, MEASURERS, None, image, None, None, last)

    def __call__(self, labels: Array, values: Array = None) -> dict[str, Array] | None:
        """Measure labels of the right shape and type; None if the caller must take another path.

        `values` are read only if there is a `gray` type.
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
        if self._value_bytes:
            if values.data.device_id != device or not values.flags.c_contiguous:
                return None
            at = values.data.ptr
            self._grays[0], self._grays[2] = at, at % ALIGNED == self._row_bytes % ALIGNED == 0
        try:
            found: Sequence[Array] | int | None = AGAIN
            while isinstance(found, int):
                found = self._measure(pixels)
        except FAILURES:
            return None
        return None if found is None else dict(zip(self._names, found, strict=True))

    def _measure(self, pixels: int) -> Sequence[Array] | int | None:
        """Return columns of labels at an address; `AGAIN` or None as `_count` does."""
        self._arrange()
        stream = cupy.cuda.get_current_stream()
        memory = zeros.take(self._size, self._device, stream.ptr)
        table, clean = memory.ptr, self._size <= KEPT
        self._grays[1] = table + self._sums
        self._measure_labels.start(self._strips, stream.ptr, pixels, self._room, table)
        out, received = self._start(stream.ptr, table, clean)  # while the kernel counts
        found = None
        try:
            if not self._on_host and wait_for(received, COUNTED) and not received[BEYOND]:
                found = self._cut(out, received[COUNTED] - 1)  # while the kernel fills them
            wait_for(received, ENDED)
        finally:
            if not received[ENDED]:  # the memory must not be reused while kernels write to it
                stream.synchronize()
        count = self._count(received)
        if count is None or count == AGAIN:
            return count
        if clean:
            zeros.give_back(memory, self._device)
        return found or self._cut(out, count)


def wait_for(numbers: Any, which: int) -> bool:
    """Poll for a while whether a kernel has written one of its numbers for the host."""
    return any(numbers[which] for _ in range(LOOKS))
