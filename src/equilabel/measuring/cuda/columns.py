"""Columns of tables, computed on the device from counts, of which only the length is waited for.

The number of labels is not known before they are counted, so the table of counts has as many rows
as are expected: those of the last images of this kind, and some more. If a label has no row, all
labels are counted again. `Columns` are started, and finished later; a `Tabler` is prepared once
for labels of a kind and waits.
"""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import Call, kernel
from equilabel.devices.cuda.transfers import Pinned
from equilabel.measuring.counts import WHOLE, Formula, Layout, Step

from .accumulate import Slots, sums_of_values
from .sources import AXES, GRAYS, MEASURERS, describe, find_counting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array

STEPS, WEIGHTS = 64, 128  # as in columns.cuh
ROWS = 256  # of a block, as in columns.cu
STATES = 3  # numbers that `fill_columns` needs beside one for each block
FIRST_GUESS = (1 << 16,)  # labels
VALUE_BYTES = 32  # of the sums of a label's values
TOLD = 5  # numbers that the host receives, as in columns.cu
NOTHING_TOLD = [0] * TOLD
AGAIN = -2  # in place of a number of labels: there was no room for all
COUNTED, BEYOND, TORN, GAPS, ENDED = range(TOLD)
SPARE = 1 << 20  # unused bytes of a table that may stay allocated on the device
FORMULAS = np.dtype(
    [
        ("spacing", "f8", AXES),
        ("weights", "f8", WEIGHTS),
        ("pixel_size", "f8"),
        ("count", "i4"),
        ("torn", "i4"),
        ("steps", [(name, "i4") for name in ("formula", "one", "other", "weight")], STEPS),
    ],
    align=True,
)


class Formulas(NamedTuple):
    """Formulas as the argument of `fill_columns`."""

    packed: Array  # bytes of `FORMULAS`
    dtypes: tuple[np.dtype, ...]  # of the columns
    sizes: bool  # whether they need only numbers of pixels


@lru_cache(256)
def pack(
    steps: tuple[Step, ...], spacing: tuple[float, ...], pixel_size: float, stacked: bool
) -> Formulas | None:
    """Convert formulas to the argument of a kernel; return None if there are too many."""
    weights = [weight for step in steps for weight in step.weights]
    if len(steps) > STEPS or len(weights) > WEIGHTS:
        return None
    told = np.zeros((), FORMULAS)
    told["spacing"] = (1.0,) * (AXES - len(spacing)) + spacing
    told["weights"][: len(weights)] = weights
    told["pixel_size"], told["count"], told["torn"] = pixel_size, len(steps), stacked
    begin = 0
    for k, step in enumerate(steps):
        told["steps"][k] = (step.formula, step.one, step.other, begin)
        begin += len(step.weights)
    dtypes = tuple(
        np.dtype(
            np.int64
            if step.formula in WHOLE
            else np.bool_
            if step.formula == Formula.TOUCHES
            else np.float64
        )
        for step in steps
    )
    sizes = not stacked and all(map(_needs_size_alone, steps))
    return Formulas(told.view(f"V{FORMULAS.itemsize}"), dtypes, sizes)


def _needs_size_alone(step: Step) -> bool:
    """Return whether a step needs no count but the number of pixels, the first of a table."""
    if step.formula == Formula.WEIGHED:
        return step.one == 0 and step.other == 1
    return step.formula in (Formula.LABEL, Formula.DIAMETER) or (
        step.formula == Formula.COUNT and step.one == 0
    )


class TableSpec(NamedTuple):
    """What is computed for labels of one kind."""

    layout: Layout
    formulas: Formulas
    gray: Any  # type of the values: bool or unsigned int of up to 16 bits; or None
    kind: Any  # labels of one kind are expected to be similarly many
    most: int  # labels for which a table has room
    on_host: bool  # whether columns are arrays of NumPy


class ColumnFiller:
    """What fills columns of labels of one kind from their counts; owns a mutable argument buffer.

    Memory of `_size` bytes holds the table of counts, `_sums` bytes; that of sums of values, if
    there are any; and the states of the blocks that fill columns.
    """

    def __init__(self, shape: tuple[int, ...], spec: TableSpec) -> None:
        self._layout, formulas, gray, self._kind, self._most, self._on_host = spec
        self._dtypes, self._value_bytes = formulas.dtypes, 0 if gray is None else VALUE_BYTES
        self._told, self._room = Pinned(TOLD), -1
        image, _ = describe(shape, self._layout, 1, 1)
        self._fill = Call(
            kernel("measuring/cuda/columns", "fill_columns"), ROWS,
            None, None, None, image, formulas.packed, None, None, None, None, None,
        )  # fmt: skip

    def _arrange(self) -> None:
        """Lay out tables with room for as many labels as are expected."""
        room = min(expected(self._kind), self._most)
        if room == self._room:
            return
        self._room, self._blocks = room, -(-room // ROWS) or 1
        self._sums = 8 * (room + 1) * self._layout.width
        self._states = self._sums + self._value_bytes * (room + 1)
        self._size = self._states + 8 * (self._blocks + STATES)
        self._fitting = 0  # the value of COUNTED for which the room is right

    def _start(self, stream: int, table: int, clean: bool) -> tuple[Any, Any]:
        """Start to fill columns from what is counted at an address.

        Return their memory, and the numbers that the host receives; both have to be kept until the
        kernel has ended.
        """
        numbers = len(self._dtypes) * self._room
        out: Any
        if self._on_host:
            out = told = Pinned(TOLD + numbers)
            target = told.address + 8 * TOLD
        else:
            out, told = cupy.cuda.alloc(8 * numbers), self._told
            target = out.ptr
        received: Any = (ctypes.c_uint64 * TOLD).from_address(told.address)
        received[:] = NOTHING_TOLD
        self._fill.start(
            self._blocks, stream, table, self._value_bytes and table + self._sums, self._room + 1,
            table + self._states, told.address, target, self._room, clean,
        )  # fmt: skip
        return out, received

    def _count(self, received: Any) -> int | None:
        """Return how many labels were counted, when the kernel has ended, or `AGAIN`.

        None if the columns must be computed in another way: for negative labels, labels beyond the
        room of any table, and labels that lie in several images of a stack.
        """
        counted, beyond, torn, gaps, _ = received[:]
        if torn or beyond > self._most:
            return None
        if beyond:
            expect(self._kind, roomy(beyond))
            return AGAIN
        if counted != self._fitting:
            if roomy(counted - 1) == self._room:
                self._fitting = counted
            else:
                expect(self._kind, self._room if gaps else roomy(counted - 1))
        return int(counted) - 1

    def _cut(self, out: Any, count: int) -> list[Array]:
        """Cut memory into columns of so many labels."""
        cut = columns_of_host if self._on_host else columns_of_device
        return cut(out, self._room, count, self._dtypes)


class Columns(ColumnFiller):
    """Columns that a device computes, of which only the length is waited for, in `finish`.

    `source` returns, for a number of rows, a `LabelSource` or `RunSource` whose table has so many.
    `values` are flat, unsigned, or None. `lasts` tells whether the source still exists when columns
    are waited for, `keeps` whether `counts` will be called.
    """

    def __init__(
        self,
        source: Callable[[int], Any],
        shape: tuple[int, ...],
        spec: TableSpec,
        values: Array,
        *,
        lasts: bool = True,
        keeps: bool = False,
    ) -> None:
        super().__init__(shape, spec)
        self._source, self._values, self._lasts, self._keeps = source, values, lasts, keeps
        self._begin()

    def _begin(self) -> None:
        """Start to count, and to compute the columns."""
        self._arrange()
        memory, stream = cupy.cuda.alloc(self._size), cupy.cuda.get_current_stream().ptr
        cupy.cuda.runtime.memsetAsync(memory.ptr, 0, self._size, stream)
        table = memory.ptr
        source = self._source(self._room + 1)
        source.count(self._layout, table, self._values, table + self._sums)
        self._out, self._received = self._start(stream, table, False)
        self._memory: Any = memory if self._keeps else None
        done = cupy.cuda.Event(disable_timing=True)
        done.record()
        self._done = done

    def __del__(self) -> None:
        if "_done" in self.__dict__:  # the memory must not be reused while the kernel writes to it
            self._done.synchronize()

    def finish(self) -> Sequence[Array] | None:
        """Wait for the columns; return None if they must be computed in another way.

        Besides what `_count` says, that is if labels must be counted again and the source is gone.
        """
        self._done.synchronize()
        del self._done
        count = self._count(self._received)
        if count is None or (count == AGAIN and not self._lasts):
            return None
        if count == AGAIN:
            self._begin()
            return self.finish()
        return self._cut(self._out, count)

    def counts(self) -> tuple[Array, Array, tuple[Array, ...] | None]:
        """Copy what was counted to the host, after `finish`: labels, table, and sums of values."""
        rows, width = self._room + 1, self._layout.width
        slots = Slots(cupy.ndarray((rows, width), np.uint64, self._memory), dense=False)
        if self._values is None:
            return slots.labels, slots.table, None
        sums = cupy.ndarray((rows, 4), np.uint64, self._memory + self._sums)
        return slots.labels, slots.table, sums_of_values(slots.fetch(sums), self._values.dtype)


def columns_of_host(
    told: Pinned, stride: int, count: int, dtypes: Sequence[np.dtype]
) -> list[Array]:
    """Cut memory of the host, after the numbers that it received, into columns."""
    whole = told.view()[TOLD:].reshape(len(dtypes), stride)[:, :count]
    if not told.keep(8 * len(dtypes) * count):
        whole = whole.copy()
    return [column.view(dtype)[:count] for column, dtype in zip(whole, dtypes, strict=True)]


def columns_of_device(out: Any, stride: int, count: int, dtypes: Sequence[np.dtype]) -> list[Array]:
    """Cut memory of the device into columns."""
    if 2 * count < stride and 8 * len(dtypes) * stride > SPARE:
        whole = cupy.ndarray((len(dtypes), stride), np.uint64, out)
        out, stride = whole[:, :count].copy().data, count
    return [cupy.ndarray((count,), dtype, out + 8 * k * stride) for k, dtype in enumerate(dtypes)]


_recent: dict[Any, tuple[int, ...]] = {}
KINDS, RECENT = 256, 4  # kinds of images, and images of a kind, that are remembered


def expected(kind: Any) -> int:
    """Return how many labels to expect in an image of a kind."""
    return max(_recent.get(kind, FIRST_GUESS))


def expect(kind: Any, labels: int) -> None:
    """Note the number of labels of an image of a kind; the greatest of the last is expected."""
    if len(_recent) >= KINDS and kind not in _recent:
        _recent.clear()
    recent = _recent.get(kind, ())
    _recent[kind] = (*recent[-RECENT + 1 :], labels)


def roomy(labels: int) -> int:
    """Return more than so many labels, rounded up so that similar tables share allocations."""
    labels += labels // 8 + 256
    step = 1 << max(8, labels.bit_length() - 4)
    return -(-labels // step) * step


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
