"""Tasks on a Dask cluster, several at once, which can be stopped."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from .engine import RETRIES, cancelled
from .engine import LostSchedulerError as LostSchedulerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Task = tuple[Any, ...]

POLL = 0.2  # seconds between calls of `stop`
SOON = 15  # seconds to wait for an answer of the scheduler
BEGUN = 10  # seconds to wait for its first worker


class Cluster:
    """Runs tasks by a client of a Dask scheduler."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def threads(self) -> int:
        """Return the number of threads of all workers: tasks at once."""
        return sum(map(int, self._client.nthreads().values()))

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function in each worker; return its results or errors by address."""
        found: dict[str, Any] = self._client.run(function, *arguments, on_error="return")
        return found

    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        stop: Callable[[], bool],
        most: int | None = None,
    ) -> Iterator[tuple[Task, Any]]:
        """Yield tasks with their results or errors, as they finish.

        Tasks of a worker that dies are given to another one. `stop` is called several times a
        second; when it returns True, unfinished tasks are dropped. `most` limits the tasks at once;
        by default as many run as there are threads, and as many wait. Raises LostSchedulerError if
        the scheduler is lost.
        """
        from cloudpickle import dumps
        from distributed import wait

        lost: tuple[type[BaseException], ...] = (OSError, *cancelled())
        waiting = deque(tasks)
        running: dict[Any, Task] = {}
        try:
            while (waiting or running) and not stop():
                while waiting and len(running) < (most or 2 * max(1, self.threads())):
                    task = waiting.popleft()
                    packed = dumps((function, task))
                    future = self._client.submit(_call, packed, pure=False, retries=RETRIES)
                    running[future] = task
                try:
                    with self._client.as_current():
                        done = wait(list(running), POLL, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    continue
                for future in done:
                    yield running.pop(future), _result(future)
        except lost as error:
            message = f"the Dask scheduler must stay reachable; got {type(error).__name__}."
            raise LostSchedulerError(message) from error
        finally:
            self._client.cancel(list(running), force=True) if running else None


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to a Dask scheduler, and wait a few seconds for its first worker.

    Raises OSError or ValueError if there is no scheduler at the address.
    """
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


def _result(future: Any) -> Any:
    """Return the result of a task, or its error."""
    error = future.exception()
    if isinstance(error, cancelled()):
        raise error
    return future.result() if error is None else error


def _call(packed: bytes) -> Any:
    """Call a pickled function in a worker; pickled, because Dask searches arguments for tasks."""
    from pickle import loads

    function, task = loads(packed)
    return function(*task)
