"""Tasks of a caller's own on a Dask cluster, several at once, until it is told to stop."""

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

POLL = 0.2  # seconds between looks at `stop`
SOON = 15  # seconds in which a scheduler has to answer
BEGUN = 10  # seconds in which its first worker has to be there


class Cluster:
    """A client of a Dask scheduler.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def threads(self) -> int:
        """Return how many threads the workers have: tasks at once."""
        return sum(map(int, self._client.nthreads().values()))

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function in each worker; return what it returns, or raises, by address."""
        found: dict[str, Any] = self._client.run(function, *arguments, on_error="return")
        return found

    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        stop: Callable[[], bool],
        most: int | None = None,
    ) -> Iterator[tuple[Task, Any]]:
        """Yield tasks with what they return, or raise, as they finish.

        The tasks of a worker that dies are given to another one.

        Parameters
        ----------
        function : callable
            Called with the arguments of a task.
        tasks : iterable of tuple
            Arguments.
        stop : callable
            Asked several times a second; once true, what has not finished is dropped.
        most : int, optional
            Tasks at once. By default as many as there are threads, and as many waiting.

        Raises
        ------
        LostSchedulerError
            If the scheduler cannot be reached any more.
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

    Raises
    ------
    OSError, ValueError
        If there is none at the address.
    """
    from distributed import Client

    client = Client(address, set_as_default=False, timeout=SOON)
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # it would print how it lost its scheduler, call by call
    try:
        with suppress(TimeoutError):  # a cluster may have been started just now
            client.wait_for_workers(1, timeout=BEGUN)
        yield Cluster(client)
    finally:
        client.close()
        log.setLevel(level)


def _result(future: Any) -> Any:
    """Return what a task returned, or the error that it raised."""
    error = future.exception()
    if isinstance(error, cancelled()):
        raise error
    return future.result() if error is None else error


def _call(packed: bytes) -> Any:
    """Call a function in a worker; Dask does not look into what is packed for tasks of its own."""
    from pickle import loads

    function, task = loads(packed)
    return function(*task)
