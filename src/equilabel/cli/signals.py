"""Ctrl-C and other signals that end the program, before and during a run."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Ctrl-C; sent by `kill`, job schedulers and shutdowns; sent when the terminal is closed.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


class Interrupted(BaseException):
    """A signal (`number`) ended the program before work began; `except Exception` ignores it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raising() -> Iterator[None]:
    """Make signals raise Interrupted: nothing has been written yet."""

    def leave(number: int, _: object) -> None:
        raise Interrupted(number)

    with _handling(leave):
        yield


@contextmanager
def collecting() -> Iterator[list[int]]:
    """Make signals append their numbers to a list, without interrupting the work."""
    heard: list[int] = []
    with _handling(lambda number, _: heard.append(number)):
        yield heard


@contextmanager
def withheld() -> Iterator[None]:
    """Block signals while a process is started, so that it never gets them.

    Ctrl-C reaches every process of a terminal, and the signal of a job scheduler every process of a
    job. Only the parent decides what happens to the work.
    """
    if sys.platform == "win32":
        yield
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore() -> None:
    """Ignore the signals in this process; call it in the main thread. See `withheld`."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextmanager
def _handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
    if current_thread() is not main_thread():
        yield
        return
    before = {}
    try:
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier or signal.SIG_DFL)
