"""A pool of processes that label images in parallel.

Not threads: a codec that crashes, or the kernel's out-of-memory killer, then takes one image
with it and not the night's run. Not a pool of `concurrent.futures` either: when one of its
processes dies it is broken as a whole and does not say which image did it. Each worker here has
a pipe of its own, so the image is known; another worker takes its place, and the image is tried
again at the end, alone. Workers write only to places of their own, never to final names, and so
can be ended at any moment.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from multiprocessing.connection import wait
from time import sleep
from typing import TYPE_CHECKING

from .errors import MEMORY, explain
from .names import printable
from .one import Job
from .options import RefusedError
from .records import Record
from .worker import TIME, News, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from .options import Options
    from .provenance import Provenance

POLL = 0.2  # seconds between looks at `stop`
STARTS = 3  # attempts to start a process before none is believed to start
PAUSE = 0.5  # seconds before the next of these attempts
QUICK = 0.2  # seconds for an image below which a worker would wait for this process
AGAIN = "-again"  # ending of the place of a second attempt


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
    """Label images in `count` processes, yielding each as it is finished.

    Parameters
    ----------
    jobs : sequence of Job
        In the order to begin them.
    options, provenance
        As for `label_one`.
    count : int
        Processes at once. Each gets its share of the cores.
    limit : float, optional
        Seconds after which an image is given up.
    stop : callable
        Asked several times a second; once true, work under way is dropped.
    begin : callable
        Called once, when the options have passed their trial and the first image is begun.
    tell : callable
        Called with what a worker does that makes it slow, and with "" when it does it no more.

    Raises
    ------
    RefusedError
        If the options cannot be used for any image, or no worker can be started.
    """
    pool = _Pool(jobs, options, provenance, count, limit, begin, tell)
    try:
        while pool.pending() and not stop():
            pool.start_workers()
            yield from pool.receive()
    finally:
        pool.close()


class _Pool:
    """Workers, the jobs that wait for them, and the jobs to be tried again."""

    def __init__(
        self,
        jobs: Sequence[Job],
        options: Options,
        provenance: Provenance,
        count: int,
        limit: float | None,
        begin: Callable[[], None],
        tell: Callable[[str], None],
    ) -> None:
        self.waiting, self.again = deque(jobs), deque[Job]()
        self.options, self.provenance, self.limit = options, provenance, limit
        self.begin, self.tell = begin, tell
        self.most = min(count, len(jobs))
        self.workers: list[Worker] = []
        self.approved = False  # whether the options have been tried
        self.held = False  # whether to start none until another image is finished
        self.failures: list[str] = []  # why the last starts failed, one after the other

    def pending(self) -> bool:
        """Return whether any job is left."""
        return bool(self.waiting or self.again or any(one.job for one in self.workers))

    def start_workers(self) -> None:
        """Start workers for the jobs that wait; a single one for those tried again."""
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
        """Count a worker that did not start; others go on without it."""
        self.held = True
        if self.workers:
            return
        self.failures.append(why)
        if len(self.failures) < STARTS:
            sleep(PAUSE)
        elif not self.approved:
            raise RefusedError(self.failure_message())

    def failure_message(self) -> str:
        """Return the error message if no worker can be started."""
        return f"worker processes must start; got {STARTS} failures, the last: {self.failures[-1]}"

    def receive(self) -> Generator[tuple[Job, Record]]:
        """Receive the answers of workers, and send them more jobs."""
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
            if worker.alive():
                self.give_more(worker, record)
            else:
                self.take_back(worker)
            if worker.job is None:
                self.remove(worker)
            self.held = False
            yield from self.finish(job, record)

    def give_more(self, worker: Worker, record: Record) -> None:
        """Send a worker its next job; and the one after it, if it is as quick as the last."""
        if worker.job is None and self.waiting:
            worker.give(self.waiting.popleft())
        enough = len(self.waiting) > len(self.workers)  # none stays idle for it at the end
        if record.seconds < QUICK and enough and worker.following is None:
            worker.give(self.waiting.popleft())

    def take_back(self, worker: Worker) -> None:
        """Let another worker have the job that one which died has not begun."""
        if worker.job is not None:
            self.waiting.appendleft(worker.job)
            worker.job = None

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
        """Yield the record of an image, unless it is to be tried again."""
        if is_to_be_repeated(job, record, alone=self.most == 1):
            place = job.place.with_name(job.place.name + AGAIN)
            self.again.append(replace(job, place=place, attempts=record.attempts))
            return
        yield job, tried_twice(job, record)

    def give_up(self) -> Generator[tuple[Job, Record]]:
        """Yield a failure for each job that is left, as no worker can be started."""
        left = [*self.waiting, *self.again]
        self.waiting.clear()
        self.again.clear()
        for job in left:
            record = Record(
                printable(job.path),
                printable(job.name),
                "failed",
                error=self.failure_message(),
                fingerprint=self.provenance.fingerprint,
                attempts=(*job.attempts, "not started"),
            )
            yield job, record

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
    """Return whether an image is tried again: its first attempt did not come to its end.

    Not where it had the machine to itself (`alone`), and took too long or too much memory.
    """
    broke_off = record.status == "failed" and len(record.attempts) > len(job.attempts)
    was_alone = alone and record.attempts[-1:] in ((TIME,), (MEMORY,))
    return broke_off and not (job.attempts or was_alone)


def tried_twice(job: Job, record: Record) -> Record:
    """Return the record of an image; if its second attempt failed, the error tells of the first."""
    if record.status != "failed" or not job.attempts:
        return record
    first = job.attempts[0]
    error = f"{record.error} It was tried twice; the first attempt ended with {first}."
    return replace(record, error=error)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
