"""Execution of tasks in threads, processes or on a Dask cluster; few at a time, in any order."""

from __future__ import annotations

import logging
import multiprocessing.connection
import os
import secrets
import sys
import threading
import warnings
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain, count, islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.arguments import check_whole, shown
from equilabel.devices import set_worker, threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    Task = tuple[Any, ...]

SCHEDULERS = ("threads", "processes", "synchronous")
AHEAD = 2  # tasks that are given to each worker at once
RETRIES = 5  # of a task whose worker died


class LostSchedulerError(ConnectionError):
    """The Dask scheduler cannot be reached any more."""


class Run(NamedTuple):
    """What the stages of a run share: its workers, and the caller to whom it reports."""

    map_tasks: Callable[[Callable[..., Any], Iterable[Task]], Iterator[Any]]
    """Calls a function with each task, in workers, and yields the results as they finish."""
    compute: Callable[..., Any]  # computes some keys of a Dask graph at once
    report: Callable[[str, int, int], None] | None

    def each(
        self,
        stage: str,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        total: int,
        done: int = 0,
        *,
        lists: bool = False,
    ) -> Iterator[Any]:
        """Yield the results of a function, or of its `lists`; report each as one more block."""
        results = self.map_tasks(function, tasks)
        self.notify(stage, done, total)
        for number, result in enumerate(chain.from_iterable(results) if lists else results, 1):
            yield result
            self.notify(stage, done + number, total)

    def notify(self, *news: Any) -> None:
        """Report a stage, blocks done, and all blocks."""
        if self.report is not None:
            self.report(*news)

    @contextmanager
    def noting(self, stage: str) -> Iterator[None]:
        """Report the begin and the end of a stage that is not done block by block."""
        self.notify(stage, 0, 1)
        yield
        self.notify(stage, 1, 1)

    def named(self, name: str) -> Run:
        """Return this run with a name before those of its stages."""
        return self._replace(report=lambda stage, *counts: self.notify(f"{name}: {stage}", *counts))


class Engine:
    """Calls functions in workers, and yields their results as they finish.

    `scheduler` is one of `SCHEDULERS`, an address, or a client; None is the active client if
    workers can read the image (`reachable`), otherwise threads. `workers` are by default as many as
    cores.
    """

    def __init__(
        self, scheduler: Any = "threads", workers: int | None = None, *, reachable: bool = True
    ) -> None:
        known = workers is not None
        self._workers = check_whole("workers", workers, 1) if known else threads.available()
        client = active_client() if scheduler is None else None
        if client is not None and not reachable:
            message = (
                "The active Dask client is not used: its workers do not see the memory of this "
                "process. Pass a Zarr on a disk and `out`, or scheduler='threads'."
            )
            warnings.warn(message, stacklevel=4)
            client = None
        self._scheduler = client or _check_scheduler("threads" if scheduler is None else scheduler)
        if known and self._scheduler not in SCHEDULERS:
            message = "workers is not used on a Dask cluster, which has its own; leave it out."
            warnings.warn(message, stacklevel=4)

    @property
    def shares_memory(self) -> bool:
        """Whether tasks can write to an array of this process."""
        return self._scheduler in ("threads", "synchronous")

    @property
    def workers(self) -> int:
        """Number of threads or processes."""
        return 1 if self._scheduler == "synchronous" else self._workers

    @contextmanager
    def started(self, report: Callable[[str, int, int], None] | None = None) -> Iterator[Run]:
        """Start workers, and stop them at the end, unless they belong to a client of the caller."""
        if self._scheduler == "synchronous":
            yield Run(_one_by_one, self._compute, report)
            return
        if self._scheduler in SCHEDULERS:
            with _pool(self._scheduler, self._workers) as pool:
                yield Run(partial(_in_pool, pool, self._workers), self._compute, report)
            return
        client: Any = nullcontext(self._scheduler)  # that of a caller stays open
        if isinstance(self._scheduler, str):
            from distributed import Client

            client = closing(Client(self._scheduler, set_as_default=False))
        with client as opened:
            yield Run(partial(_on_cluster, opened), opened.get, report)

    def _compute(self, graph: Any, keys: list[Any], **_: Any) -> Any:
        """Compute some keys of a Dask graph at once, in threads."""
        from dask.threaded import get

        return get(graph, keys, num_workers=self.workers)


def active_client() -> Any:
    """Return the Dask client that is active in this process; None if there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def _check_scheduler(scheduler: Any) -> Any:
    """Return a scheduler; raise ValueError or TypeError if it is none."""
    if isinstance(scheduler, str):
        if scheduler in SCHEDULERS or "://" in scheduler:
            return scheduler
    elif hasattr(scheduler, "submit") and hasattr(scheduler, "scheduler_info"):
        return scheduler
    message = (
        f"scheduler must be one of {list(SCHEDULERS)}, an address such as 'tcp://host:8786', or a "
        f"distributed.Client; got {shown(scheduler)}."
    )
    raise (ValueError if isinstance(scheduler, str) else TypeError)(message)


@contextmanager
def _pool(scheduler: str, workers: int) -> Iterator[Executor]:
    """Start threads or processes; after an error, drop the tasks that have not started."""
    if scheduler == "threads":
        numbers = count()
        pool: Executor = ThreadPoolExecutor(
            workers, "equilabel-block", lambda: set_worker(next(numbers))
        )
    else:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        context = get_context("spawn")
        pool = ProcessPoolExecutor(workers, context, _take_number, (context.Value("i", 0),))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _one_by_one(function: Callable[..., Any], tasks: Iterable[Task]) -> Iterator[Any]:
    """Call in this thread; unlike `starmap`, do not take a StopIteration for the end of tasks."""
    for task in tasks:
        yield function(*task)


def _take_number(next_number: Any) -> None:
    """Set the number of this worker process, the next of a shared counter; end with its parent."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    with next_number.get_lock():
        set_worker(next_number.value)
        next_number.value += 1


def _end_with(sentinel: int) -> None:
    """End this process when its parent does, also where that was killed."""
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _in_pool(
    pool: Executor, workers: int, function: Callable[..., Any], tasks: Iterable[Task]
) -> Iterator[Any]:
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    stop = threads.watch() if isinstance(pool, ThreadPoolExecutor) else None
    running = 0
    for task in tasks:
        pool.submit(_alone, function, task, stop).add_done_callback(done.put)
        running += 1
        if running >= AHEAD * workers:
            yield done.get().result()
            running -= 1
    for _ in range(running):
        yield done.get().result()


def _on_cluster(client: Any, function: Callable[..., Any], tasks: Iterable[Task]) -> Iterator[Any]:
    """Yield results of tasks as they finish; raise the first error."""
    calls = ((function, task) for task in tasks)
    with closing(Cluster(client).outcomes(_in_worker, calls, lambda: False, BATCH)) as outcomes:
        for _, found in outcomes:
            if isinstance(found, BaseException):
                raise found
            yield found


def _in_worker(function: Callable[..., Any], task: Task) -> Any:
    """Call a function in a worker of a cluster."""
    from distributed import get_worker

    name = get_worker().name
    alone = "dask_cuda" in sys.modules  # it already lists a different GPU first for each worker
    set_worker(name if isinstance(name, int) and not alone else 0)
    return _alone(function, task)


def _alone(function: Callable[..., Any], task: Task, stop: Callable[[], None] | None = None) -> Any:
    """Call a function whose kernels use one thread; `stop` is called again and again."""
    with threads.limited(1), threads.interruptible(stop):
        return function(*task)


# ---- Tasks on a Dask cluster, several at once, which can be stopped

BATCH = 500  # tasks that are sent to the scheduler at once
POLL = 0.2  # seconds between calls of `stop`
SOON = 15  # seconds to wait for an answer of the scheduler
BEGUN = 10  # seconds to wait for its first worker


class Cluster:
    """Runs tasks by a client of a Dask scheduler."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def threads(self) -> int:
        """Return the number of threads of all workers: tasks at once."""
        with _reaching():
            return sum(map(int, self._client.nthreads().values()))

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function in each worker; return its results or errors by address."""
        found: dict[str, Any] = self._client.run(function, *arguments, on_error="return")
        return found

    def outcomes(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        stop: Callable[[], bool],
        most: int | None = None,
    ) -> Generator[tuple[Task, Any]]:
        """Yield tasks with their results or errors, as they finish.

        Tasks of a worker that dies go to another one. When `stop` returns True, unfinished ones are
        dropped. `most` limits the tasks at once, by default twice the threads. Raises
        LostSchedulerError.
        """
        waiting = iter(tasks)
        task = next(waiting, None)
        running: dict[Any, Task] = {}
        try:
            while (task or running) and not stop():
                room = (most or AHEAD * max(1, self.threads())) - len(running)
                full = 2 * room < (most or 0)  # many are sent at once
                some = [task, *islice(waiting, room - 1)] if task and room > 0 and not full else []
                running |= zip(self._submit(function, some), some, strict=True)
                task = next(waiting, None) if some else task
                for future in self._finished(list(running)):
                    yield running.pop(future), _outcome(future)
        finally:
            self._client.cancel(list(running), force=True) if running else None

    def _submit(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Submit tasks, pickled because Dask searches arguments for tasks; return futures."""
        from cloudpickle import dumps

        if not tasks:
            return []
        packed = [dumps((function, task)) for task in tasks]
        called = tasks[0][0] if function is _in_worker else function
        keys = [f"{called.__name__.strip('_')}-{secrets.token_hex(8)}" for _ in tasks]
        how: Any = {"pure": False, "retries": RETRIES, "batch_size": BATCH}
        with _reaching():
            return list(self._client.map(_call, packed, key=keys, **how))

    def _finished(self, futures: list[Any]) -> set[Any]:
        """Return the futures that are finished; none after a while."""
        from distributed import wait

        finished: set[Any] = set()
        with _reaching(), self._client.as_current(), suppress(TimeoutError):
            finished = wait(futures, POLL, return_when="FIRST_COMPLETED").done
        return finished


def _call(packed: bytes) -> Any:
    """Call a pickled function in a worker."""
    from pickle import loads

    function, task = loads(packed)
    return function(*task)


def _outcome(future: Any) -> Any:
    """Return the result of a task, or its error."""
    with _reaching():
        error = future.exception()
        if isinstance(error, _cancelled()):
            raise error
        return future.result() if error is None else error


@contextmanager
def _reaching() -> Iterator[None]:
    """Raise LostSchedulerError if the scheduler cannot be reached."""
    lost: tuple[type[BaseException], ...] = (OSError, *_cancelled())
    try:
        yield
    except lost as error:
        message = (
            f"scheduler must stay reachable until all is written; got {type(error).__name__}. "
            "Start it again, and run again; with resume=True, what is done is kept."
        )
        raise LostSchedulerError(message) from error


def _cancelled() -> tuple[type[BaseException], ...]:
    """Return the errors of tasks whose scheduler was lost: two classes of the same name."""
    import asyncio

    return asyncio.CancelledError, CancelledError


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to a Dask scheduler, and wait a few seconds for its first worker."""
    from distributed import Client

    client = Client(address, set_as_default=False, timeout=SOON)
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # it logs every call that fails when the scheduler is lost
    try:
        with suppress(TimeoutError):  # a cluster that has just started may have no workers yet
            client.wait_for_workers(1, timeout=BEGUN)
        yield Cluster(client)
    finally:
        client.close()
        log.setLevel(level)
