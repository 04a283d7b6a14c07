"""Columns of tables, computed on the device from counts, of which only the length is waited for.

The number of labels is not known before they are counted, so the table of counts has as many rows
as are expected: those of the last images of this kind, and some more. If a label has no row, all
labels are counted again.
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
FIRST_GUESS = 1 << 16  # labels
KINDS = 256  # kinds of images of which the number of labels is remembered
SLOWLY = 3  # quarters of the labels that were expected: at least so many are expected next
VALUE_BYTES = 32  # of the sums of a label's values
TOLD = 8  # numbers that the host receives, as in columns.cu
NOTHING_TOLD = [0] * TOLD
COUNTED, BEYOND, TORN, GAPS, LABELS, NOTE, _, ENDED = range(TOLD)
ALIGNED = 16  # bytes that are read at once
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
KEPT_LABELS = np.dtype(
    [
        ("least", "i8"),
        ("most", "i8"),
        *((name, "u8") for name in ("numbers", "labels", "notes")),
        ("inside", "?"),
    ],
    align=True,
)


def keep_labels(least: int = 0, most: int | None = None, *, inside: bool = False) -> Array:
    """Return which labels are kept by their pixels, as the argument of `fill_columns`: ()."""
    most = np.iinfo(np.int64).max if most is None else most
    return np.array((least, most, 0, 0, 0, inside), KEPT_LABELS)


class Formulas(NamedTuple):
    """Formulas as the argument of `fill_columns`."""

    packed: Array  # bytes of `FORMULAS`
    dtypes: tuple[np.dtype, ...]  # of the columns


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
    kinds = {Formula.TOUCHES: "?", **dict.fromkeys(WHOLE, "i8")}
    dtypes = tuple(np.dtype(kinds.get(step.formula, "f8")) for step in steps)
    return Formulas(told.view(f"V{FORMULAS.itemsize}"), dtypes)


class TableSpec(NamedTuple):
    """What is computed for labels of one kind."""

    layout: Layout
    formulas: Formulas
    gray: Any  # type of the values: bool or unsigned int of up to 16 bits; or None
    kind: Any  # labels of one kind are expected to be similarly many
    most: int  # labels for which a table has room
    on_host: bool  # whether columns are arrays of NumPy


class Columns:
    """Columns of labels of one kind on the current device; owns buffers of arguments.

    `count` starts to count into tables of zeros, of counts and of sums of values; it gets the
    greatest label for which they have a row, their addresses, and the current stream. `later` tells
    whether other work is started before columns are waited for, `lasts` whether `count` can be
    called again then, `keeps` whether `counts` will be called. `kept` is the result of
    `keep_labels`, in which a caller writes addresses. Memory of `_size` bytes holds these tables,
    and the states of the blocks that fill columns. `notes` are those of `Kept` in columns.cu.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        spec: TableSpec,
        count: Callable[[int, int, int, int], None],
        *,
        later: bool = True,
        lasts: bool = True,
        keeps: bool = False,
        kept: Array = None,
    ) -> None:
        self._layout, formulas, self._gray, self._kind, self._most, self._on_host = spec
        self._dtypes, self._value_bytes = formulas.dtypes, 0 if spec.gray is None else VALUE_BYTES
        self._count, self._lasts, self._keeps = count, lasts, keeps
        self._told, self._room, self._waits = Pinned(TOLD), -1, False
        self._memory: Any = None
        self._out: Any = None
        self._received: Any = None
        self.notes: list[int] = []
        kept = (keep_labels() if kept is None else kept).view(f"V{KEPT_LABELS.itemsize}")
        self._done = cupy.cuda.Event(disable_timing=True) if later else None
        self._device = cupy.cuda.runtime.getDevice()
        image, _ = describe(shape, self._layout, 1, 1)
        self._fill = Call(
            kernel("measuring/cuda/columns", "fill_columns"), ROWS,
            None, None, None, image, formulas.packed, None, None, None, None, None, kept,
        )  # fmt: skip

    def _arrange(self) -> None:
        """Lay out tables with room for as many labels as are expected."""
        room = min(_expected.get(self._kind, FIRST_GUESS), self._most)
        if room == self._room:
            return
        self._room, self._blocks = room, -(-room // ROWS) or 1
        self._sums = 8 * (room + 1) * self._layout.width
        self._states = self._sums + self._value_bytes * (room + 1)
        self._size = self._states + 8 * (self._blocks + STATES)

    def begin(self) -> None:
        """Start to count, and to compute the columns."""
        self._arrange()
        stream, numbers = cupy.cuda.get_current_stream().ptr, len(self._dtypes) * self._room
        self._memory = memory = zeros.take(self._size, self._device, stream)
        table, self._clean = memory.ptr, self._size <= KEPT and not self._keeps
        self._count(self._room, table, table + self._sums, stream)
        told = self._told
        if self._on_host:
            self._out = told = Pinned(TOLD + numbers)
            target = told.address + 8 * TOLD
        else:
            self._out = cupy.cuda.alloc(8 * numbers)
            target = self._out.ptr
        self._received = (ctypes.c_uint64 * TOLD).from_address(told.address)
        self._received[:] = NOTHING_TOLD
        self._waits = True
        self._fill.start(
            self._blocks, stream, table, self._value_bytes and table + self._sums, self._room + 1,
            table + self._states, told.address, target, self._room, self._clean,
        )  # fmt: skip
        if self._done:
            self._done.record()

    def _wait(self) -> None:
        """Wait until kernels write no more to memory."""
        self._waits = False
        if not wait_for(self._received, ENDED):
            (self._done or cupy.cuda.get_current_stream()).synchronize()

    def __del__(self) -> None:
        if self.__dict__.get("_waits"):
            self._wait()

    def finish(self) -> Sequence[Array] | None:
        """Wait for the columns, and count again if a label had no row.

        Return None if the columns must be computed in another way: for negative labels, labels
        beyond the room of any table, those that lie in several images of a stack, and if labels
        must be counted again and what was counted is gone.
        """
        received, found = self._received, None
        try:
            if not self._on_host and wait_for(received, COUNTED) and not received[BEYOND]:
                found = self._cut(received[COUNTED] - 1)  # while the kernel fills them
        finally:
            self._wait()
        counted, beyond, torn, gaps, labels, *self.notes, _ = received[:]
        if torn or beyond > self._most:
            return None
        if beyond:
            expect(self._kind, roomy(beyond))
            if not self._lasts:
                return None
            self.begin()
            return self.finish()
        if not gaps:
            before = SLOWLY * _expected.get(self._kind, 0) // 4
            expect(self._kind, max(roomy(labels or counted - 1), before))
        if self._clean:
            zeros.give_back(self._memory, self._device)
        found = found or self._cut(counted - 1)
        self._out = None
        if not self._keeps:
            self._memory = None
        return found

    def _cut(self, count: int) -> list[Array]:
        """Cut memory into columns of so many labels."""
        cut = columns_of_host if self._on_host else columns_of_device
        return cut(self._out, self._room, count, self._dtypes)

    def counts(self) -> tuple[Array, Array, tuple[Array, ...] | None]:
        """Copy what was counted to the host, after `finish`: labels, table, and sums of values."""
        rows, width = self._room + 1, self._layout.width
        slots = Slots(cupy.ndarray((rows, width), np.uint64, self._memory), dense=False)
        if self._gray is None:
            return slots.labels, slots.table, None
        sums = cupy.ndarray((rows, 4), np.uint64, self._memory + self._sums)
        unsigned = np.dtype(f"u{self._gray.itemsize}")
        return slots.labels, slots.table, sums_of_values(slots.fetch(sums), unsigned)


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


_expected: dict[Any, int] = {}  # labels to expect in an image of a kind


def expect(kind: Any, labels: int) -> None:
    """Note how many labels to expect in the next image of a kind."""
    if len(_expected) >= KINDS and kind not in _expected:
        _expected.clear()
    _expected[kind] = labels


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

LOOKS = 2000  # polls of the numbers for the host, before it waits in another way
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)
zeros = Zeros()


class Tabler(Columns):
    """Columns of labels of one kind in one thread, which it waits for.

    `labels` are C-contiguous and the first of their kind: of the same shape, type, device, and
    address modulo 16. `names` are those of the columns.
    """

    def __init__(self, labels: Array, spec: TableSpec, names: tuple[str, ...]) -> None:
        super().__init__(labels.shape, spec, self._count_labels, later=False)
        self._names, gray = names, spec.gray
        self._row_bytes = 0 if gray is None else labels.shape[-1] * gray.itemsize
        self._grays = np.zeros(3, np.uint64)
        under = "Nothing" if gray is None else f"u{gray.itemsize}"
        function, (image, self._strips), last = find_counting(
            f"u{labels.itemsize}", labels.shape, spec.layout, labels.data.ptr,
            (under, self._grays.view(f"V{GRAYS.itemsize}").reshape(())),
        )  # fmt: skip
        self._measure_labels = Call(function, MEASURERS, None, image, None, None, last)

    def __call__(self, labels: Array, values: Array = None) -> dict[str, Array] | None:
        """Measure labels of the right kind; None if the caller must take another path.

        `values` are read only if there is a `gray` type, and C-contiguous then.
        """
        if cupy.cuda.runtime.getDevice() != self._device:
            return None
        self._pixels = labels.data.ptr
        if self._value_bytes:
            at = values.data.ptr
            self._grays[0], self._grays[2] = at, at % ALIGNED == self._row_bytes % ALIGNED == 0
        try:
            self.begin()
            found = self.finish()
        except FAILURES:
            return None
        return None if found is None else dict(zip(self._names, found, strict=True))

    def _count_labels(self, most: int, table: int, sums: int, stream: int) -> None:
        """Start to count the labels of this call."""
        self._grays[1] = sums
        self._measure_labels.start(self._strips, stream, self._pixels, most, table)


def wait_for(numbers: Any, which: int) -> bool:
    """Poll for a while whether a kernel has written one of its numbers for the host."""
    return any(numbers[which] for _ in range(LOOKS))
