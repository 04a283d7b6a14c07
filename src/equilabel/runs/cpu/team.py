"""Threads that share the work on a large image inside compiled code."""

from __future__ import annotations

import platform
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from equilabel.devices import threads
from equilabel.devices.cpu.atomics import add, read, write
from equilabel.devices.cpu.bits import twin
from equilabel.devices.jit import inlined

from .run_table import SLACK, Runs, RunTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array


# ---- A scheduler in compiled code, without Python in between
# Work comes in *phases*, each of a number of pieces. A thread claims a piece by adding to a
# counter; the one that finishes the last piece closes the phase and opens the next. Nobody waits
# for a thread that has not begun: it takes part when it comes. In Python, each phase would wait for
# every thread to take the interpreter's lock: with 16 threads, this takes longer than most phases.
#
# Threads share a *board*, an array of int64. Each of its entries has its own cache lines, because a
# line that one thread writes is taken from the caches of all others.

MOST = 200  # polls, of at least 50 us, while waiting for the thread that gave the work to leave
LINE = 16  # int64 from one entry to the next: two cache lines, which are fetched in pairs
OPEN, STOP, LEFT, PHASES = 0, LINE, 2 * LINE, 3 * LINE


def new_board(phases: int) -> NDArray[np.int64]:
    """Return a board for so many phases; the first is open."""
    return np.zeros(PHASES + 2 * LINE * phases, np.int64)


# -------------------------------------------------------------------- for kernels


@inlined
def claim(board, phase, pieces):
    """Return the number of a piece that no other thread has claimed, or -1 if none is left."""
    place = PHASES + 2 * LINE * phase
    if read(board, place) >= pieces:  # usual for threads that wait
        return -1
    piece = add(board, place, 1)
    return piece if piece < pieces else -1


@inlined
def finish(board, phase, pieces):
    """Mark a piece as done; return whether it was the last one.

    If so, everything that other threads wrote in this phase is visible, and only the calling thread
    works until it calls `open_next`.
    """
    return add(board, PHASES + 2 * LINE * phase + LINE, 1) == pieces - 1


@inlined
def open_next(board, phase):
    """Open the phase after this one to all threads."""
    write(board, OPEN, phase + 1)


@inlined
def stop(board):
    """Ask all threads to leave before their next pieces."""
    write(board, STOP, 1)


@inlined
def stopped(board):
    """Return whether threads were asked to leave."""
    return read(board, STOP) != 0


@inlined
def wait(board, place, value, spins):
    """Wait until an entry of the board exceeds a value, or until all work ends.

    The wait for `LEFT` is limited, because Ctrl-C may prevent it from being written. `spins` is how
    often to poll before other threads get the core: waking up takes longer than most waits, but
    with more threads than cores, one of those may be waited for.
    """
    looks = 0
    while read(board, place) <= value and (
        looks < MOST if place == LEFT else read(board, STOP) == 0
    ):
        if looks < spins:
            pause()
        else:
            sleep(50)
        looks += 1


# ------------------------------------------ plain Python, and compiled twins


def pause():
    """Let a moment pass."""
    time.sleep(0)


def sleep(microseconds):
    """Let other threads have the core."""
    time.sleep(microseconds * 1e-6)


@twin(pause, lambda: types.none())
def _pause(context, builder, signature, arguments):
    i32, machine = ir.IntType(32), platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        name, given = "llvm.x86.sse2.pause", []
    elif machine in ("aarch64", "arm64"):
        name, given = "llvm.aarch64.hint", [ir.Constant(i32, 1)]  # yield
    else:
        return context.get_dummy_value()
    kind = ir.FunctionType(ir.VoidType(), [each.type for each in given])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)
    return context.get_dummy_value()


@twin(sleep, lambda microseconds: types.none(types.uint32))
def _sleep(context, builder, signature, arguments):
    i32 = ir.IntType(32)
    kind = ir.FunctionType(i32, [i32])
    usleep = cgutils.get_or_insert_function(builder.module, kind, "usleep")
    builder.call(usleep, arguments)
    return context.get_dummy_value()


# ---- Phases and pieces of labeling an image, and the arrays that threads share

# Kinds of phases, in order; there are as many of `JOIN` as needed to join all parts in pairs.
FIND, UNITE, JOIN, COUNT, NUMBER, RESOLVE, REORDER, RELABEL, PAINT = range(9)
# Kernels, by their places in `Job.kernels`, which is 0 for a kernel that is not needed.
PACK, BEGIN, INDEX, LINK_ABOVE, LINK = range(5)
ROOTS, NUMBERS, FOLLOW, ORDER, RENAME, ROWS, STREAMED = range(5, 12)
KERNELS = 12
# Entries of `Job.given` and of `Job.found`.
COLUMNS, BOUNDED, BINARY, BLANK, STREAMABLE, SLAB, REACH, LOOKS = range(8)
COMPONENTS, SEVERAL, RUNS = range(3)

PIECES, PARTS = 4, 2  # for each thread: some begin later than others, some are interrupted
LEAST = 2**18  # least number of pixels of a piece
SPINS = 20_000  # polls of the board, some 1 ms, before a thread gives up its core


class Job(NamedTuple):
    """All arrays that a team shares; see `RunTable` and `Runs` for those not explained here."""

    kernels: Array  # (12,) of uint64: addresses
    board: Array  # from `new_board`
    phases: Array  # (P, 3) of int64: kind, pieces, and for `JOIN` the parts on either side
    given: Array  # of int64, see `COLUMNS`
    found: Array  # of int64, see `COMPONENTS`
    pixels: Array  # (R * columns,) of uint8
    level: Array  # (1,) of uint8: the background
    runs: Runs  # if `parents` is too small for the runs, the job ends after `FIND`
    order: Array  # (K,) of int32, as for `numbering.reorder`
    counts: Array
    edges: Array
    pieces: Array  # (F + 1, 2) of int64: first block and row of each piece of `FIND`; the ends
    parts: Array  # (U + 1,) of int64: first piece of each part; threads unite and number parts
    lines: Array  # (P + 1,) of int64: first row of each piece of `PAINT`
    totals: Array  # (F + 1,) of int64: runs of each piece; later the first run of each
    values: Array  # (F,) of int64: foreground value of each piece, or -1
    roots: Array  # (U + 1,) of int64: components that begin in each part; later those before it
    ends: Array  # (slabs + 1,) of int64, as for `numbering.reorder`
    out: Array  # (R * columns,) of int32


def make_job(table: RunTable, helpers: int) -> Job:
    """Prepare a job for a table; the caller adds the arrays of the image and its labels."""
    found, size = table.runs, table.rows * table.columns
    pieces = _cut(table.blocks, _most(PIECES, helpers, size), table.slab)
    rows = table.first_row(pieces)
    rows[-1] = table.rows
    parts = _cut(len(pieces) - 1, PARTS * (helpers + 1))
    lines = _cut(table.rows, _most(PIECES, helpers, size))
    several_rows = found.deep * found.tall > 1
    crowded = threads.available() > threads.cores()
    given = np.zeros(8, np.int64)
    given[COLUMNS] = table.columns
    given[SLAB] = table.slab
    given[REACH] = table.farthest
    given[LOOKS] = 0 if crowded else SPINS
    phases = _phases(
        len(pieces) - 1, len(parts) - 1, len(lines) - 1, several_rows, len(table.edges)
    )
    return Job(
        kernels=None,
        board=new_board(len(phases)),
        phases=phases,
        given=given,
        found=np.zeros(3, np.int64),
        pixels=None,
        level=None,
        # As many runs as words: with more, labels are not written past the caches.
        **_memory(found, found.starts.size),
        counts=table.counts,
        edges=table.edges,
        pieces=np.stack([pieces, rows], axis=1),
        parts=parts,
        lines=lines,
        totals=np.zeros(len(pieces), np.int64),
        values=np.zeros(len(pieces) - 1, np.int64),
        roots=np.zeros(len(parts), np.int64),
        ends=np.empty(table.blocks // table.slab + 1, np.int64),
        out=None,
    )


def resumed(job: Job) -> Job:
    """Return the rest of a job that found more runs than it had room for."""
    phases = job.phases[1:]
    memory = _memory(job.runs, int(job.found[RUNS]))
    return job._replace(board=new_board(len(phases)), phases=phases, **memory)


def _memory(found: Runs, most: int) -> dict[str, Any]:
    """Allocate the forest of so many runs, and the order of as many components."""
    parents = np.empty(most + SLACK, np.int32)
    parents[0] = 0
    several_rows = found.deep * found.tall > 1
    return {
        "runs": found._replace(parents=parents),
        "order": np.empty(most + 1 if several_rows else 0, np.int32),
    }


def _most(each: int, helpers: int, size: int) -> int:
    """Return how many pieces a phase needs at most."""
    return min(each * (helpers + 1), size // min(LEAST, threads.WEIGHT))


def _cut(size: int, pieces: int, grain: int = 1) -> NDArray[np.int64]:
    """Return where pieces of ``range(size)`` begin, at multiples of a grain, and the end."""
    pieces = max(1, min(pieces, size // grain))
    ends = np.arange(pieces + 1) * (size // grain) // pieces * grain
    ends[-1] = size
    return ends


def _phases(
    pieces: int, parts: int, lines: int, several_rows: bool, edges: int
) -> NDArray[np.int64]:
    """List the phases of a job: kind, number of pieces, and for `JOIN` its width in parts."""
    phases = [(FIND, pieces, 0), (UNITE, parts, 0)]
    width = 1
    while width < parts and edges:
        phases.append((JOIN, (parts + width - 1) // (2 * width), width))
        width *= 2
    kinds = [COUNT, NUMBER, RESOLVE]
    kinds += [REORDER, RELABEL] if several_rows else []
    phases += [(kind, parts, 0) for kind in kinds]
    return np.array([*phases, (PAINT, lines, 0)], np.int64)


def sample_job() -> Job:
    """Return an empty job, which has the types of every job."""
    labels, table = np.empty(0, np.int32), np.empty((0, 0), np.int32)
    numbers, pairs = np.empty(0, np.int64), np.empty((0, 0), np.int64)
    bits = np.empty((0, 0), np.uint64)
    found = Runs(bits, bits, table, labels, numbers, numbers, 1, 1)
    pixels, kernels = np.zeros(1, np.uint8), np.empty(0, np.uintp)
    given = kernels, numbers, pairs, numbers, numbers, pixels, pixels
    table_of = found, labels, numbers, pairs
    return Job(*given, *table_of, pairs, *(numbers,) * 6, labels)
