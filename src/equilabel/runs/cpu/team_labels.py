"""Labels large images by a team of threads, where this is faster."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.core import config

from equilabel.devices import threads
from equilabel.devices.cpu.addresses import address, caller
from equilabel.devices.cpu.atomics import read
from equilabel.devices.cpu.bits import smaller
from equilabel.devices.jit import BORROWING, called, is_kept, njit

from . import numbering, packing, painting, team, unions
from .run_table import SLACK, RunTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray
    from equilabel.domains.grid import Grid


# ---- Labeling by runs as phases of a team: the work of each piece, and the work between phases
# The kernels are those of `passes`. They are called by address, so only the calls are compiled
# here.

call = caller(types.none)
count = caller(types.int64)
look = caller(types.Tuple([types.int64, types.uint8]))


@njit(nogil=True, cache=True, **BORROWING)
def work(job, most):
    """Work on a job until `most` pieces are done, or all are; return whether all are done.

    `most` is 1 for the thread that gave the job, which looks for signals in between, and -1 for
    helpers. These stay until the first thread has left: it would have to wait for Python's lock
    after them.
    """
    board, phases = job.board, job.phases
    last = phases.shape[0]
    while True:
        phase = read(board, team.OPEN)
        if phase >= last or team.stopped(board):
            if most < 0:
                team.wait(board, team.LEFT, 0, 0)
            return True
        pieces = phases[phase, 1]
        piece = team.claim(board, phase, pieces)
        if piece < 0:
            team.wait(board, team.OPEN, phase, job.given[team.LOOKS])
            continue
        do(job, phases[phase, 0], phases[phase, 2], piece)
        if team.finish(board, phase, pieces):
            close(job, phases[phase, 0])
            team.open_next(board, phase)
        most -= 1
        if most == 0:
            return False


@called
def do(job, kind, width, piece):
    """Do one piece of a phase; for `JOIN`, with `width` parts on either side."""
    if kind == team.FIND:
        find(job, piece)
    elif kind == team.UNITE:
        unite_part(job, piece)
    elif kind == team.JOIN:
        join(job, width, piece)
    elif kind == team.PAINT:
        paint_piece(job, piece)
    elif kind == team.COUNT:
        a, b = first_run(job, piece), first_run(job, piece + 1)
        job.roots[piece + 1] = count(job.kernels[team.ROOTS], (job.runs.parents, a, b))
    else:
        rename(job, kind, piece)


@called
def close(job, kind):
    """Finish a phase after its last piece, while all other threads wait."""
    found = job.found
    if kind == team.FIND:
        value = -1
        for piece in range(job.values.size):
            one = job.values[piece]
            if one >= 0 and value >= 0 and one != value and job.given[team.BINARY] == 0:
                found[team.SEVERAL] = 1
                team.stop(job.board)
            if one >= 0:
                value = one
        number_pieces(job)
        if found[team.RUNS] + SLACK > job.runs.parents.size:
            team.stop(job.board)
    elif kind == team.COUNT:
        roots = 0
        for part in range(job.roots.size):
            roots += job.roots[part]
            job.roots[part] = roots
        found[team.COMPONENTS] = roots


@called
def number_pieces(job):
    """Compute the number of the first run of each piece."""
    run = 1
    job.counts[0] = run
    for piece in range(job.totals.size - 1):
        total = job.totals[piece]
        job.totals[piece] = run
        run += total
        job.counts[job.pieces[piece + 1, 0]] = run
    job.found[team.RUNS] = run


@called
def find(job, piece):
    """Find the runs of a piece, and count them."""
    given, runs, kernels = job.given, job.runs, job.kernels
    begin, first = job.pieces[piece, 0], job.pieces[piece, 1]
    end, last = job.pieces[piece + 1, 0], job.pieces[piece + 1, 1]
    columns = given[team.COLUMNS]
    pixels = job.pixels[first * columns : last * columns]
    bounded, binary = given[team.BOUNDED] != 0, given[team.BINARY] != 0
    asked = (pixels, columns, job.level[0], bounded, binary, runs.bits[first:last])
    met, value = look(kernels[team.PACK], asked)
    job.values[piece] = -1 if met == 0 else value
    job.totals[piece] = 0
    if met == 2:
        job.found[team.SEVERAL] = 1
        team.stop(job.board)
    elif met == 0:
        for block in range(begin, end):
            job.counts[block + 1] = 0
            for word in range(runs.starts.shape[1]):
                runs.starts[block, word] = 0
    else:
        call(kernels[team.BEGIN], (runs, begin, end, job.counts))
        total = 0
        for block in range(begin, end):
            total += job.counts[block + 1]
        job.totals[piece] = total


@called
def unite_part(job, part):
    """Give numbers to the runs of a part, and unite those that touch within it."""
    runs, edges, kernels, counts = job.runs, job.edges, job.kernels, job.counts
    for piece in range(job.parts[part], job.parts[part + 1]):
        run = job.totals[piece]
        for block in range(job.pieces[piece, 0] + 1, job.pieces[piece + 1, 0]):
            run += counts[block]
            counts[block] = run
    begin, end = first_block(job, part), first_block(job, part + 1)
    call(kernels[team.INDEX], (runs, counts, begin, end))
    within = (begin, end, begin, end)
    if edges.shape[0] > 0:
        call(kernels[team.LINK_ABOVE], (runs, within))
    if edges.shape[0] > 1:
        call(kernels[team.LINK], (runs, edges, 1, within))


@called
def join(job, width, pair):
    """Unite the runs that touch between `width` parts and as many after them."""
    parts = job.parts.size - 1
    begin = first_block(job, 2 * pair * width)
    middle = first_block(job, (2 * pair + 1) * width)
    end = first_block(job, smaller((2 * pair + 2) * width, parts))
    end = smaller(end, middle + job.given[team.REACH])
    call(job.kernels[team.LINK], (job.runs, job.edges, 0, (middle, end, begin, middle)))


@called
def rename(job, kind, part):
    """Work on a part in one of the phases that turn runs of several components into labels."""
    kernels, runs, order = job.kernels, job.runs, job.order
    labels = runs.parents
    a, b, slab = first_block(job, part), first_block(job, part + 1), job.given[team.SLAB]
    first, last = job.counts[a], job.counts[b]
    if kind == team.NUMBER:
        before = job.roots[part]
        if order.size > 0:
            for label in range(before, job.roots[part + 1]):
                order[label + 1] = 0
        call(kernels[team.NUMBERS], (job.counts, labels, a, b, slab, before, job.ends))
    elif kind == team.RESOLVE:
        call(kernels[team.FOLLOW], (labels, first, last))
    elif kind == team.REORDER:
        call(kernels[team.ORDER], (runs, a // slab, b // slab, job.ends, order))
    elif kind == team.RELABEL:
        call(kernels[team.RENAME], (labels, first, last, order))


@called
def paint_piece(job, piece):
    """Write the labels of some rows."""
    given, runs, found, kernels, out = job.given, job.runs, job.found, job.kernels, job.out
    begin, end, columns = job.lines[piece], job.lines[piece + 1], given[team.COLUMNS]
    blank, streamable = given[team.BLANK] != 0, given[team.STREAMABLE] != 0
    if streamable and 1 < found[team.RUNS] <= runs.bits.size:
        call(kernels[team.STREAMED], (runs, columns, (begin, end), out))
    elif found[team.RUNS] > 1 or not blank:
        call(kernels[team.ROWS], (runs, columns, (begin, end), job.pieces[:0], blank, out))


@called
def first_block(job, part):
    """Return the first block of a part."""
    return job.pieces[job.parts[part], 0]


@called
def first_run(job, part):
    """Return the first run of a part."""
    return job.counts[first_block(job, part)]


# ---- Choosing a team for a large image

FEWEST = 4  # threads from which a team is faster, and worth compiling
PATIENCE = 20  # calls after which compiling is worth the time
_left = PATIENCE


def is_team(size: int) -> bool:
    """Return whether there are threads enough for a team, for an image of so many pixels."""
    posix = hasattr(os, "fork")  # others have no `usleep` for `team.sleep`
    return posix and _members(size) >= FEWEST


def _members(size: int) -> int:
    return min(threads.available(), size // threads.WEIGHT)


def label_in_team(grid: Grid, room: Callable[[], tuple[HostArray, bool]]) -> int | None:
    """Label an image for which `is_team`; return the number of components, None if not faster.

    It is C-contiguous, of bytes, not empty, not compared with a level. `room` returns a flat array
    of int32 for the labels, and whether it holds zeros.
    """
    image, (compare, level, values) = grid.pixels, grid.foreground
    helpers = _members(image.size) - 1
    table = RunTable.of_grid(grid, grid.block)
    if table.blocks // table.slab < FEWEST or not _is_ready():
        return None
    job = team.make_job(table, helpers)
    background = np.zeros(1, np.uint8)
    if compare != "all":
        background[0] = np.asarray(level).view(np.uint8)
    out, blank = room()
    given = job.given
    given[team.BOUNDED], given[team.BINARY] = compare != "all", not values
    streamed = not blank and painting.is_streamed(table.columns, out)
    given[team.BLANK], given[team.STREAMABLE] = blank, streamed
    job = job._replace(
        kernels=_kernels(table.runs.tall, table.runs.deep, len(table.edges), streamed),
        pixels=image.reshape(-1).view(np.uint8),
        level=background,
        out=out,
    )
    _run(job, helpers)
    if job.found[team.SEVERAL]:
        return None
    if job.found[team.RUNS] + SLACK > job.runs.parents.size:
        job = team.resumed(job)
        _run(job, helpers)
    return int(job.found[team.COMPONENTS])


@cache
def _kernels(tall: int, deep: int, edges: int, streamed: bool) -> Any:
    """Compile or load the kernels that a job calls, and return their addresses."""
    sample = team.sample_job()
    table, counts, ends, out = sample.runs, sample.counts, sample.ends, sample.out
    bits, parents, lines, span = table.bits, table.parents, sample.edges, (0, 0, 0, 0)
    asked: dict[int, tuple[Any, ...]] = {
        team.PACK: (packing.pack, sample.pixels, 0, sample.level[0], True, True, bits),
        team.BEGIN: (packing.begin, table, 0, 0, counts),
        team.INDEX: (numbering.index, table, counts, 0, 0),
        team.ROOTS: (numbering.count_roots, parents, 0, 0),
        team.NUMBERS: (numbering.number, counts, parents, 0, 0, 0, 0, ends),
        team.FOLLOW: (numbering.follow, parents, 0, 0),
        team.ROWS: (painting.paint_rows, table, 0, (0, 0), lines, True, out),
    }
    if edges:
        asked[team.LINK] = (unions.link, table, lines, 0, span)
        link_above = unions.link_rows_above if tall == 1 else unions.link_blocks_above
        asked[team.LINK_ABOVE] = (link_above, table, span)
    if tall * deep > 1:
        asked[team.ORDER] = (numbering.reorder, table, 0, 0, ends, parents)
        asked[team.RENAME] = (numbering.relabel, parents, 0, 0, parents)
    if streamed:
        asked[team.STREAMED] = (painting.stream_rows, table, 0, (0, 0), out)
    kernels: list[Any] = [0] * team.KERNELS
    for place, (kernel, *arguments) in asked.items():
        kernels[place] = address(kernel, tuple(arguments))
    return kernels if config.DISABLE_JIT else np.array(kernels, np.uintp)


def _is_ready() -> bool:
    """Return whether a team needs no compilation, or would have been faster many times before."""
    global _left
    if _left > 0 and _left == PATIENCE and is_kept(work, (team.sample_job(), -1)):
        _left = 0
    _left = max(0, _left - 1)
    return _left == 0


def _run(job: team.Job, helpers: int) -> None:
    """Run a job with helpers; a signal in the caller or an error in a helper ends it."""
    board = job.board
    errors: list[BaseException] = []

    def direct() -> bool:
        threads.check()
        while not work(job, 1):
            threads.check()
        if errors:
            raise errors[0]
        return not job.found[team.SEVERAL]  # if so, helpers may still read pixels

    def help_() -> None:
        try:
            work(job, -1)
        except BaseException as error:
            errors.append(error)
            board[team.STOP] = 1

    def leave() -> None:
        board[team.STOP] = board[team.LEFT] = 1

    threads.together(direct, help_, leave, helpers)
