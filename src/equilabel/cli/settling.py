"""Give results their final names in threads: no process waits for the disk."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from .one import Job
    from .records import Record


class Settling:
    """Keeps the results of images in threads, and shows the records as they are kept.

    What is in these threads when the program is killed, the next run finds: see `recovery`. On
    leaving the block all images are kept.

    Parameters
    ----------
    keep : callable
        Called in a thread with a job and its record; returns the record as it came to be.
    show : callable
        Called with that record, in one thread at a time.
    threads : int
        How many images are kept at once. With one, in the order of `add`.
    """

    def __init__(
        self, keep: Callable[[Job, Record], Record], show: Callable[[Record], None], threads: int
    ) -> None:
        self._keep, self._show, self._threads = keep, show, threads
        self._pool = ThreadPoolExecutor(threads, "settling")
        self._under_way: deque[Future[None]] = deque()
        self._turn = Lock()

    def add(self, job: Job, record: Record) -> None:
        """Keep the results of an image; wait as long as all threads have one.

        Raises
        ------
        Exception
            What an earlier call of `keep` or `show` raised.
        """
        while len(self._under_way) >= self._threads or self._is_first_done():
            self._under_way.popleft().result()
        self._under_way.append(self._pool.submit(self._settle, job, record))

    def _is_first_done(self) -> bool:
        return bool(self._under_way) and self._under_way[0].done()

    def _settle(self, job: Job, record: Record) -> None:
        record = self._keep(job, record)
        with self._turn:
            self._show(record)

    def __enter__(self) -> Settling:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()
        if error is None:
            for each in self._under_way:
                each.result()
