"""Plain threads over kernels that release the interpreter's lock.

numba's own parallel loops can abort the process when they meet other thread pools; these cannot.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread, local
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

ENVIRONMENT = "EQUILABEL_NUM_THREADS"
_limits = local()  # of the threads that may be used, for each thread; and its `check`
FEW = 16  # pieces from which on each thread has a single one
WEIGHT = 2**20  # pixels below which a thread is not worth waking
SMALL = 4  # pieces from which on they have twice as many pixels


@contextmanager
def _setting(name: str, value: Any) -> Iterator[None]:
    """Give the calling thread a limit while it is in the block."""
    before = getattr(_limits, name, None)
    setattr(_limits, name, value)
    try:
        yield
    finally:
        setattr(_limits, name, before)


def limited(most: int) -> AbstractContextManager[None]:
    """Use no more threads than this while the calling thread is in the block.

    Examples
    --------
    >>> with limited(1):
    ...     available()
    1
    """
    return _setting("most", most)


def interruptible(check: Callable[[], None] | None) -> AbstractContextManager[None]:
    """Call a function before each piece of work that the calling thread begins in the block.

    What it raises ends the work. Helpers of the thread call it, too, each before its pieces; where
    they are a team (see `together`), the thread alone does.

    >>> with limited(1), interruptible(lambda: print("checked")):
    ...     each(abs, [(-1,), (-2,)])
    checked
    checked
    [1, 2]
    """
    return _setting("check", check)


def watch() -> Callable[[], None] | None:
    """Return what `interruptible` was given, if the calling thread works in such a block."""
    wanted: Callable[[], None] | None = getattr(_limits, "check", None)
    return wanted


def check() -> None:
    """Call what `interruptible` was given, if the calling thread works in such a block."""
    wanted = watch()
    if wanted is not None:
        wanted()


def reporting(listen: Callable[[float], None] | None) -> AbstractContextManager[None]:
    """Call a function with the share of the work that is done, from 0 to 1, while in the block.

    The calling thread calls it, after each of its pieces of `each`.

    >>> with limited(1), reporting(print):
    ...     each(abs, [(-1,), (-2,)])
    0.5
    1.0
    [1, 2]
    """
    return _setting("listen", listen)


def report(share: float) -> None:
    """Tell `reporting`, if the calling thread works in such a block, what share is done."""
    listen: Callable[[float], None] | None = getattr(_limits, "listen", None)
    if listen is not None:
        listen(share)


@contextmanager
def portion(first: float, last: float) -> Iterator[None]:
    """Report shares of the work in the block as shares from `first` to `last` of what is around it.

    >>> with reporting(print), portion(0.5, 1):
    ...     report(0.5)
    0.75
    """
    listen: Callable[[float], None] | None = getattr(_limits, "listen", None)
    with reporting(listen and (lambda share: listen(first + (last - first) * share))):
        yield


def available() -> int:
    """Count the threads to use: the environment's word, or the cores this process may use."""
    most: int | None = getattr(_limits, "most", None)
    word = os.environ.get(ENVIRONMENT, "")
    if word and (not word.isdecimal() or int(word) < 1):
        message = f"{ENVIRONMENT} must be a whole number of threads; got {word!r}. Unset it."
        raise ValueError(message)
    known = int(word) if word else cores()
    return known if most is None else min(most, known)


def cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ranges(size: int, weight: int, grain: int = 1, *, fine: bool = False) -> list[tuple[int, int]]:
    """Cut ``range(size)`` into pieces, one or a few for each thread, at multiples of `grain`.

    `weight` is the number of pixels in all: small work stays in one piece. Pieces even out what
    they take, but threads take turns in beginning them. With `fine`, all pieces are small: for work
    that takes long for each pixel, and is to end soon after it was called off.
    """
    pieces = min(weight // WEIGHT, size // grain)
    if pieces > 1 and not fine:
        threads, pieces = available(), min(pieces, max(SMALL, weight // (2 * WEIGHT)))
        pieces = 1 if threads == 1 else min(max(min(4 * threads, FEW), threads), pieces)
    if pieces <= 1:
        return [(0, size)] if size else []
    ends = [size * piece // pieces // grain * grain for piece in range(pieces)] + [size]
    return [(a, b) for a, b in pairwise(ends) if a < b]


def each(kernel: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a kernel with each tuple of arguments, in threads where there are several.

    The calling thread works too, and waits for no helper that has not begun.
    """
    helpers = min(available(), len(tasks)) - 1 if len(tasks) > 1 else 0
    wanted, listen = watch(), getattr(_limits, "listen", None)
    if helpers < 1 and wanted is None and listen is None:
        return [kernel(*task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    queue = iter(range(len(tasks)))

    def work() -> None:
        for place in queue:
            if wanted is not None:
                wanted()
            results[place] = kernel(*tasks[place])
            report((place + 1) / len(tasks))  # heard of the calling thread alone

    def help_() -> None:
        with interruptible(wanted):
            work()

    started: list[Helper] = []
    try:
        for _ in range(helpers):
            started.append(_submit(help_, helpers))
        work()
    finally:
        for _ in queue:  # where the work has failed, no more of it begins
            pass
        for helper in started:
            if not helper.call_off():
                helper.wait()
    return results


def together(
    direct: Callable[[], bool],
    help_: Callable[[], None],
    leave: Callable[[], None],
    helpers: int,
) -> None:
    """Call `direct`, which returns whether all is done, and `help_` in each of so many helpers.

    Helpers that have begun are waited for unless all is done: they then look at no array any more.
    `help_` raises nothing; `leave` makes helpers return, and is called once, however it ends.
    """
    started: list[Helper] = []
    done = False
    try:
        for _ in range(helpers):
            started.append(_submit(help_, helpers))
        done = direct()
    finally:
        leave()
        for helper in started:
            if not helper.call_off() and not done:
                helper.wait()


class Helper:
    """A function that a thread of a pool calls, unless it is called off before that begins.

    Threads share lists and queues that a signal cannot interrupt halfway: Ctrl-C can leave a lock
    of `concurrent.futures` taken for good, and then the program never ends.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self._function: Callable[[], None] | None = function
        self._open = [self]  # who pops it may call the function, or has called it off
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._error: BaseException | None = None

    def call(self) -> None:
        """Call the function; from a thread of the pool."""
        function = self._take()
        if function is None:
            return
        try:
            function()
        except BaseException as error:
            self._error = error
        del function
        self._ended.put(None)

    def call_off(self) -> bool:
        """Return whether the function has not begun, and now never will."""
        return self._take() is not None

    def wait(self) -> None:
        """Wait once for the end of the function, and raise what it raised."""
        self._ended.get()
        if self._error is not None:
            raise self._error

    def _take(self) -> Callable[[], None] | None:
        """Return the function, once: arrays that it holds are not kept any longer."""
        try:
            self._open.pop()
        except IndexError:
            return None
        function, self._function = self._function, None
        return function


_pools: dict[int, SimpleQueue[Helper]] = {}


def _submit(function: Callable[[], None], helpers: int) -> Helper:
    """Let a thread of a pool of so many call a function."""
    pool = _pools.get(helpers)
    if pool is None:
        made: SimpleQueue[Helper] = SimpleQueue()
        pool = _pools.setdefault(helpers, made)
        if pool is made:
            for number in range(helpers):
                name = f"equilabel_{number}"
                Thread(target=_serve, args=(pool,), name=name, daemon=True).start()
    helper = Helper(function)
    pool.put(helper)
    return helper


def _serve(pool: SimpleQueue[Helper]) -> None:
    """Call what comes, for as long as the program runs."""
    while True:
        pool.get().call()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork
