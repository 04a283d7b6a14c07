"""Columns of tables, computed on the device from counts, of which only the length is waited for.

The number of labels is not known before they are counted, so the table of counts has as many rows
as are expected: those of the last images of this kind, and some more. If a label has no row, all
labels are counted again.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import kernel, start
from equilabel.devices.cuda.transfers import Pinned
from equilabel.measuring.layout import WHOLE, Formula, Layout, Step

from .accumulate import Slots, sums_of_values
from .sources import AXES, describe

STEPS, WEIGHTS = 64, 128  # as in columns.cuh
ROWS = 256  # of a block, as in columns.cu
STATES = 3  # numbers that `fill_columns` needs beside one for each block
FIRST_GUESS = (1 << 16,)  # labels
TOLD = 5  # numbers that the host receives, as in columns.cu
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


class Columns:
    """Columns that a device computes.

    `source` returns, for a number of rows, a `LabelSource` or `RunSource` whose table has so many.
    `values` are flat, bool or unsigned int of up to 16 bits, or None. Images of one `kind` are
    expected to have similar numbers of labels; a table has room for `most`. `on_host` asks for
    columns of NumPy. `lasts` tells whether the source still exists when columns are waited for,
    `keeps` whether `counts` will be called.
    """

    def __init__(
        self,
        source: Callable[[int], Any],
        layout: Layout,
        formulas: Formulas,
        values: Array,
        kind: Any,
        most: int,
        on_host: bool,
        lasts: bool = True,
        keeps: bool = False,
    ) -> None:
        self._source, self._layout, self._formulas = source, layout, formulas
        self._values, self._kind, self._most = values, kind, most
        self._on_host, self._lasts, self._keeps = on_host, lasts, keeps
        self._memory: Any = None
        self._start(min(expected(kind), most))

    def _start(self, labels: int) -> None:
        """Start to count, with room for so many labels, and to compute the columns."""
        layout, steps = self._layout, len(self._formulas.dtypes)
        rows, blocks = labels + 1, -(-labels // ROWS) or 1
        table = 8 * rows * layout.width
        sums = 0 if self._values is None else 32 * rows
        size = table + sums + 8 * (blocks + STATES)
        memory = cupy.cuda.alloc(size)
        begin: int = memory.ptr
        cupy.cuda.runtime.memsetAsync(begin, 0, size, cupy.cuda.get_current_stream().ptr)
        source = self._source(rows)
        source.count(layout, begin, self._values, begin + table)
        told = Pinned(TOLD + (steps * labels if self._on_host else 0))
        told.clear(TOLD)
        self._out: Array = None
        out = told.address + 8 * TOLD
        if not self._on_host:
            self._out = cupy.cuda.alloc(8 * steps * labels)
            out = self._out.ptr
        image, _ = describe(source.sides, layout, 1, 1)
        start(
            kernel("measuring/cuda/columns", "fill_columns"), blocks, ROWS,
            begin, sums and begin + table, rows, image, self._formulas.packed,
            begin + table + sums, told.address, out, labels, False,
        )  # fmt: skip
        done = cupy.cuda.Event(disable_timing=True)
        done.record()
        self._told, self._done, self._labels = told, done, labels
        if self._keeps:
            self._memory = memory

    def __del__(self) -> None:
        if "_done" in self.__dict__:  # the memory must not be reused while the kernel writes to it
            self._done.synchronize()

    def finish(self) -> Sequence[Array] | None:
        """Wait for the columns; return None if they must be computed in another way.

        That is for negative labels, labels beyond the room of any table (or of this one, if the
        source is gone), and labels that lie in several images of a stack.
        """
        self._done.synchronize()
        del self._done
        labels, told = self._labels, self._told
        counted, beyond, torn, gaps, _ = told.numbers(TOLD)
        found = counted - 1
        if beyond > self._most or torn:
            return None
        if beyond:
            expect(self._kind, roomy(beyond))
            if not self._lasts:
                return None
            self._start(min(roomy(beyond), self._most))
            return self.finish()
        expect(self._kind, labels if gaps else roomy(found))
        dtypes = self._formulas.dtypes
        if self._out is not None:
            return columns_of_device(self._out, labels, found, dtypes)
        return columns_of_host(told, labels, found, dtypes)

    def counts(self) -> tuple[Array, Array, tuple[Array, ...] | None]:
        """Copy what was counted to the host, after `finish`: labels, table, and sums of values."""
        rows, width = self._labels + 1, self._layout.width
        slots = Slots(cupy.ndarray((rows, width), np.uint64, self._memory), dense=False)
        if self._values is None:
            return slots.labels, slots.table, None
        sums = cupy.ndarray((rows, 4), np.uint64, self._memory + 8 * rows * width)
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
