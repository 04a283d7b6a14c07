"""Threads that take work from each other's hands inside compiled code, without Python in between.

Work comes in *phases*, each a number of pieces. A thread claims a piece by adding to a counter, so
that nobody does one twice; who finishes the last one closes the phase and opens the next. Nobody
waits for a thread that has not begun: it takes part as soon as it comes, or finds nothing to do.
In Python each phase would wait for every thread to take the interpreter's lock and hand it on:
with 16 threads, that takes longer than most phases.

What they share is a *board*, an array of int64, each entry of which has a line of the cache to
itself: written by one thread, a line is taken from all others.
"""

from __future__ import annotations

import platform
import time
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .atomics import add, read, write
from .caching import inlined
from .twins import twin

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 200  # looks, of at least 50 us, for the thread that gave the work to leave
LINE = 16  # int64 from one entry to the next: two lines of the cache, which are fetched in pairs
OPEN, STOP, LEFT, PHASES = 0, LINE, 2 * LINE, 3 * LINE


def new_board(phases: int) -> NDArray[np.int64]:
    """Make a board for so many phases; the first is open."""
    return np.zeros(PHASES + 2 * LINE * phases, np.int64)


# -------------------------------------------------------------------- for kernels


@inlined
def claim(board, phase, pieces):
    """Return the number of a piece that nobody else does, or -1 if none is left."""
    place = PHASES + 2 * LINE * phase
    if read(board, place) >= pieces:  # as most of those who wait will find
        return -1
    piece = add(board, place, 1)
    return piece if piece < pieces else -1


@inlined
def finish(board, phase, pieces):
    """Note that a piece is done; return whether it was the last one.

    If so, all that other threads wrote in this phase can be read, and only the calling thread
    works until it calls `open_next`.
    """
    return add(board, PHASES + 2 * LINE * phase + LINE, 1) == pieces - 1


@inlined
def open_next(board, phase):
    """Let all threads go on with the phase after this one."""
    write(board, OPEN, phase + 1)


@inlined
def stop(board):
    """Let all threads leave before their next pieces."""
    write(board, STOP, 1)


@inlined
def stopped(board):
    """Return whether threads are to leave."""
    return read(board, STOP) != 0


@inlined
def wait(board, place, value, spins):
    """Wait for an entry of the board to exceed a value, or for the end of all work.

    Who waits for `LEFT` does so out of courtesy, and not for long: Ctrl-C may have kept it from
    being written.

    Parameters
    ----------
    spins : int
        How often to look without letting other threads have the core: waking takes longer than
        most waits, but where threads are more than cores, one of those may be waited for.
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
