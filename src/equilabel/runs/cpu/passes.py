"""Passes of the method `runs` on the CPU."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads

from . import bonds, boundaries, numbering, packing, painting, unions
from .packing import is_whole
from .run_table import RunTable
from .serial import UNSIGNED

if TYPE_CHECKING:
    from equilabel.array_types import Array, HostArray
    from equilabel.devices.jit import Kernel
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid

TAKES_ROOM = False  # `pack` does not need the memory of the labels
COMPARES = {">": np.greater, "<=": np.less_equal, "<": np.less}


def pack(domain: Grid | Bonds, room: Array = None) -> RunTable:
    """Find the runs of an image, or of a lattice of bonds, of any strides and not empty."""
    if domain.kind == "bonds":
        return bonds.pack(domain)
    grid = domain
    image, (compare, level, values) = grid.pixels, grid.foreground
    if compare not in COMPARES:
        image, level = _unsigned(image, level)
    table = RunTable.of_grid(grid, grid.block)
    table.domain = grid if grid.periodic else None
    if compare in COMPARES:
        _find(table, image, packing.pack_compared, COMPARES[compare], level)
        return table
    bounded = compare != "all"
    value = level if bounded else image.dtype.type(0)
    found = _find(table, image, packing.pack, value, bounded, not values)
    met = {value for kind, value in found if kind}
    if values and (len(met) > 1 or any(kind == packing.SEVERAL for kind, _ in found)):
        pixels = np.ascontiguousarray(image).reshape(-1)
        table = RunTable.of_grid(grid, (1, 1))
        return _runs_of_values(grid, table, pixels, value, bounded)
    table.whole = not values or all(is_whole(value) for value in met)
    return table


def unite(table: RunTable) -> None:
    """Unite the runs that touch: within ranges of blocks in threads, then between the ranges."""
    if isinstance(table, bonds.BondTable):
        bonds.unite(table)
        return
    if table.counts[-1] == 1:
        return
    pieces, reach = table.pieces(), table.farthest
    threads.each(_unite_inside, [(table, span) for span in pieces])
    for a, b in pieces[1:]:
        span = a, min(b, a + reach), 0, a
        if table.pixels is not None:
            before = (table.pixels, table.columns, table.runs, table.edges)
            unions.link_values(*before, span)
        elif len(table.edges):
            unions.link(table.runs, table.edges, 0, span)
    if table.domain is not None:
        boundaries.join_runs(table, table.domain)


def _unite_inside(table: RunTable, span: tuple[int, int]) -> None:
    """Make every run of a range of blocks its own root, and unite those that touch."""
    runs, edges = table.runs, table.edges
    numbering.index(runs, table.counts, *span)
    within = span + span
    if table.pixels is not None:
        unions.link_values(table.pixels, table.columns, runs, edges, within)
    elif len(edges):
        link_above = unions.link_rows_above if runs.tall == 1 else unions.link_blocks_above
        link_above(runs, within)
        if len(edges) > 1:
            unions.link(runs, edges, 1, within)


def number(table: RunTable) -> int:
    """Turn the forest into labels in raster order, and return their number, N.

    Labels are 1 to N, or 0 to N - 1 on a lattice of bonds, which has no background.
    """
    if table.counts[-1] == 1:
        return 0
    slab = table.slab
    ends = np.empty(table.blocks // slab + 1, np.int64)
    numbering.number(table.counts, table.parents, 0, table.blocks, slab, 0, ends)
    components = int(ends[-1])
    runs = table.runs
    if runs.deep * runs.tall > 1 and components > 1:
        order = np.zeros(components + 1, table.parents.dtype)
        pieces = table.pieces()
        threads.each(
            numbering.reorder, [(runs, a // slab, b // slab, ends, order) for a, b in pieces]
        )
        threads.each(
            numbering.relabel,
            [(table.parents, table.counts[a], table.counts[b], order) for a, b in pieces],
        )
    if table.first_label == 0:
        table.parents[1 : table.counts[-1]] -= 1
    return components


def paint(table: RunTable, out: HostArray, blank: bool) -> None:
    """Write the label of every pixel to `out`, (rows * columns,) of int.

    `blank` says whether `out` holds zeros.
    """
    spans = threads.ranges(table.rows, out.size)
    if table.counts[-1] == 1:  # no runs: `bits` alone was written
        if not blank:
            out[:] = 0
        return
    image, few = (table.runs, table.columns), int(table.counts[-1]) <= table.runs.bits.size
    if not blank and few and painting.is_streamed(table.columns, out):
        threads.each(painting.stream_rows, [(*image, span, out) for span in spans])
        return
    painted = [(*image, span, painting.NO_LINES, blank, out) for span in spans]
    threads.each(painting.paint_rows, painted)


def _unsigned(pixels: HostArray, level: Any) -> tuple[HostArray, Any]:
    """View integers as unsigned: they are only tested for equality, so fewer types are compiled."""
    kind = UNSIGNED.get(pixels.dtype)
    if kind is None:
        return pixels, level
    return pixels.view(kind), None if level is None else level.view(kind)


def _find(table: RunTable, image: HostArray, kernel: Kernel, *arguments: Any) -> list[Any]:
    """Fill `bits` by a kernel and find the runs of foreground, part by part in threads."""
    columns, runs, counts = table.columns, table.runs, table.counts
    contiguous = image.flags.c_contiguous
    flat = image.reshape(-1) if contiguous else image

    def find(begin: int, end: int) -> Any:
        first, last = table.first_row(begin), table.first_row(end)
        part = flat[first * columns : last * columns] if contiguous else _rows(image, first, last)
        found = kernel(part, columns, *arguments, runs.bits[first:last])
        if found[0] == packing.NOTHING:
            runs.starts[begin:end] = 0
            counts[begin + 1 : end + 1] = 0
        elif found[0] != packing.SEVERAL:
            packing.begin(runs, begin, end, counts)
        return found

    found = threads.each(find, table.pieces())
    if not any(kind == packing.SEVERAL for kind, _ in found):
        table.number_runs()
    return found


def _rows(image: HostArray, begin: int, end: int) -> HostArray:
    """Copy a range of rows of a strided image."""
    leading = image.shape[:-1]
    if not leading:
        return np.ascontiguousarray(image)
    inner = prod(leading[1:])
    planes = np.ascontiguousarray(image[begin // inner : -(-end // inner)]).reshape(
        -1, image.shape[-1]
    )
    skip = begin - begin // inner * inner
    return planes[skip : skip + end - begin].reshape(-1)


def _runs_of_values(
    grid: Grid, table: RunTable, pixels: HostArray, value: Any, bounded: bool
) -> RunTable:
    """Find the runs of equal value, row by row."""
    table.pixels, table.domain = pixels, grid if grid.periodic else None
    before = (pixels, table.columns, value, bounded, table.runs)
    ranges = threads.ranges(table.rows, pixels.size)
    threads.each(packing.pack_values, [(*before, a, b, table.counts) for a, b in ranges])
    table.whole = not packing.has_fractions(pixels, value, bounded)
    table.number_runs()
    return table
