"""From an image to labels and columns in one go: launches prepared for images of one kind."""

from __future__ import annotations

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

from .histogram import COUNTERS, COUNTING
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


class Pipeline:
    """What segments C-contiguous images of one shape, type and address modulo 16, in one thread.

    No axis is of length 1, and the type is one of `smoothing.READ`. Columns follow from runs, see
    `RunSource.suffices`. The host waits for columns alone.
    """

    def __init__(self, image: Array, recipe: Recipe, spec: TableSpec) -> None:
        shape, size, stacked = image.shape, image.size, recipe.stacked
        least, largest = recipe.sizes
        self._drops = least > 1 or largest is not None or recipe.exclude_border
        self._shape, self._fills = shape, recipe.fill_holes
        self._foreground = _Foreground(image, recipe)
        gaps = self._gaps = _Labeling(shape, GAPS, 1, stacked, 1)
        last = GAPS if self._fills else SET
        objects = self._objects = _Labeling(shape, last, recipe.connectivity, stacked, 4)
        types = f"{gaps.table.node}, {gaps.table.tile}"
        self._mark = Call(
            kernel("segmentation/cuda/holes", f"mark_border<{types}>"),
            THREADS, gaps.table.job, AXES + 1 - (len(shape) - stacked), None,
        )  # fmt: skip
        name, self._grays = tell_grays(None if spec.gray is None else image, shape, 0)
        source = RunSource(objects.table, shape)
        function, (strips, self._strips) = source.find_counting(spec.layout, name)
        job = objects.table.job
        self._tally = Call(function, RUN_MEASURERS, job, strips, None, None, self._grays)
        self._kept = keep_labels(least, largest, inside=recipe.exclude_border)
        self._columns = Columns(shape, spec, self._count, lasts=False, kept=self._kept)
        # One piece of memory: keys of extremes and counts of bins, and marks of background, which
        # are 0 at first; edges of bins; the threshold; the smoothed image, in its place later new
        # labels; a mask; tables of runs; and, if labels have no room for it, another image.
        most = (size + (shape[0] if stacked else 1)) // 2  # labels
        pixels, self._narrow = size * recipe.dtype.itemsize, recipe.dtype.itemsize == 4
        sizes = [16 + 8 * BINS, most + 1, 8 * BINS + 8, 16, max(pixels, 4 * most + 4), size]
        sizes.append(max(each.table.work.begins[-1] for each in (gaps, objects)))
        sizes.append(0 if self._narrow else pixels)
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
        places = [memory.ptr + begin for begin in self._begins[:-1]]
        ends, marks, edges, note, smoothed, mask, tables, other = places
        labels = cupy.empty(self._shape, np.int32)
        room, self._pixels = labels.data.ptr, image.data.ptr
        report("binarize")
        cupy.cuda.runtime.memsetAsync(ends, 0, edges - ends, stream)
        images = self._pixels, room if self._narrow else other, smoothed
        self._foreground.find(stream, *images, ends, edges, note, mask)
        if self._fills:
            report("fill")
            self._gaps.number(stream, mask, mask, tables, room, marks)
            self._mark.start(self._gaps.blocks, stream, marks)
            self._gaps.paint(stream)
        report("label")
        numbers = smoothed
        self._objects.number(stream, mask, room, tables, room, numbers)
        found = tables + self._objects.table.work.begins[5]  # their number
        self._kept["numbers"], self._kept["labels"], self._kept["notes"] = numbers, found, note
        self._columns.begin()
        if self._drops:
            report("drop")
        self._objects.paint(stream)
        report("measure")
        columns = self._columns.finish()
        if columns is None:
            return None
        level, fault = self._columns.notes
        return None if fault else (labels, columns, float(np.uint64(level).view(np.float64)))

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
        self._search, level = recipe.level is None, np.float64(recipe.level or 0).view(np.int64)
        find_edges = kernel("segmentation/cuda/levels", f"find_edges<{real}>")
        count_bins = kernel("segmentation/cuda/histogram", f"count_bins<{real}>")
        find_level = kernel("segmentation/cuda/levels", f"find_level<{real}>")
        compare = kernel("segmentation/cuda/levels", f"compare<{real}>")
        self._edges = Call(find_edges, THREADS, None, BINS, None)
        self._count = Call(count_bins, COUNTERS, None, size, None, BINS, None)
        self._level = Call(find_level, BINS, None, None, None, self._search, int(level), None)
        self._compare = Call(compare, THREADS, None, size, None, recipe.dark, None)
        self._counters = min(-(-size // COUNTERS), COUNTING)
        self._blocks = -(-size // (QUAD * THREADS))

    def find(
        self, stream: int, pixels: int, here: int, there: int, ends: int, edges: int, note: int,
        mask: int,
    ) -> None:  # fmt: skip
        """Start to smooth, to find the threshold, and to compare; all others are addresses."""
        for axis, call in zip(self._axes, self._smooth, strict=True):
            call.start(axis.blocks, stream, pixels, here, ends if axis is self._axes[-1] else 0)
            pixels, here, there = here, there, here
        if self._search:
            self._edges.start(BINS // THREADS + 1, stream, ends, edges)
            self._count.start(self._counters, stream, pixels, edges, ends + 16)
        self._level.start(1, stream, ends, ends + 16, edges, note)
        self._compare.start(self._blocks, stream, pixels, note, mask)


class _Labeling:
    """The passes that label bytes, whose arguments stay where they are."""

    def __init__(
        self, shape: tuple[int, ...], foreground: Foreground, hops: int, stacked: bool, wide: int
    ) -> None:
        kind = shape, np.dtype(np.uint8), foreground, hops, stacked, wide, (0, 0)
        work = self._work = prepare(*kind, cupy.cuda.runtime.getDevice())
        self._address, self._memory = work.tell(0, 0, 0)
        job = self._memory[JOB:].view(f"V{len(work.job)}").reshape(())
        self.table = RunTable(work, job, self._address, 0, Count(0), None, ())
        self.blocks = -(-work.tiling.segments // THREADS)  # of as many threads as segments

    def number(
        self, stream: int, pixels: int, labels: int, tables: int, nodes: int, numbers: int
    ) -> None:
        """Start all passes but the last; addresses are those of `Work.tell`."""
        self._work.tell(pixels, labels, tables, nodes, numbers, self._memory)
        for each in (PACK, UNITE, NUMBER):
            self._work.start(each, stream, self._address)

    def paint(self, stream: int) -> None:
        """Start the last pass."""
        self._work.start(PAINT, stream, self._address)
