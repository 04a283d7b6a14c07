"""Plain threads over kernels that release the interpreter's lock.

numba's own parallel loops can abort the process when they meet other thread pools; these cannot.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import local
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ENVIRONMENT = "EQUILABEL_NUM_THREADS"
_limits = local()  # of the threads that may be used, for each thread; and its `check`
FEW = 16  # pieces from which on each thread has a single one
WEIGHT = 2**20  # pixels below which a thread is not worth waking


@contextmanager
def limited(most: int) -> Iterator[None]:
    """Use no more threads than this while the calling thread is in the block.

    Examples
    --------
    >>> with limited(1):
    ...     available()
    1
    """
    before = getattr(_limits, "most", None)
    _limits.most = most
    try:
        yield
    finally:
        _limits.most = before


@contextmanager
def interruptible(check: Callable[[], None] | None) -> Iterator[None]:
    """Call a function before each piece of work that the calling thread begins in the block.

    Parameters
    ----------
    check : callable, or None
        What it raises ends the work. Helpers of the thread call it, too, each before its pieces;
        where they are a team (see `together`), the thread alone does.

    Examples
    --------
    >>> with limited(1), interruptible(lambda: print("checked")):
    ...     each(abs, [(-1,), (-2,)])
    checked
    checked
    [1, 2]
    """
    before = getattr(_limits, "check", None)
    _limits.check = check
    try:
        yield
    finally:
        _limits.check = before


def watch() -> Callable[[], None] | None:
    """Return what `interruptible` was given, if the calling thread works in such a block."""
    wanted: Callable[[], None] | None = getattr(_limits, "check", None)
    return wanted


def check() -> None:
    """Call what `interruptible` was given, if the calling thread works in such a block."""
    wanted = watch()
    if wanted is not None:
        wanted()


def available() -> int:
    """Count the threads to use: the environment's word, or the cores this process may use."""
    most: int | None = getattr(_limits, "most", None)
    return _known() if most is None else min(most, _known())


def _known() -> int:
    word = os.environ.get(ENVIRONMENT, "")
    if word:
        if not word.isdecimal() or int(word) < 1:
            message = f"{ENVIRONMENT} must be a whole number of threads; got {word!r}. Unset it."
            raise ValueError(message)
        return int(word)
    return cores()


def cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ranges(size: int, weight: int, grain: int = 1, *, fine: bool = False) -> list[tuple[int, int]]:
    """Cut ``range(size)`` into pieces, one or a few for each thread.

    Several for each even out what pieces take. But threads take turns in beginning and ending them,
    and where threads are many, that takes longer than the pieces.

    Parameters
    ----------
    size : int
        Number of rows, blocks or runs.
    weight : int
        Pixels in all; small work stays in one piece.
    grain : int
        Pieces begin at multiples of it.
    fine : bool
        Whether all pieces are small, however many there are: for work that takes long for each
        pixel, and is to end soon after it was called off.
    """
    pieces = min(weight // WEIGHT, size // grain)
    if pieces > 1 and not fine:
        threads = available()
        pieces = 1 if threads == 1 else min(max(min(4 * threads, FEW), threads), pieces)
    if pieces <= 1:
        return [(0, size)] if size else []
    ends = [size * piece // pieces // grain * grain for piece in range(pieces)] + [size]
    return [(a, b) for a, b in pairwise(ends) if a < b]


def each(kernel: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a kernel with each tuple of arguments, in threads where there are several.

    The calling thread works too, and waits for no helper that has not begun when nothing is left:
    on a busy machine this costs no more than doing it alone.
    """
    helpers = min(available(), len(tasks)) - 1 if len(tasks) > 1 else 0
    wanted = watch()
    if helpers < 1 and wanted is None:
        return [kernel(*task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    queue = iter(range(len(tasks)))

    def work() -> None:
        for place in queue:
            if wanted is not None:
                wanted()
            results[place] = kernel(*tasks[place])

    def help_() -> None:
        with interruptible(wanted or _nothing):
            work()

    started = [_pool(helpers).submit(help_) for _ in range(helpers)]
    try:
        work()
    finally:
        for helper in started:
            if not helper.cancel():
                helper.result()
    return results


def together(
    direct: Callable[[], None],
    help_: Callable[[], None],
    leave: Callable[[], None],
    helpers: int,
) -> None:
    """Call a function, and meanwhile another one in each of so many helpers.

    When the first function has returned, no helper is waited for. If it raises an exception, those
    that have begun are, so that none writes to an array of the caller later.

    Parameters
    ----------
    direct, help_ : callable
        Without arguments; `help_` raises nothing.
    leave : callable
        Makes helpers return; called once, however it ends.
    helpers : int
    """
    started = []
    try:
        for _ in range(helpers):
            started.append(_pool(helpers).submit(help_))
        direct()
    except BaseException:
        leave()
        for helper in started:
            if not helper.cancel():
                helper.result()
        raise
    leave()
    for helper in started:
        helper.cancel()


def _nothing() -> None:
    """Check nothing."""


@cache
def _pool(helpers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(helpers, thread_name_prefix="equilabel")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
