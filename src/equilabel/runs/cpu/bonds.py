"""Runs on lattices of bonds, 64 sites at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equilabel.devices import threads
from equilabel.devices.cpu.bits import ALL, LAST, NONE, ONE, popcount
from equilabel.devices.cpu.union_find import unite as unite_runs
from equilabel.devices.jit import inlined, njit

from . import numbering
from .boundaries import beyond
from .packing import pack_compared
from .run_table import AXES, RunTable, advance, locate
from .unions import unite_straight

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.bonds import Bonds


# ---- Runs on a lattice of bonds: sites joined by open bonds along the last axis
# Every site belongs to a run, and runs are numbered without gaps: the next site of a row belongs to
# the same run or to the next one, also where the next word begins.


class Planes(NamedTuple):
    """Bonds between rows, one bit for each site, and the steps along which they lead.

    `bits` is (K, R, words); `steps` (K, 6), along five leading axes and the last one, none along
    that alone; `periodic` (6,); `rings` (R,): whether the last site of a row is joined to the
    first.
    """

    bits: Array
    steps: Array
    periodic: Array
    rings: Array


@dataclass
class BondTable(RunTable):
    """The runs of a lattice of bonds."""

    planes: Planes = field(kw_only=True)
    reach: int = field(kw_only=True)  # rows back that steps lead at most, except around axes


def pack(bonds: Bonds) -> BondTable:
    """Find the runs of a lattice, and write all other bonds as planes of bits."""
    sites = np.ascontiguousarray(bonds.open).reshape(-1)
    missing = AXES + 1 - bonds.rank
    shape = np.array((1,) * missing + bonds.shape, np.int64)
    columns, rows = int(shape[-1]), prod(shape[:-1].tolist())
    words = -(-columns // 64)
    steps = np.pad(bonds.steps, ((0, 0), (missing, 0)))
    along = np.flatnonzero(~steps[:, :AXES].any(axis=1))
    others = np.flatnonzero(steps[:, :AXES].any(axis=1))
    planes = Planes(
        np.empty((len(others), rows, words), np.uint64),
        steps[others],
        np.array((False,) * missing + bonds.periodic),
        np.zeros(rows, np.bool_),
    )
    edges = np.empty((0, 2 * AXES), np.int64)
    whole = RunTable.of_blocks(shape[:-1], (1, 1), columns, edges)
    strides = np.append(np.cumprod(shape[-2:0:-1])[::-1], 1)
    reach = int((planes.steps[:, :AXES] @ strides).max(initial=0))
    table = BondTable(**vars(whole) | {"first_label": 0}, planes=planes, reach=reach)
    runs, around = table.runs, bool(planes.periodic[AXES])
    runs.bits[:] = 0

    def find(begin: int, end: int) -> None:
        part = sites[begin * columns : end * columns]
        targets = (runs.bits,) * len(along) + tuple(planes.bits)
        for k, bits in zip((*along, *others), targets, strict=True):
            mask = sites.dtype.type(1 << int(k))
            pack_compared(part, columns, np.bitwise_and, mask, bits[begin:end])
        begin_rows(runs, columns, around, planes.rings, table.counts, begin, end)

    threads.each(find, threads.ranges(rows, sites.size))
    table.number_runs()
    return table


def unite(table: BondTable) -> None:
    """Unite the runs that bonds join: within ranges of rows in threads, then between the ranges."""
    runs, planes, pieces = table.runs, table.planes, table.pieces()
    threads.each(numbering.index, [(runs, table.counts, a, b) for a, b in pieces])
    threads.each(link_bonds, [(runs, planes, table.columns, (a, b, a, b)) for a, b in pieces])
    around = bool(planes.periodic[:AXES].any())
    for a, b in pieces if len(pieces) > 1 else ():
        end = b if around else min(b, a + table.reach)
        link_bonds(runs, planes, table.columns, (a, end, b, a))


# -------------------------------------------------------------------- kernels


@njit(nogil=True, cache=True)
def begin_rows(runs, columns, around, rings, counts, first_row, last_row):
    """Set bits where runs begin, in a range of rows.

    The `bits` of `runs` are bonds along rows at first, and then all sites. `around` says whether
    ends of rows may be joined; if so, `rings` is set. ``counts[row + 1]`` is set to the number of
    runs of a row.
    """
    words = runs.starts.shape[1]
    for row in range(first_row, last_row):
        carry = NONE
        total = 0
        for word in range(words):
            joined = runs.bits[row, word]
            sites = ALL >> np.uint64(64 - min(64, columns - 64 * word))
            begins = sites & ~((joined << ONE) | carry)
            carry = joined >> LAST
            runs.bits[row, word] = sites
            runs.starts[row, word] = begins
            total += popcount(begins)
            if around and word + 1 == words:
                rings[row] = (joined >> np.uint64((columns - 1) & 63)) & ONE != NONE
        counts[row + 1] = total


@njit(nogil=True, cache=True)
def link_bonds(runs, planes, columns, span):
    """Unite the runs of some rows with those of other rows from which bonds lead to them.

    `span` is (first row, row after the last, low, high): bonds come from rows `low` to `high`; if
    ``high < low``, from all rows outside of this range. Threads first unite runs within their own
    ranges; bonds between ranges follow, range by range.
    """
    first_row, last_row, low, high = span
    shape = runs.shape
    inside = low < high
    position = np.empty(AXES, np.int64)
    locate(first_row, shape, position)
    for row in range(first_row, last_row):
        if inside and planes.rings[row]:
            unite_runs(runs.parents, last_run(runs, row), runs.first[row, 0])
        for k in range(planes.steps.shape[0]):
            source = beyond(position, planes.steps[k], -1, shape, planes.periodic)
            if source < 0:
                continue
            if (low <= source < high) if inside else (source < high or source >= low):
                across = planes.steps[k, AXES]
                if across == 0:
                    link_straight(runs, planes.bits[k], source, row)
                else:
                    link_across(runs, planes.bits[k], source, row, across, columns)
                    if planes.periodic[AXES]:
                        link_ends(runs, planes.bits[k], source, row, across, columns)
        advance(shape, position)


@inlined
def last_run(runs, row):
    """Return the run of the last site of a row."""
    word = runs.starts.shape[1] - 1
    return runs.first[row, word] + popcount(runs.starts[row, word]) - 1


@inlined
def link_straight(runs, plane, source, row):
    """Unite runs of two rows along bonds to the same column; `plane` is (R, words) of uint64.

    A bond joins nothing new if the bond beside it is open and both sites at each of its ends are in
    one run: the four sites form a square of which three sides are open.
    """
    starts, first = runs.starts, runs.first
    carry = NONE
    for word in range(starts.shape[1]):
        bonds = plane[source, word]
        if bonds != NONE:
            ours = starts[source, word]
            theirs = starts[row, word]
            events = bonds & (~((bonds << ONE) | carry) | ours | theirs)
            mine = (theirs, first[row, word])
            unite_straight(runs.parents, events, mine, (ours, first[source, word]))
        carry = bonds >> LAST


@inlined
def link_across(runs, plane, source, row, across, columns):
    """Unite runs of two rows along bonds to the column before (`across` -1) or after (1)."""
    starts, first = runs.starts, runs.first
    words = starts.shape[1]
    carry = NONE
    before = NONE
    for word in range(words):
        bonds = plane[source, word]
        ours = starts[source, word]
        theirs = starts[row, word]
        if across < 0:
            if word == 0:
                bonds &= ~ONE
            there = (theirs << ONE) | before  # where a bond leads to the start of a run
            run = first[row, word] - popcount(before)
        else:
            if word == words - 1:
                bonds &= ~(ONE << np.uint64((columns - 1) & 63))
            there = theirs >> ONE
            if word + 1 < words:
                there |= starts[row, word + 1] << LAST
            run = first[row, word] + popcount(theirs & ONE)
        before = theirs >> LAST
        events = bonds & (~((bonds << ONE) | carry) | ours | there)
        carry = bonds >> LAST
        unite_straight(runs.parents, events, (there, run), (ours, first[source, word]))


@inlined
def link_ends(runs, plane, source, row, across, columns):
    """Unite runs along the bond from one end of a row to the other end of another row."""
    if across < 0:
        if plane[source, 0] & ONE != NONE:
            unite_runs(runs.parents, last_run(runs, row), runs.first[source, 0])
    else:
        last = np.uint64((columns - 1) & 63)
        if (plane[source, plane.shape[1] - 1] >> last) & ONE != NONE:
            unite_runs(runs.parents, last_run(runs, source), runs.first[row, 0])
