"""A pool of processes that label images in parallel.

Processes, not threads: a codec that crashes, or the out-of-memory killer, then costs one image and
not the whole run. Not `concurrent.futures`: if one of its processes dies, the whole pool is broken,
and the image is unknown. Here each worker has its own pipe, so the image is known; another worker
replaces it, and the image is tried again at the end, alone. Workers write only to their own
folders, so they can be killed at any time.
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
    from .records import Provenance

POLL = 0.2  # seconds between calls of `stop`
STARTS = 3  # failed attempts to start a process before giving up
PAUSE = 0.5  # seconds between these attempts
QUICK = 0.2  # seconds; a worker with faster images gets its next job in advance
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

    `jobs` are started in their order, and each process gets its share of the cores. `limit` is in
    seconds for each image. `stop` is called several times a second; once it returns True, current
    work is dropped. `begin` is called once, when the options have passed their trial and the first
    image starts. `tell` is called with a message if a worker is slow (when it compiles), and with
    "" at the end of that. Raises RefusedError if the options fit no image, or no worker can be
    started.
    """
    pool = _Pool(jobs, options, provenance, count, limit, begin, tell)
    try:
        while pool.pending() and not stop():
            pool.start_workers()
            yield from pool.receive()
    finally:
        pool.close()


class _Pool:
    """Workers, waiting jobs, and jobs to be tried again."""

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
        self.held = False  # whether to start no worker until another image is finished
        self.failures: list[str] = []  # reasons of consecutive failed starts

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
            if worker.alive():
                self.give_more(worker, record)
            else:
                self.take_back(worker)
            if worker.job is None:
                self.remove(worker)
            self.held = False
            yield from self.finish(job, record)

    def give_more(self, worker: Worker, record: Record) -> None:
        """Send a worker its next job, and one more if images are quick."""
        if worker.job is None and self.waiting:
            worker.give(self.waiting.popleft())
        enough = len(self.waiting) > len(self.workers)  # no worker becomes idle because of it
        if record.seconds < QUICK and enough and worker.following is None:
            worker.give(self.waiting.popleft())

    def take_back(self, worker: Worker) -> None:
        """Return the job that a dead worker has not begun to the queue."""
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
