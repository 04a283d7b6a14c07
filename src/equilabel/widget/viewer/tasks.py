"""Tasks in threads, with a progress bar in the activity dock of napari, that can be cancelled."""

from __future__ import annotations

import warnings
from threading import Event
from typing import TYPE_CHECKING, Any

from napari.qt.threading import create_worker
from napari.utils import progress
from qtpy.QtCore import QObject, QTimer, Signal

from equilabel import compiling
from equilabel.threads import interruptible
from equilabel.widget.logic.messages import CancelledError, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BAR_DELAY = 150  # milliseconds until napari shows a progress bar
WORDS = {
    "read": "reading the image",
    "background": "subtracting the background",
    "binarize": "finding the threshold",
    "close and open": "closing and opening",
    "fill": "filling holes",
    "label": "labeling",
    "split": "splitting objects",
    "drop": "dropping objects",
    "measure": "measuring",
    "histogram": "finding the threshold",
    "threshold": "finding the threshold",
    "merge": "joining objects of neighboring blocks",
    "write": "writing labels",
    "shrink": "writing lower resolutions",
}


def _make_worker(title: str, work: Callable[[Callable[[], None]], Any], stop: Event) -> Any:
    """Make a worker that returns `stop`, how the work ended, and its result or error message.

    The work gets a function that raises CancelledError once `stop` is set, as do its kernels.
    """

    def check() -> None:
        if stop.is_set() or worker.abort_requested:
            raise CancelledError

    def attempt() -> tuple[Event, str, Any]:
        try:
            with interruptible(check):
                return stop, "done", work(check)
        except CancelledError:
            return stop, "cancelled", None
        except Exception as error:  # whatever it is
            return stop, "failed", explain(error)

    attempt.__qualname__ = title  # napari shows it if it is closed during the task
    worker = create_worker(attempt)
    return worker


class _Steps(QObject):
    """Emits what a task does from its thread, for as long as the thread runs."""

    begun = Signal(str, int, int)
    compiling = Signal(str)


class Task(QObject):
    """A function that runs in a thread, which ends at its next piece of work if it is cancelled.

    It gets a function that it calls with the name of each of the steps expected, and, if it works
    block by block, with how many blocks of how many are done.
    """

    stepped = Signal(str, float)  # what it does now, and how many steps are done
    compiling = Signal(str)  # what is being compiled; empty when it is not any more
    done = Signal(object)  # the result
    failed = Signal(str)  # the error message
    cancelled = Signal()

    def __init__(
        self, title: str, work: Callable[..., Any], steps: Sequence[str], parent: QObject
    ) -> None:
        super().__init__(parent)
        self.steps = list(steps)
        self.running = False
        self._title = title
        self._stop = Event()
        self._reporter = reporter = _Steps()
        reporter.begun.connect(self._step)
        reporter.compiling.connect(self._compile)

        def tell(number: int, busy: bool) -> None:
            reporter.compiling.emit(compiling.describe(number) if busy else "")

        def attempt(check: Callable[[], None]) -> Any:
            def report(step: str, done: int = 0, total: int = 0) -> None:
                check()
                reporter.begun.emit(step, done, total)

            warnings.filterwarnings("ignore", module="skimage")  # on objects too small to measure
            with compiling.listening(tell):
                return work(report)

        self._worker = _make_worker(title, attempt, self._stop)
        self._worker.returned.connect(self._end)
        self._worker.finished.connect(self._close)
        self._bar: Any = None
        self._moving = False
        self._state: tuple[str, float] = ("starting", 0)

    def start(self) -> None:
        """Start the thread."""
        self.running = True
        QTimer.singleShot(BAR_DELAY, self._open_bar)
        self._worker.start()

    def cancel(self) -> None:
        """Cancel the task at once; the thread ends at its next piece of work."""
        if self.running:
            self._stop.set()
            self._close()
            self.cancelled.emit()

    def _open_bar(self) -> None:
        """Show the progress bar, unless the task has ended already."""
        if self.running:
            self._set_bar(progress(total=len(self.steps), desc=self._title, gui=True))

    def _set_bar(self, bar: Any) -> None:
        self._bar = bar
        if self.running:
            self._move_bar()
        else:  # napari handles events while it makes a bar: the task may have ended
            self._close()

    def _move_bar(self) -> None:
        bar = self._bar
        if bar is None or self._moving:
            return
        self._moving, shown = True, None
        while self._bar is bar and shown != self._state:  # it handles events while it moves a bar
            shown = words, count = self._state
            bar.update(max(0, int(count) - bar.n))
            if self._bar is bar:
                bar.set_description(f"{self._title}: {words}")
        self._moving = False

    def _step(self, step: str, done: int, total: int) -> None:
        if not self.running:
            return
        count: float = self.steps.index(step) if step in self.steps else 0
        words = WORDS.get(step, step)
        if total:
            count += done / total
            words += f", {done} of {total}"
        self._state = words, count
        self.stepped.emit(words, count)
        self._move_bar()

    def _compile(self, words: str) -> None:
        if self.running:
            self.compiling.emit(words)

    def _end(self, answer: tuple[Event, str, Any]) -> None:
        if not self.running:
            return
        _, how, result = answer
        self._close()
        if how == "cancelled":
            self.cancelled.emit()
        else:
            (self.done if how == "done" else self.failed).emit(result)

    def _close(self) -> None:
        self.running = False
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class LatestResult(QObject):
    """Runs functions in threads, and gives the result of the last one to a method, or its error.

    `waiting` says whether one is still to come.
    """

    returned = Signal(object)
    failed = Signal(str)

    def __init__(
        self, parent: QObject, use: Callable[..., None], say: Callable[..., None] | None = None
    ) -> None:
        super().__init__(parent)
        self._stop = Event()
        self.waiting = False
        self.returned.connect(use)
        if say is not None:
            self.failed.connect(say)

    def submit(self, work: Callable[[], Any]) -> None:
        """Run a function in a thread; results of earlier ones are dropped."""
        self.cancel()
        self._stop = Event()
        self.waiting = True
        worker = _make_worker("computing the histogram", lambda _: work(), self._stop)
        worker.returned.connect(self._receive)
        worker.start()

    def cancel(self) -> None:
        """Drop the result that is still to come; its thread ends at its next piece of work."""
        self._stop.set()
        self.waiting = False

    def _receive(self, answer: tuple[Event, str, Any]) -> None:
        stop, how, result = answer
        if not stop.is_set():
            self.waiting = False
            if how != "cancelled":
                (self.returned if how == "done" else self.failed).emit(result)
