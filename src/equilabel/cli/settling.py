"""Move results to their final names in threads, so that workers do not wait for the disk."""

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
    """Keep the results of images in `threads` threads, and show the records.

    `keep` is called in a thread with a job and its record, and returns the final record; `show` is
    then called with it, in one thread at a time. With one thread, images are kept in the order of
    `add`. All are kept when the with block ends. If the program is killed, the next run finds the
    results (see `find_finished`).
    """

    def __init__(
        self, keep: Callable[[Job, Record], Record], show: Callable[[Record], None], threads: int
    ) -> None:
        self._keep, self._show, self._threads = keep, show, threads
        self._pool = ThreadPoolExecutor(threads, "settling")
        self._under_way: deque[Future[None]] = deque()
        self._turn = Lock()

    def add(self, job: Job, record: Record) -> None:
        """Keep the results of an image; wait while all threads are busy.

        Raises what an earlier call of `keep` or `show` raised.
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
