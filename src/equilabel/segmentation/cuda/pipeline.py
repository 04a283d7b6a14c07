"""From an image to labels and columns in one go: launches prepared for images of one kind."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import THREADS, Call, kernel
from equilabel.domains.grid import Foreground
from equilabel.measuring.cuda.columns import Columns, TableSpec, keep_labels
from equilabel.measuring.cuda.sources import RUN_MEASURERS, RunSource, tell_grays
from equilabel.runs.cuda.passes import RunTable
from equilabel.runs.cuda.tiles import AXES, JOB, NUMBER, PACK, PAINT, UNITE, Count, prepare

from .histogram import BLOCKS
from .smoothing import launches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array, HostArray

BINS = 256  # of the histogram for Otsu's threshold
QUAD = 4  # pixels of a thread that compares them, as in levels.cu
ALIGNED = 512  # bytes: where arrays begin that share a piece of memory
SET = Foreground("!=", np.bool_(False), values=False)
GAPS = Foreground("<=", np.uint8(0), values=False)


class Recipe(NamedTuple):
    """Options of `segment`, checked."""

    dtype: np.dtype[Any]  # of the smoothed image
    weights: Sequence[HostArray]  # of the Gaussian along each axis, from the middle outwards
    level: float | None  # None for Otsu's
    dark: bool
    fill_holes: bool
    connectivity: int
    stacked: bool
    sizes: tuple[int, int | None]  # of objects that are kept
    exclude_border: bool


class Memory(NamedTuple):
    """Addresses of arrays in one piece of memory, or their sizes in bytes, of images of P pixels.

    The first two hold zeros at the start.
    """

    ends: int  # keys of the extremes, and counts of bins
    marks: int  # of background that reaches the border, (L + 1,) uint8
    edges: int  # of bins
    note: int  # the threshold, as in levels.cu
    smoothed: int  # (P,); when it was compared, new numbers of labels, (L + 1,) int32
    mask: int  # (P,) uint8
    tables: int  # of runs
    other: int  # the image smoothed along some axes, (P,), if labels have no room for it


class Pipeline:
    """What segments C-contiguous images of one shape, type and address modulo 16, in one thread.

    No axis is of length 1, and the type is one of `smoothing.READ`. Columns follow from runs, see
    `RunSource.suffices`. The host waits for columns alone.
    """

    def __init__(self, image: Array, recipe: Recipe, spec: TableSpec) -> None:
        shape, size, stacked = image.shape, image.size, recipe.stacked
        most = (size + (shape[0] if stacked else 1)) // 2  # labels: half of each image, rounded up
        self._shape, self._fills, self._exact = shape, recipe.fill_holes, recipe.dtype.itemsize == 4
        least, largest = recipe.sizes
        self._drops = least > 1 or largest is not None or recipe.exclude_border
        self._foreground = _Foreground(image, recipe)
        self._gaps = gaps = _Labeling(shape, GAPS, 1, stacked, 1)
        hops, last = recipe.connectivity, GAPS if self._fills else SET
        self._objects = objects = _Labeling(shape, last, hops, stacked, 4)
        first = AXES + 1 - (len(shape) - stacked)
        self._mark = Call(
            kernel(
                "segmentation/cuda/holes", f"mark_border<{gaps.table.node}, {gaps.table.tile}>"
            ),
            THREADS, gaps.table.job, first, None,
        )  # fmt: skip
        name, grays = tell_grays(None if spec.gray is None else image, shape, 0)
        self._grays = grays
        tally, (strips, self._strips) = objects.source(shape).find_counting(spec.layout, name)
        job = objects.table.job
        self._tally = Call(tally, RUN_MEASURERS, job, strips, None, None, grays)
        self._kept = keep_labels(least, largest, inside=recipe.exclude_border)
        self._columns = Columns(shape, spec, self._count, lasts=False, kept=self._kept)
        pixels = size * recipe.dtype.itemsize
        sizes = Memory(
            ends=16 + 8 * BINS,
            marks=most + 1,
            edges=8 * BINS + 8,
            note=16,
            smoothed=max(pixels, 4 * most + 4),
            mask=size,
            tables=max(gaps.table.work.begins[-1], objects.table.work.begins[-1]),
            other=0 if self._exact else pixels,
        )
        padded = (-(-each // ALIGNED) * ALIGNED for each in sizes)
        self._begins = list(accumulate(padded, initial=0))

    def __call__(
        self, image: Array, report: Callable[[str], None]
    ) -> tuple[Array, Sequence[Array], float] | None:
        """Return labels, columns and threshold; None if the image has to take stage after stage.

        Its smoothed pixels are not finite, all equal or too near each other for their type, or
        there are more labels than were expected.
        """
        stream = cupy.cuda.get_current_stream().ptr
        memory = cupy.cuda.alloc(self._begins[-1])
        places = Memory(*(memory.ptr + begin for begin in self._begins[:-1]))
        labels = cupy.empty(self._shape, np.int32)
        room, mask, tables = labels.data.ptr, places.mask, places.tables
        report("binarize")
        cupy.cuda.runtime.memsetAsync(places.ends, 0, places.edges - places.ends, stream)
        self._pixels = image.data.ptr
        other = room if self._exact else places.other
        self._foreground.find(stream, self._pixels, other, places)
        if self._fills:
            report("fill")
            self._gaps.number(stream, mask, mask, tables, room, places.marks)
            self._mark.start(self._gaps.blocks, stream, places.marks)
            self._gaps.paint(stream)
        report("label")
        self._objects.number(stream, mask, room, tables, room, places.smoothed)
        kept = self._kept
        kept["numbers"], kept["notes"] = places.smoothed, places.note
        kept["labels"] = self._objects.count_at(tables)
        self._columns.begin()
        if self._drops:
            report("drop")
        self._objects.paint(stream)
        report("measure")
        columns = self._columns.finish()
        if columns is None:
            return None
        level, fault = self._columns.notes
        return None if fault else (labels, columns, float_of(level))

    def _count(self, most: int, table: int, sums: int, stream: int) -> None:
        """Start to count runs, and to sum values."""
        if self._grays.itemsize > 1:
            self._grays.reshape(1).view(np.uint64)[:2] = self._pixels, sums
        self._tally.start(self._strips, stream, most, table)


class _Foreground:
    """The launches from pixels to a mask."""

    def __init__(self, image: Array, recipe: Recipe) -> None:
        size, real = image.size, recipe.dtype.str[1:]
        where = image.shape, image.dtype.str[1:], recipe.dtype, recipe.weights
        self._axes = launches(*where, nearest=True)
        self._smooth = [
            Call(axis.function, THREADS, None, None, *axis.arguments, None) for axis in self._axes
        ]
        self._search, self._counters = recipe.level is None, min(-(-size // THREADS), BLOCKS)
        level = bits_of(recipe.level or 0.0)
        self._edges = Call(
            kernel("segmentation/cuda/levels", f"find_edges<{real}>"), THREADS, None, BINS, None
        )
        self._count = Call(
            kernel("segmentation/cuda/histogram", f"count_bins<{real}>"),
            THREADS,
            None,
            size,
            None,
            BINS,
            None,
        )
        self._level = Call(
            kernel("segmentation/cuda/levels", f"find_level<{real}>"),
            BINS, None, None, None, self._search, level, None,
        )  # fmt: skip
        self._compare = Call(
            kernel("segmentation/cuda/levels", f"compare<{real}>"),
            THREADS,
            None,
            size,
            None,
            recipe.dark,
            None,
        )
        self._blocks = -(-size // (QUAD * THREADS))

    def find(self, stream: int, pixels: int, other: int, places: Memory) -> None:
        """Start to smooth, to find the threshold, and to compare."""
        ends, edges, note = places.ends, places.edges, places.note
        here, there, last = other, places.smoothed, self._axes[-1]
        for axis, call in zip(self._axes, self._smooth, strict=True):
            call.start(axis.blocks, stream, pixels, here, ends if axis is last else 0)
            pixels, here, there = here, there, here
        if self._search:
            self._edges.start(BINS // THREADS + 1, stream, ends, edges)
            self._count.start(self._counters, stream, pixels, edges, ends + 16)
        self._level.start(1, stream, ends, ends + 16, edges, note)
        self._compare.start(self._blocks, stream, pixels, note, places.mask)


class _Labeling:
    """The passes that label bytes, whose arguments stay where they are."""

    def __init__(
        self, shape: tuple[int, ...], foreground: Foreground, hops: int, stacked: bool, wide: int
    ) -> None:
        kind = shape, np.dtype(np.uint8), foreground, hops, stacked, wide, (0, 0)
        work = prepare(*kind, cupy.cuda.runtime.getDevice())
        self._address, self._memory = work.tell(0, 0, 0)
        job = self._memory[JOB:].view(f"V{len(work.job)}").reshape(())
        self.table = RunTable(work, job, self._address, 0, Count(0), None, ())
        self.blocks = -(-work.tiling.segments // THREADS)  # of as many threads as segments
        self._full = hops == len(shape) - stacked

    def number(
        self, stream: int, pixels: int, labels: int, tables: int, nodes: int, numbers: int
    ) -> None:
        """Start all passes but the last; addresses are those of `Work.tell`."""
        work = self.table.work
        work.tell(pixels, labels, tables, nodes, numbers, self._memory)
        for each in (PACK, UNITE, NUMBER):
            work.start(each, stream, self._address)

    def paint(self, stream: int) -> None:
        """Start the last pass."""
        self.table.work.start(PAINT, stream, self._address)

    def count_at(self, tables: int) -> int:
        """Return the address of the number of labels."""
        return tables + self.table.work.begins[5]

    def source(self, shape: tuple[int, ...]) -> RunSource:
        """Return the runs as what is measured."""
        return RunSource(self.table, shape, full=self._full)


def bits_of(number: float) -> int:
    """Return the bits of a number as a kernel gets it."""
    found: int = struct.unpack("Q", struct.pack("d", number))[0]
    return found


def float_of(bits: int) -> float:
    """Return the number of such bits."""
    found: float = struct.unpack("d", struct.pack("Q", bits))[0]
    return found
