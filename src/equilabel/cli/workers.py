"""Processes that label images side by side.

Not threads: a codec that crashes, or the kernel's out-of-memory killer, then takes one image
with it and not the night's run. Not a pool of `concurrent.futures` either: when one of its
processes dies it is broken as a whole and does not say which image did it. Each worker here has
a pipe of its own, so the image is known; another worker takes its place. Workers write only to
places of their own, never to final names, and so can be ended at any moment.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import wait
from threading import current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING

from .inputs import printable
from .one import Job, check, label_one
from .options import RefusedError
from .records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection

    from .options import Options

POLL = 0.2  # seconds between looks at `stop`
THREADS = "EQUILABEL_NUM_THREADS"


def label_all(
    jobs: Sequence[Job],
    options: Options,
    fingerprint: str,
    *,
    count: int,
    limit: float | None,
    stop: Callable[[], bool],
) -> Generator[tuple[Job, Record]]:
    """Label images in `count` processes, yielding each as it is finished.

    Parameters
    ----------
    jobs : sequence of Job
        In the order to begin them.
    options, fingerprint
        As for `label_one`.
    count : int
        Processes at once. Each gets its share of the cores.
    limit : float, optional
        Seconds after which an image is given up.
    stop : callable
        Asked several times a second; once true, work under way is dropped.

    Raises
    ------
    RefusedError
        If the options cannot be used for any image, or no worker can be started.
    """
    waiting = deque(jobs)
    share = max(1, _cores() // count)
    workers = [_Worker(options, fingerprint, share) for _ in range(min(count, len(jobs)))]
    everyone = list(workers)
    try:
        while workers and not stop():
            ready = wait([worker.connection for worker in workers], POLL)
            for worker in workers:
                worker.watch(limit)
            for worker in [one for one in workers if one.connection in ready]:
                job, answer = worker.job, worker.answer()
                if job is None and answer:  # from trying the options
                    raise RefusedError(str(answer))
                if waiting and worker.process.exitcode is None and not worker.late:
                    worker.give(waiting.popleft())
                else:
                    worker.connection.close()
                    workers.remove(worker)
                    if waiting:
                        workers.append(_Worker(options, fingerprint, share))
                        everyone.append(workers[-1])
                if job is not None and isinstance(answer, Record):
                    yield job, answer
    finally:
        for worker in everyone:
            worker.end()


class _Worker:
    """A process, the pipe to it, and the job it is at; None while it starts."""

    def __init__(self, options: Options, fingerprint: str, threads: int) -> None:
        context = get_context("spawn")  # a forked child would inherit our threads' locks
        self.connection, theirs = context.Pipe()
        self.job: Job | None = None
        self.since, self.late = monotonic(), 0.0
        self.fingerprint = fingerprint
        self.process = context.Process(
            target=_serve, args=(theirs, options, fingerprint, threads), daemon=True
        )
        with _unheard(signal.SIGINT):  # Ctrl-C reaches every process of a terminal: ours decides
            self.process.start()
        theirs.close()

    def give(self, job: Job) -> None:
        """Start it on an image."""
        self.job, self.since = job, monotonic()
        with suppress(OSError):  # it died just now: the next answer says so
            self.connection.send(job)

    def watch(self, limit: float | None) -> None:
        """End the process if it has been at an image for longer than the limit."""
        if limit is not None and self.job is not None and monotonic() - self.since > limit:
            self.late = limit
            self.process.kill()

    def answer(self) -> Record | str:
        """Take what it sent; if it died instead, say so."""
        try:
            answer: Record | str = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            if self.job is None:
                return f"worker processes must start; got {self._end()}. Is the memory full?"
            shutil.rmtree(self.job.place, ignore_errors=True)
            message = (
                f"image must be read without a crash; got {self._end()} in its process. "
                "The file may be damaged, or memory short: try it alone."
            )
            if self.late:
                message = (
                    f"image must be finished within --time-limit; got {self.late:g} s without."
                )
            names = printable(self.job.path), printable(self.job.name)
            return Record(*names, "failed", error=message, fingerprint=self.fingerprint)
        return answer

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.connection.close()
        self.process.kill()
        self.process.join()

    def _end(self) -> str:
        code = self.process.exitcode or 0
        if code >= 0:
            return f"exit code {code}"
        return signal.Signals(-code).name


def _serve(connection: Connection, options: Options, fingerprint: str, threads: int) -> None:
    """Answer jobs with records until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault(THREADS, str(threads))
    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # what matters is raised
    with suppress(EOFError, OSError):
        connection.send(check(options))
        while True:
            connection.send(label_one(connection.recv(), options, fingerprint))


@contextmanager
def _unheard(number: signal.Signals) -> Iterator[None]:
    """Start children that do not hear a signal."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
