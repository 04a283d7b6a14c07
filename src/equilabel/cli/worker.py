"""A worker process: start it, send it jobs, receive records, and explain how it ended."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import warnings
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from equilabel.devices import compiling
from equilabel.storage.memory import keep_freed

from . import signals
from .errors import MEMORY
from .names import printable
from .one import Job, label_one
from .records import Record
from .trial import check

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from .options import Options
    from .records import Provenance

THREADS = "EQUILABEL_NUM_THREADS"
TIME = "time limit"  # a possible end of an attempt
START = 900.0  # seconds a process may take to start, with compilation
NO_MEMORY, BROKEN = 70, 71  # exit codes


class News(str):
    """A message about what a worker is doing; "" if it is nothing of interest."""

    __slots__ = ()


class Worker:
    """A process, the pipe to it, and its current job.

    `job` is the current job, None if it is idle; `following` is the next one, already sent; `ready`
    tells whether the process has tried the options. Raises OSError if it cannot be started.
    """

    def __init__(self, options: Options, provenance: Provenance, threads: int) -> None:
        context = get_context("spawn")  # a forked child would inherit locks of threads
        self.job: Job | None = None
        self.following: Job | None = None
        self.ready = False
        self.since, self.late = monotonic(), 0.0
        self.fingerprint = provenance.fingerprint
        _start_tracker()  # first, because it unblocks signals
        self.connection: Any  # of another type on Windows
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, options, provenance, threads), daemon=True
        )
        try:
            with signals.withheld():
                self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def give(self, job: Job) -> None:
        """Send a job; if the process has one, it starts the new one afterwards."""
        if self.job is None:
            self.job, self.since = job, monotonic()
        else:
            self.following = job
        with suppress(OSError):  # it has died: `answer` reports this
            self.connection.send(job)

    def watch(self, limit: float | None) -> None:
        """Kill the process if it works on an image for too long, or does not start."""
        most = limit if self.job is not None else START
        if most is not None and monotonic() - self.since > most:
            self.late = most
            self.process.kill()

    def answer(self) -> Record | str | None:
        """Receive a record, news, or an error about the options; None if the process died.

        After a record or a death, `job` is the following job.
        """
        try:
            answer: Record | str | None = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            answer = None
        if not isinstance(answer, str):
            self.job, self.following, self.since = self.following, None, monotonic()
        return answer

    def alive(self) -> bool:
        """Return whether it can get another job."""
        return not self.late and self.process.is_alive()

    def failure(self, job: Job) -> Record:
        """Return the record of an image whose process died."""
        shutil.rmtree(job.place, ignore_errors=True)
        how = self.cause()
        names = printable(job.path), printable(job.name)
        return Record(
            *names,
            "failed",
            error=explain_end(how, self.late),
            fingerprint=self.fingerprint,
            attempts=(*job.attempts, how),
        )

    def cause(self) -> str:
        """Return in a few words how the process ended."""
        code = self.process.exitcode
        if self.late:
            return TIME
        if code == NO_MEMORY:
            return MEMORY
        if code is None or code >= 0:
            return f"exit code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:  # real-time signals have no names
            return f"signal {-code}"

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self.connection.close()
        self.process.kill()
        self.process.join()


def explain_end(how: str, limit: float = 0) -> str:
    """Return the error message of an image from how its process ended."""
    if how == TIME:
        return (
            f"image must be finished within --time-limit; got {limit:g} s without. "
            "Pass a longer one, or leave it out."
        )
    if how in (MEMORY, "SIGKILL"):
        what = "SIGKILL in its process, as when memory runs out" if how == "SIGKILL" else how
        remedy = "Pass fewer --jobs, or use a machine with more."
        return f"image must fit in memory; got {what}. {remedy}"
    return (
        f"image must be read without a crash; got {how} in its process. The file may be damaged, "
        "or memory short: copy or export it again, and try it alone."
    )


def serve(connection: Connection, options: Options, provenance: Provenance, threads: int) -> None:
    """Receive jobs and send records, until the pipe is closed."""
    signals.ignore()
    keep_freed()
    Thread(target=_follow, daemon=True).start()
    os.environ.setdefault(THREADS, str(threads))
    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # real problems raise errors
    turn = Lock()

    def send(answer: object) -> None:
        with turn:
            connection.send(answer)

    def tell(number: int, busy: bool) -> None:
        send(News(compiling.describe(number) if busy else ""))

    try:
        with compiling.listening(tell):
            send(check(options))
            while True:
                send(label_one(connection.recv(), options, provenance))
    except (EOFError, BrokenPipeError, ConnectionError):
        return  # the parent has no more jobs
    except MemoryError:
        os._exit(NO_MEMORY)
    except Exception:
        os._exit(BROKEN)


def _start_tracker() -> None:
    """Start the process that removes semaphores of killed processes, without messages.

    Some codecs create a semaphore in each process. Windows has no such process.
    """
    if os.name == "nt":
        return
    before = sys.warnoptions[:]
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # passed to the process
    try:
        with warnings.catch_warnings(action="ignore"):  # if it has died
            resource_tracker.ensure_running()
    finally:
        sys.warnoptions[:] = before


def _follow() -> None:
    """Exit when the parent process has died, even while labeling an image."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(BROKEN)
