"""`equilabel batch --scheduler`: label images on a Dask cluster, one task for each image."""

from __future__ import annotations

import secrets
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .detached import MARK, Assignment, examine, label_there, release
from .errors import explain
from .names import printable
from .options import RefusedError
from .records import Record
from .workers import is_to_be_repeated, tried_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from equilabel.chunked.engine import Cluster

    from .one import Job
    from .options import Options
    from .records import Provenance


def check_scheduler(address: str | None, *, jobs: int) -> None:
    """Raise RefusedError if an address is not that of a Dask scheduler, or cannot be used."""
    if address is None:
        return
    if "://" not in address:
        message = (
            f"--scheduler must be an address such as tcp://host:8786; got {address!r}. Leave it "
            "out for processes of this machine."
        )
        raise RefusedError(message)
    if jobs != 1:
        message = (
            f"--jobs and --scheduler must not be combined; got both, --jobs {jobs}. Leave out "
            "--jobs: the threads of the cluster's workers say how many images are labeled at once."
        )
        raise RefusedError(message)
    if find_spec("distributed") is None:
        message = (
            "--scheduler needs Dask; got none installed. Install it with "
            "`pip install equilabel[dask]`."
        )
        raise RefusedError(message)


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
        cluster.everywhere(release, assignment)
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
        message = (
            f"--scheduler must have workers; got none at {address!r}. Start some with "
            f"`dask worker {address}`."
        )
        raise RefusedError(message)
    folder, mark = Path.cwd(), secrets.token_hex(8)
    place = folder / jobs[0].place.parent
    (place / MARK).write_text(mark, "utf-8")
    assignment = Assignment(options, provenance, folder, place, mark, threads, limit)
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
            yield job, _failed(job, assignment, answer)
            continue
        place, record = answer
        if isinstance(record, str):
            raise RefusedError(record)
        if begin is not None:
            tell("")
            begin()
            begin = None
        yield replace(job, place=place), record


def _failed(job: Job, assignment: Assignment, error: Any) -> Record:
    """Return the record of an image whose Dask task failed (not its process)."""
    return Record(
        printable(job.path),
        printable(job.name),
        "failed",
        error=explain(error),
        fingerprint=assignment.provenance.fingerprint,
        attempts=(*job.attempts, type(error).__name__),
    )
