"""News of functions that are being compiled, for those who would wait without knowing why.

What a process uses first is compiled, unless an earlier process has kept it; that takes seconds.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock, local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Listener = Callable[[int, bool], None]

_listeners: list[list[Listener]] = []  # one in each: equal ones are told apart
_lock = Lock()
_mine = local()  # how many functions this thread is compiling: one compiles those that it calls
_count = 0  # functions that this process has compiled, or begun to compile


@contextmanager
def listening(tell: Listener) -> Iterator[None]:
    """Call a function whenever a kernel is being compiled, in any thread, and when it is compiled.

    Nothing is said of what was compiled by an earlier process, or before.

    Parameters
    ----------
    tell : callable
        Called in the thread that compiles, with the number of kernels compiled since the block
        began, this one included, and with whether this one is still being compiled.

    Examples
    --------
    >>> said = []
    >>> with listening(lambda number, busy: said.append((number, busy))):
    ...     _ = begin()
    ...     end()
    >>> said
    [(1, True), (1, False)]
    """
    before = _count

    def tell_since(number: int, busy: bool) -> None:
        tell(number - before, busy)

    entry: list[Listener] = [tell_since]
    _listeners.append(entry)
    try:
        yield
    finally:
        _listeners[:] = [each for each in _listeners if each is not entry]


def begin() -> bool:
    """Note that the calling thread begins to compile a function.

    Returns
    -------
    bool
        Whether it is one that Python called, not one that such a function calls.
    """
    global _count
    depth = getattr(_mine, "depth", 0)
    _mine.depth = depth + 1
    if depth:
        return False
    with _lock:
        _count += 1
        number = _count
    _tell(number, busy=True)
    return True


def end() -> None:
    """Note that the calling thread is done with what it began to compile last."""
    _mine.depth -= 1
    if not _mine.depth:
        _tell(_count, busy=False)


def describe(number: int) -> str:
    """Say what is being waited for.

    Examples
    --------
    >>> describe(1), describe(12)
    ('compiling, first time only: 1 function', 'compiling, first time only: 12 functions')
    """
    return f"compiling, first time only: {number} function{'s' * (number != 1)}"


def _tell(number: int, *, busy: bool) -> None:
    for (listener,) in list(_listeners):
        listener(number, busy)
