"""Processes that label images, here or on a Dask cluster."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import sys
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import current_process, get_context, parent_process, resource_tracker
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from equilabel.storage import memory

from . import streams
from .inputs import printable
from .one import Job, label_one
from .options import Options, RefusedError, refuse, refuse_no_address
from .records import Provenance, Record, differences, provenance
from .streams import MEMORY, explain
from .trial import check

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from equilabel.chunked.engine import Cluster

    Found = Generator[tuple[Job, Record]]

THREADS = "EQUILABEL_NUM_THREADS"
TIME, NEVER = "time limit", "not started"  # possible ends of an attempt, as MEMORY
START = 900.0  # seconds a process may take to start, with compilation
STARTS, PAUSE = 3, 0.5  # failed attempts to start a process before giving up; seconds in between
POLL = 0.2  # seconds between checks of the time limit, and of the end of the run
IDLE = 60.0  # seconds after which a process without a job ends, on a cluster
NO_MEMORY, BROKEN = 70, 71  # exit codes


@dataclass(frozen=True)
class Run:
    """What all images of a run have in common."""

    options: Options
    provenance: Provenance
    folder: Path  # where the command was started: paths of images may be relative to it
    place: Path  # folder for unfinished files, of a random name that no other run has
    count: int  # most images at once
    limit: float | None = None  # seconds after which work on an image is stopped
    threads: int = 1  # of each process
    idle: float | None = None  # seconds after which a process without a job ends


# ---- A process


class GoneError(Exception):
    """The run has ended, or its folder is not visible from this machine."""


class Worker:
    """A process that labels images one by one, and the pipe to it."""

    def __init__(self, run: Run) -> None:
        context = get_context("spawn")  # a forked child would inherit locks of threads
        self.place, self.late = run.place, 0.0
        self.connection: Any  # of another type on Windows
        with _starting:
            _start_tracker()  # first, because it unblocks signals
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(theirs, run), daemon=True)
            try:
                with streams.withheld():
                    self.process.start()
            except BaseException:
                self.connection.close()
                raise
            finally:
                theirs.close()

    def answer(self, limit: float | None, ended: Callable[[], bool]) -> Any:
        """Wait for a record, or for what is wrong with the options; None if the process died.

        It is killed after `limit` seconds. Raises GoneError once `ended` returns True.
        """
        since = monotonic()
        while True:
            if ended():
                message = "the run must go on until its images are done; got its end."
                raise GoneError(message)
            try:
                if self.connection.poll(POLL):
                    return self.connection.recv()
            except (EOFError, OSError):
                self.process.join()
                return None
            if limit is not None and monotonic() - since > limit:
                self.late = limit
                self.process.kill()

    def alive(self) -> bool:
        """Return whether it can get another job."""
        return not self.late and self.process.is_alive()

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
        remedy = "Pass fewer --jobs, or use a machine with more."
        return f"image must fit in memory; got {how} in its process. {remedy}"
    return (
        f"image must be read without a crash; got {how} in its process. The file may be damaged, "
        "or memory short: copy or export it again, and try it alone."
    )


def serve(connection: Connection, run: Run) -> None:
    """Receive jobs and send records, until the pipe is closed or there was none for `run.idle`."""
    streams.ignore()
    os.chdir(run.folder)
    memory.keep_freed()
    Thread(target=_follow, daemon=True).start()
    os.environ.setdefault(THREADS, str(run.threads))
    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # real problems raise errors
    try:
        connection.send(check(run.options, compiling=True))
        while connection.poll(run.idle):
            connection.send(label_one(connection.recv(), run.options, run.provenance))
    except (EOFError, BrokenPipeError, ConnectionError):
        return  # the parent has no more jobs
    except MemoryError:
        os._exit(NO_MEMORY)
    except Exception:
        os._exit(BROKEN)


def _start_tracker() -> None:
    """Start the process that removes semaphores of killed processes, without its messages."""
    if os.name == "nt":
        return
    quiet = "ignore:resource_tracker:UserWarning"  # passed to the process
    sys.warnoptions.extend({quiet}.difference(sys.warnoptions))
    with warnings.catch_warnings(action="ignore"):  # if it has died
        resource_tracker.ensure_running()


def _follow() -> None:
    """Exit when the parent process has died, even while labeling an image."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(BROKEN)


# ---- An image in a process, for a thread here or in a worker of Dask

_idle: list[Worker] = []  # processes that have tried the options
_starting = Lock()


def label_in_process(
    job: Job, run: Run, ended: Callable[[], bool], ready: Callable[[], None] = lambda: None
) -> tuple[Job, Record]:
    """Label an image in a process; return its job, with the folder of its results, and its record.

    Raises RefusedError if the options fit no image, and GoneError if `ended` returns True.
    """
    job = replace(job, place=run.place / f"{job.number}-{secrets.token_hex(4)}")
    kept, worker = False, _ready_worker(run, ended)
    if isinstance(worker, str):
        return job, job.failure(run.provenance.fingerprint, worker, NEVER)
    ready()
    try:
        with suppress(OSError):  # it has died: `answer` reports this
            worker.connection.send(job)
        record = worker.answer(run.limit, ended)
        kept = worker.alive()
        if record is None:
            shutil.rmtree(job.place, ignore_errors=True)
            how = worker.cause()
            error = explain_end(how, worker.late)
            record = job.failure(run.provenance.fingerprint, error, how)
        return job, record
    finally:
        _idle.append(worker) if kept else worker.end()


def _ready_worker(run: Run, ended: Callable[[], bool]) -> Worker | str:
    """Return a process that has tried the options, or why none can be started."""
    while _idle:
        with suppress(IndexError):  # another thread has taken it
            worker = _idle.pop()
            if worker.place == run.place and worker.alive():
                return worker
            worker.end()
    why = ""
    for number in range(STARTS):
        sleep(PAUSE if number else 0)
        try:
            worker = Worker(run)
        except OSError as error:
            why = explain(error)
            continue
        complaint = None
        try:
            complaint = worker.answer(START, ended)
        finally:
            if complaint != "":
                worker.end()
        if complaint == "":
            return worker
        if complaint is not None:
            refuse(complaint)
        how = f"no answer in {worker.late:g} s" if worker.late else worker.cause()
        why = f"{how} of a process that was starting. Is the memory full?"
    return f"worker processes must start; got {STARTS} failures, the last: {why}"


def _tried_twice(
    jobs: Iterable[Job], attempt: Callable[[Iterable[Job], int], Found], count: int
) -> Found:
    """Yield each record; images whose process ended are tried again, unless they were alone."""
    again, lasting = [], (NEVER, TIME, MEMORY) if count == 1 else (NEVER,)
    for job, record in attempt(jobs, count):
        broke_off = record.status == "failed" and len(record.attempts) > len(job.attempts)
        if broke_off and record.attempts[-1] not in lasting:
            again.append(replace(job, attempts=record.attempts))
        else:
            yield job, record
    for job, record in attempt(again, 1):
        if record.status == "failed":
            said = f"It was tried twice; the first attempt ended with {job.attempts[0]}."
            record = replace(record, error=f"{record.error} {said}")
        yield job, record


# ---- The images of a run, in processes of this machine


def label_all(
    jobs: Sequence[Job], run: Run, *, stop: Callable[[], bool], begin: Callable[[], None]
) -> Found:
    """Label images in `run.count` processes, and yield each one when it is finished, until `stop`.

    `begin` is called when the options have passed their trial, and again later. Raises RefusedError
    if they fit no image, or no process can be started.
    """
    count, ready = min(run.count, len(jobs)), Event()
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    run = replace(run, threads=max(1, cores // count))

    def attempt(jobs: Iterable[Job], most: int) -> Found:
        _end_idle()
        waiting, running, ended = deque(jobs), set[Future[tuple[Job, Record]]](), Event()
        held = False  # whether to start no process until another image is finished
        with ThreadPoolExecutor(most) as pool:
            try:
                while (waiting or running) and not stop():
                    while waiting and len(running) <= most and not (held and running):
                        given = waiting.popleft(), run, ended.is_set, ready.set
                        running.add(pool.submit(label_in_process, *given))
                    done, running = wait(running, POLL, FIRST_COMPLETED)
                    if ready.is_set():
                        begin()
                    for job, record in (future.result() for future in done):
                        held = record.attempts[-1:] == (NEVER,)
                        if not held:
                            yield job, record
                        elif running or _idle:  # others do its work
                            waiting.appendleft(job)
                        elif not ready.is_set():
                            refuse(record.error)
                        else:
                            for each in (job, *waiting):
                                made = run.provenance.fingerprint
                                yield each, each.failure(made, record.error, NEVER)
                            waiting.clear()
            finally:
                ended.set()

    try:
        yield from _tried_twice(jobs, attempt, count)
    finally:
        _end_idle()


def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


# ---- The images of a run, on a Dask cluster: one task for each


def check_scheduler(address: str | None, *, jobs: int) -> None:
    """Raise RefusedError if an address is not that of a Dask scheduler, or cannot be used."""
    if address is None:
        return
    refuse_no_address(address)
    if jobs != 1:
        refuse(
            f"--jobs and --scheduler must not be combined; got both, --jobs {jobs}. Leave out "
            "--jobs: the threads of the cluster's workers say how many images are labeled at once."
        )
    if find_spec("distributed") is None:
        refuse(
            "--scheduler needs Dask; got none installed. Install it with "
            "`pip install equilabel[dask]`."
        )


def label_on_cluster(
    jobs: Sequence[Job],
    run: Run,
    address: str,
    *,
    stop: Callable[[], bool],
    begin: Callable[[], None],
) -> Found:
    """Label images on a cluster, and yield each image when it is finished; see `label_all`.

    Raises LostSchedulerError if the scheduler is lost: the images that were yielded are done.
    """
    from equilabel.chunked.engine import connected

    try:
        connection = connected(address)
        cluster = connection.__enter__()
    except (OSError, ValueError) as error:
        refuse(
            f"--scheduler must be the address of a Dask scheduler that runs; got {address!r}: "
            f"{explain(error)} Start it with `dask scheduler`, or correct the address."
        )

    def attempt(jobs: Iterable[Job], most: int) -> Found:
        tasks = ((job, run) for job in jobs)
        for (job, _), answer in cluster.outcomes(label_there, tasks, stop, most):
            if isinstance(answer, RefusedError):
                raise answer
            if isinstance(answer, BaseException):
                name = type(answer).__name__
                yield job, job.failure(run.provenance.fingerprint, explain(answer), name)
                continue
            begin()
            yield replace(job, place=answer[0]), answer[1]

    try:
        place, count = run.place.absolute(), cluster.threads()
        run = replace(run, place=place, count=count, idle=IDLE)
        refuse_cluster(cluster, run, address, jobs[0].path)
        yield from _tried_twice(jobs, attempt, 0)
    finally:
        connection.__exit__(None, None, None)


def refuse_cluster(cluster: Cluster, run: Run, address: str, image: Path) -> None:
    """Raise RefusedError if there are no Dask workers, or one cannot work on a run."""
    if not run.count:
        refuse(
            f"--scheduler must have workers; got none at {address!r}. Start some with "
            f"`dask worker {address}`."
        )
    for worker, answer in cluster.everywhere(examine, run, image).items():
        if isinstance(answer, BaseException):
            answer = f"have equilabel installed, as this machine; got {explain(answer)} Install it"
        if answer:
            refuse(printable(f"workers of --scheduler must {answer} (on {worker})."))


def examine(run: Run, image: Path) -> str:
    """Return why a Dask worker cannot work on a run, checked with one image; "" if it can."""
    if os.name == "nt":
        return "run on Linux or macOS; got Windows. Start them there"
    other = differences(provenance(run.options), run.provenance)
    if other:
        return f"have the versions of this machine; got {'; '.join(other)}. Install the same"
    for path in (run.place, run.folder / image):
        if not path.exists():
            return (
                f"see images and --out under the same paths as this machine; got no {str(path)!r}. "
                "Use a folder that all machines share"
            )
    return ""


def label_there(job: Job, run: Run) -> tuple[Path, Record]:
    """Label an image in a worker of Dask; return the folder of its results, and its record."""
    vars(current_process())["_config"]["daemon"] = False  # daemons may have no processes
    if run.options.memory_limit is None:
        limit = memory.free() * 9 // 10 // run.count
        run = replace(run, options=replace(run.options, memory_limit=limit))
    job, record = label_in_process(job, run, lambda: not run.place.is_dir())
    return job.place, record
