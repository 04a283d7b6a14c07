"""`equilabel batch --scheduler`: images on a Dask cluster, one task for each image."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import current_process
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING

from equilabel.storage import memory

from .inputs import printable
from .options import RefusedError, refuse, refuse_no_address
from .records import Provenance, Record, differences, provenance
from .streams import explain
from .workers import News, Worker, is_to_be_repeated, tried_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from equilabel.chunked.engine import Cluster

    from .one import Job
    from .options import Options
    from .records import Provenance

POLL = 0.2  # seconds between checks of the time limit and of the end of the run
IDLE = 60.0  # seconds after which a process without a job ends


class GoneError(Exception):
    """The run has ended, or its folder is not visible from this machine."""


@dataclass(frozen=True)
class Assignment:
    """Common settings of all images of a run."""

    options: Options
    provenance: Provenance
    folder: Path  # where the command was started: paths of images may be relative to it
    place: Path  # folder for unfinished files, of a random name that no other run has
    threads: int  # of all Dask workers: most images at once on a machine
    limit: float | None = None  # seconds after which work on an image is stopped

    def seen(self) -> bool:
        """Return whether the run goes on, and its folder is visible from this machine."""
        return self.place.is_dir()


# ------------------------------------------------------------------- in a worker of Dask

_mine = local()  # the idle process `worker` of this thread, and `place`, that of its run


def examine(assignment: Assignment, image: Path) -> str:
    """Return why a Dask worker cannot work on a run, checked with one image; "" if it can."""
    if os.name == "nt":
        return "run on Linux or macOS; got Windows. Start them there"
    other = differences(provenance(assignment.options), assignment.provenance)
    if other:
        return f"have the versions of this machine; got {'; '.join(other)}. Install the same"
    found = {
        assignment.place: assignment.seen(),
        assignment.folder / image: (assignment.folder / image).exists(),
    }
    for path, there in found.items():
        if not there:
            return (
                f"see images and --out under the same paths as this machine; got no {str(path)!r}. "
                "Use a folder that all machines share"
            )
    return ""


def label_there(job: Job, assignment: Assignment) -> tuple[Path, Record | str]:
    """Label an image in a child process; return the folder of its results and its record.

    In place of the record, returns a message (str) if the options are wrong. Raises GoneError if
    the run does not exist any more.
    """
    if not assignment.seen():
        message = f"a run must have its folder; got none at {str(assignment.place)!r}."
        raise GoneError(message)
    job = replace(job, place=assignment.place / f"{job.number}-{secrets.token_hex(4)}")
    worker, _mine.worker = _worker_for(assignment), None
    try:
        if not worker.ready:
            answer = _listen(worker, assignment, None)
            if answer != "":
                return job.place, answer if isinstance(answer, str) else worker.failure(job)
            worker.ready = True
        worker.give(job)
        answer = _listen(worker, assignment, assignment.limit)
        if not isinstance(answer, Record):
            return job.place, worker.failure(job)
        if worker.alive():
            _mine.worker, _mine.place = worker, assignment.place
        return job.place, answer
    finally:
        if _mine.worker is None:
            worker.end()


def _worker_for(assignment: Assignment) -> Worker:
    """Return the process of this thread; start one if it has none of this run."""
    worker: Worker | None = getattr(_mine, "worker", None)
    if worker is not None:
        if worker.alive() and _mine.place == assignment.place:
            return worker
        worker.end()
    options = assignment.options
    if options.memory_limit is None:
        options = replace(options, memory_limit=memory.free() * 9 // 10 // assignment.threads)
    # A worker of Dask is a daemon of its nanny; Python lets no daemon have processes of its own.
    vars(current_process())["_config"]["daemon"] = False
    return Worker(options, assignment.provenance, 1, assignment.folder, IDLE)


def _listen(worker: Worker, assignment: Assignment, limit: float | None) -> Record | str | None:
    """Return the next answer of a process; None if it died."""
    while True:
        if worker.connection.poll(POLL):
            answer = worker.answer()
            if not isinstance(answer, News):
                return answer
        worker.watch(limit)
        if not assignment.seen():
            message = (
                f"a run must not end before its images; got none at {str(assignment.place)!r}."
            )
            raise GoneError(message)


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
    options: Options,
    provenance: Provenance,
    *,
    address: str,
    limit: float | None,
    stop: Callable[[], bool],
    begin: Callable[[], None],
    tell: Callable[[str], None],
) -> Generator[tuple[Job, Record]]:
    """Label images on a cluster, and yield each image when it is finished.

    The arguments are those of `label_all`. An image whose process ended is tried once more at the
    end, with no other image. Raises RefusedError if the scheduler cannot be reached, its workers do
    not see the files, or the options cannot be used; LostSchedulerError if the scheduler is lost
    later: the images that were yielded are done.
    """
    from equilabel.chunked.engine import LostSchedulerError, connected

    if not jobs:
        begin()
        return
    try:
        connection = connected(address)
        cluster = connection.__enter__()
    except (OSError, ValueError) as error:
        message = (
            f"--scheduler must be the address of a Dask scheduler that runs; got {address!r}: "
            f"{explain(error)} Start it with `dask scheduler`, or correct the address."
        )
        raise RefusedError(message) from error
    try:
        assignment = _assign(cluster, jobs, options, provenance, limit, address)
        tell("starting processes on the cluster")
        again: list[Job] = []
        for job, record in _attempt(cluster, jobs, assignment, stop, begin, tell):
            if is_to_be_repeated(job, record, alone=False):
                again.append(replace(job, attempts=record.attempts))
            else:
                yield job, record
        for job, record in _attempt(cluster, again, assignment, stop, None, tell, most=1):
            yield job, tried_twice(job, record)
    except LostSchedulerError as error:
        message = (
            f"--scheduler must stay reachable until all is done; got none at {address!r} any more. "
            "Start it again, and run again with --resume: images that are done are kept."
        )
        raise LostSchedulerError(message) from error
    finally:
        connection.__exit__(None, None, None)


def _assign(
    cluster: Cluster,
    jobs: Sequence[Job],
    options: Options,
    provenance: Provenance,
    limit: float | None,
    address: str,
) -> Assignment:
    """Return what all images of a run share; raise RefusedError if a worker cannot work on them."""
    threads = cluster.threads()
    if not threads:
        refuse(
            f"--scheduler must have workers; got none at {address!r}. Start some with "
            f"`dask worker {address}`."
        )
    folder = Path.cwd()
    place = folder / jobs[0].place.parent
    assignment = Assignment(options, provenance, folder, place, threads, limit)
    for worker, answer in cluster.everywhere(examine, assignment, jobs[0].path).items():
        if isinstance(answer, BaseException):
            answer = f"have equilabel installed, as this machine; got {explain(answer)} Install it"
        if answer:
            message = f"workers of --scheduler must {answer} (on {worker})."
            raise RefusedError(printable(message))
    return assignment


def _attempt(
    cluster: Cluster,
    jobs: Iterable[Job],
    assignment: Assignment,
    stop: Callable[[], bool],
    begin: Callable[[], None] | None,
    tell: Callable[[str], None],
    most: int | None = None,
) -> Generator[tuple[Job, Record]]:
    """Yield images when they are finished, with the places of their results."""
    tasks = ((job, assignment) for job in jobs)
    for (job, _), answer in cluster.outcomes(label_there, tasks, stop, most):
        if isinstance(answer, BaseException):
            made_with = assignment.provenance.fingerprint
            yield job, job.failure(made_with, explain(answer), type(answer).__name__)
            continue
        place, record = answer
        if isinstance(record, str):
            raise RefusedError(record)
        if begin is not None:
            tell("")
            begin()
            begin = None
        yield replace(job, place=place), record
