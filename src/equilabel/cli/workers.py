"""Processes that label images: the pool, what each runs, and results on their way to the disk."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import warnings
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from equilabel.devices import compiling
from equilabel.storage.memory import keep_freed

from . import streams
from .one import Job, label_one
from .options import RefusedError
from .records import Record
from .streams import MEMORY, explain
from .trial import check

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

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

    `job` is the current job, None if it is idle; `ready` tells whether the process has tried the
    options. The other arguments are those of `serve`. Raises OSError if it cannot be started.
    """

    def __init__(self, options: Options, provenance: Provenance, *how: Any) -> None:
        context = get_context("spawn")  # a forked child would inherit locks of threads
        self.job: Job | None = None
        self.ready = False
        self.since, self.late = monotonic(), 0.0
        self.fingerprint = provenance.fingerprint
        _start_tracker()  # first, because it unblocks signals
        self.connection: Any  # of another type on Windows
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, options, provenance, *how), daemon=True
        )
        try:
            with streams.withheld():
                self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def give(self, job: Job) -> None:
        """Send a job."""
        self.job, self.since = job, monotonic()
        with suppress(OSError):  # it has died: `answer` reports this
            self.connection.send(job)

    def watch(self, limit: float | None) -> None:
        """Kill the process if it works on an image for too long, or does not start."""
        most = limit if self.job is not None else START
        if most is not None and monotonic() - self.since > most:
            self.late = most
            self.process.kill()

    def answer(self) -> Record | str | None:
        """Receive a record, news, or an error about the options; None if the process died."""
        try:
            answer: Record | str | None = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            answer = None
        if not isinstance(answer, str):
            self.job, self.since = None, monotonic()
        return answer

    def alive(self) -> bool:
        """Return whether it can get another job."""
        return not self.late and self.process.is_alive()

    def failure(self, job: Job) -> Record:
        """Return the record of an image whose process died."""
        shutil.rmtree(job.place, ignore_errors=True)
        how = self.cause()
        return job.failure(self.fingerprint, explain_end(how, self.late), how)

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


def serve(
    connection: Connection,
    options: Options,
    provenance: Provenance,
    threads: int,
    folder: Path | None = None,
    idle: float | None = None,
) -> None:
    """Receive jobs and send records, until the pipe is closed or there was none for `idle` seconds.

    `folder` is that to which the paths of jobs are relative, by default the current one.
    """
    streams.ignore()
    if folder is not None:
        os.chdir(folder)
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
            while connection.poll(idle):
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


POLL = 0.2  # seconds between calls of `stop`
STARTS = 3  # failed attempts to start a process before giving up
PAUSE = 0.5  # seconds between these attempts
AGAIN = "-again"  # ending of the folder of a second attempt


def label_all(
    jobs: Sequence[Job],
    options: Options,
    provenance: Provenance,
    *,
    count: int,
    limit: float | None,
    stop: Callable[[], bool],
    begin: Callable[[], None],
    tell: Callable[[str], None],
) -> Generator[tuple[Job, Record]]:
    """Label images in `count` processes, and yield each one when it is finished.

    `limit` is in seconds for each image. Once `stop` returns True, current work is dropped. `begin`
    is called once, when the options have passed their trial. `tell` is called with what takes long
    (functions are compiled), and with "" at the end of that. Raises RefusedError if the options fit
    no image, or no process can be started.
    """
    pool = _Pool(deque(jobs), options, provenance, limit, begin, tell, min(count, len(jobs)))
    try:
        while pool.pending() and not stop():
            pool.start_workers()
            yield from pool.receive()
    finally:
        pool.close()


@dataclass
class _Pool:
    """Workers, waiting jobs, and jobs to be tried again."""

    waiting: deque[Job]
    options: Options
    provenance: Provenance
    limit: float | None
    begin: Callable[[], None]
    tell: Callable[[str], None]
    most: int  # workers
    again: deque[Job] = field(default_factory=deque)
    workers: list[Worker] = field(default_factory=list)
    approved: bool = False  # whether the options have been tried
    held: bool = False  # whether to start no worker until another image is finished
    failures: list[str] = field(default_factory=list)  # reasons of consecutive failed starts

    def pending(self) -> bool:
        """Return whether any job is left."""
        return bool(self.waiting or self.again or any(one.job for one in self.workers))

    def start_workers(self) -> None:
        """Start workers for the waiting jobs; a single one for jobs that are tried again."""
        if not self.waiting and not self.workers and self.again:
            self.waiting.append(self.again.popleft())
            self.most = 1
        while len(self.workers) < self.most and not (self.held and self.workers):
            if sum(not one.ready for one in self.workers) >= len(self.waiting):
                break
            try:
                share = max(1, _cores() // self.most)
                self.workers.append(Worker(self.options, self.provenance, share))
            except OSError as error:
                self.count_failure(explain(error))
                break

    def count_failure(self, why: str) -> None:
        """Count a worker that did not start; the others go on."""
        self.held = True
        if self.workers:
            return
        self.failures.append(why)
        if len(self.failures) < STARTS:
            sleep(PAUSE)
        elif not self.approved:
            raise RefusedError(self.failure_message())

    def failure_message(self) -> str:
        """Return the error message for when no worker can be started."""
        return f"worker processes must start; got {STARTS} failures, the last: {self.failures[-1]}"

    def receive(self) -> Generator[tuple[Job, Record]]:
        """Receive answers of workers, and send them more jobs."""
        if len(self.failures) >= STARTS:
            yield from self.give_up()
        connections = [one.connection for one in self.workers]
        ready = wait(connections, POLL) if connections else []
        for worker in self.workers:
            worker.watch(self.limit)
        for worker in [one for one in self.workers if one.connection in ready]:
            job, answer = worker.job, worker.answer()
            if isinstance(answer, News):
                self.tell(answer)
                continue
            if job is None:
                self.start(worker, answer)
                continue
            record = answer if isinstance(answer, Record) else worker.failure(job)
            if worker.alive() and self.waiting:
                worker.give(self.waiting.popleft())
            else:
                self.remove(worker)
            self.held = False
            yield from self.finish(job, record)

    def start(self, worker: Worker, answer: Record | str | None) -> None:
        """Send a new worker its first job, unless it cannot work."""
        if answer == "" and self.waiting:
            if not self.approved:
                self.begin()
            worker.ready = self.approved = True
            self.failures.clear()
            worker.give(self.waiting.popleft())
            return
        self.remove(worker)
        if answer is None:
            how = f"no answer in {worker.late:g} s" if worker.late else worker.cause()
            self.count_failure(f"{how} of a process that was starting. Is the memory full?")
        elif answer and not self.approved:
            raise RefusedError(str(answer))
        elif answer:
            self.count_failure(str(answer))

    def finish(self, job: Job, record: Record) -> Generator[tuple[Job, Record]]:
        """Yield the record of an image, unless it will be tried again."""
        if is_to_be_repeated(job, record, alone=self.most == 1):
            place = job.place.with_name(job.place.name + AGAIN)
            self.again.append(replace(job, place=place, attempts=record.attempts))
            return
        yield job, tried_twice(job, record)

    def give_up(self) -> Generator[tuple[Job, Record]]:
        """Yield a failure for each remaining job, because no worker can be started."""
        left = [*self.waiting, *self.again]
        self.waiting.clear()
        self.again.clear()
        for job in left:
            made_with = self.provenance.fingerprint
            yield job, job.failure(made_with, self.failure_message(), "not started")

    def remove(self, worker: Worker) -> None:
        """Kill a worker and forget it."""
        self.workers.remove(worker)
        worker.end()

    def close(self) -> None:
        """Kill all workers, whatever they are doing."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.end()


def is_to_be_repeated(job: Job, record: Record, *, alone: bool) -> bool:
    """Return whether an image is tried again: its first attempt did not finish.

    An image that was `alone` on the machine and took too long or too much memory is not.
    """
    broke_off = record.status == "failed" and len(record.attempts) > len(job.attempts)
    was_alone = alone and record.attempts[-1:] in ((TIME,), (MEMORY,))
    return broke_off and not (job.attempts or was_alone)


def tried_twice(job: Job, record: Record) -> Record:
    """Return the record of an image; if its second attempt failed, the error mentions the first."""
    if record.status != "failed" or not job.attempts:
        return record
    first = job.attempts[0]
    error = f"{record.error} It was tried twice; the first attempt ended with {first}."
    return replace(record, error=error)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def settling(
    keep: Callable[[Job, Record], Record], show: Callable[[Record], None], threads: int
) -> Iterator[Callable[[Job, Record], None]]:
    """Yield a function that keeps the results of an image in one of `threads` threads.

    `keep` is called in a thread with a job and its record, and returns the final record; `show` is
    then called with it, in one thread at a time. The function waits while all threads are busy, and
    raises what was raised in them; with one thread, images are kept in the order of calls. All are
    kept when the with block ends. If the program is killed, the next run finds the results (see
    `find_finished`).
    """
    turn, under_way = Lock(), deque[Future[None]]()

    def settle(job: Job, record: Record) -> None:
        record = keep(job, record)
        with turn:
            show(record)

    def add(job: Job, record: Record) -> None:
        while len(under_way) >= threads or (under_way and under_way[0].done()):
            under_way.popleft().result()
        under_way.append(pool.submit(settle, job, record))

    with ThreadPoolExecutor(threads, "settling") as pool:
        yield add
    for each in under_way:
        each.result()
