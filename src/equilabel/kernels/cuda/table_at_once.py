"""Tables of labels on the GPU, prepared once for labels of one kind: a call fills in addresses."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ._compile import Call, kernel
from .columns import DONE, ROWS, TOLD, columns_of_device, columns_of_host, expect, expected, roomy
from .image_layout import (
    MEASURERS,
    STRIP,
    describe,
    describe_quads,
    has_fours,
    kinds_of,
    quad_types,
    take_quads,
    warps_beside,
    words_of,
)
from .sources import GRAYS
from .transfers import Pinned
from .zeros import KEPT, Zeros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import Array
    from equilabel.kernels.layout import Layout

    from .columns import Formulas

ALIGNED = 16  # bytes that are read at once
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
LOOKS = 2000  # at what the host is told, before it waits in another way
NOTHING_TOLD = [0] * TOLD
VALUE_BYTES = 32  # of the sums of a label's values
FAILURES = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
)
zeros = Zeros()


class Tabler:
    """Compute columns of labels of one kind in one thread.

    Parameters
    ----------
    labels : C-contiguous cupy array of int
        The first of its kind, on the current device.
    layout : Layout
        What is counted.
    formulas : Formulas
        Of `columns`.
    gray : numpy.dtype, or None
        Of the values that are summed, bool or unsigned int of up to 16 bits.
    kind : hashable
        Labels of one kind are expected to be about as many.
    most : int
        Labels for which a table has room.
    on_host : bool
        Whether columns are arrays of NumPy.
    """

    def __init__(
        self,
        labels: Array,
        layout: Layout,
        formulas: Formulas,
        gray: Any,
        kind: Any,
        most: int,
        on_host: bool,
    ) -> None:
        self._device, self._alignment = labels.data.device_id, labels.data.ptr % ALIGNED
        self._kind, self._most, self._on_host = kind, most, on_host
        attribute = cupy.cuda.runtime.deviceGetAttribute
        self._multiprocessors = attribute(MULTIPROCESSORS, self._device)
        self._dtypes, self._width = formulas.dtypes, layout.width
        self._told, self._sums = Pinned(TOLD), 0 if gray is None else VALUE_BYTES
        self._numbers = (ctypes.c_uint64 * TOLD).from_address(self._told.address)
        shape, name = labels.shape, f"u{labels.itemsize}"
        self._row_bytes = 0 if gray is None else shape[-1] * gray.itemsize
        self._grays = np.zeros(3, np.uint64)
        if gray is None and take_quads(shape, layout):
            image, self._strips = describe_quads(shape, layout)
            fours = has_fours(shape[-1], labels.data.ptr, labels.itemsize)
            types = quad_types(name, layout, fours=fours, sizes=formulas.sizes)
            self._count = Call(
                kernel("accumulate_quads", f"count_quads<{types}>"), MEASURERS,
                None, image, warps_beside(shape[-1]), None, None,
            )  # fmt: skip
        else:
            kinds, deep = kinds_of(layout)
            words = 8 if deep else words_of(shape)
            image, self._strips = describe(shape, layout, STRIP, 32 * words)
            under = "Nothing" if gray is None else f"u{gray.itemsize}"
            types = f"{name}, {words}, {kinds}, {under}"
            self._count = Call(
                kernel("accumulate", f"count_labels<{types}>"), MEASURERS,
                None, image, None, None, self._grays.view(f"V{GRAYS.itemsize}").reshape(()),
            )  # fmt: skip
        image, _ = describe(shape, layout, 1, 1)
        self._fill = Call(
            kernel("columns", "fill_columns"), ROWS,
            None, None, None, image, formulas.packed, None, None, None, None, None, None,
        )  # fmt: skip

    def __call__(self, labels: Array, values: Array = None) -> Sequence[Array] | None:
        """Measure labels of the right shape and type, or return None if that takes more care.

        Parameters
        ----------
        labels : cupy array
        values : cupy array, optional
            Only, and always, where a `gray` type was given.
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

    def _measure(self, pixels: int, room: int) -> Sequence[Array] | int | None:
        """Count and compute columns of so many labels; return a label if there are more."""
        blocks, columns = -(-room // ROWS) or 1, len(self._dtypes)
        sums = 8 * (room + 1) * self._width
        states = sums + self._sums * (room + 1)
        size = states + 8 * (blocks + 2)
        stream = cupy.cuda.get_current_stream()
        where = stream.ptr
        clean = size <= KEPT
        memory = zeros.take(size, self._device, where)
        table = memory.ptr
        self._grays[1] = table + sums
        self._count.start(self._strips, where, pixels, room, table)
        # While the kernel counts:
        told, out = self._told, None
        numbers: Any = self._numbers
        if self._on_host:
            told = Pinned(TOLD + columns * room)
            numbers = (ctypes.c_uint64 * TOLD).from_address(told.address)
            target = told.address + 8 * TOLD
        else:
            out = cupy.cuda.alloc(8 * columns * room)
            target = out.ptr
        numbers[:] = NOTHING_TOLD
        self._fill.start(
            blocks, where, table, self._sums and table + sums, room + 1, table + states,
            told.address, target, room, blocks > self._multiprocessors, clean,
        )  # fmt: skip
        wait_for(numbers, stream)
        found, beyond, torn, gaps, _ = numbers
        if beyond or torn:
            return int(beyond) if beyond <= self._most and not torn else None
        if clean:
            zeros.give_back(memory, self._device)
        if gaps or roomy(found) != room:
            expect(self._kind, room if gaps else roomy(found))
        if out is None:
            return columns_of_host(told, room, found, self._dtypes)
        return columns_of_device(out, room, found, self._dtypes)


def wait_for(numbers: Any, stream: Any) -> None:
    """Wait until a kernel has told the host that it has written everything."""
    try:
        for _ in range(LOOKS):
            if numbers[DONE]:
                return
    finally:
        if not numbers[DONE]:  # nobody else gets the memory while kernels write to it
            stream.synchronize()


def tabler_for(
    labels: Array,
    layout: Layout,
    formulas: Formulas,
    gray: Any,
    kind: Any,
    most: int,
    on_host: bool,
) -> Tabler | None:
    """Return what measures such labels; None if another device is the current one, or none.

    The arguments are those of `Tabler`.
    """
    try:
        if labels.data.device_id != cupy.cuda.runtime.getDevice():
            return None
        return Tabler(labels, layout, formulas, gray, kind, most, on_host)
    except FAILURES:
        return None
