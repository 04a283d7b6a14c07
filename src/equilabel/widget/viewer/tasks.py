"""Tasks in threads that can be cancelled; napari shows those with steps in its activity dock."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from threading import Event
from typing import Any

from napari.qt.threading import FunctionWorker, create_worker
from qtpy.QtCore import QObject, Signal

from equilabel.descriptions import STEPS
from equilabel.devices import compiling
from equilabel.devices.threads import interruptible
from equilabel.widget.logic.messages import explain


class _Worker(FunctionWorker):
    """A worker of napari that leaves the filters of warnings as they are.

    superqt's replaces them, which are those of all threads, and puts them back after its work. When
    another worker, or napari itself, does so meanwhile, they stay replaced, or are put back too
    early.
    """

    def run(self) -> None:
        """Do the work; Qt calls it in a thread."""
        self.started.emit()
        self._running = True
        self.returned.emit(self.work())
        self._running = False
        self.finished.emit()
        self._finished.emit(self)  # for superqt, which keeps it until then


class _Reporter(QObject):
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

    def __init__(self, title: str, work: Callable[..., Any], steps: Sequence[str] = ()) -> None:
        super().__init__()
        self.running = False
        self._steps, self._stop = list(steps), Event()
        self._worker = self._make_worker(title, work)
        self._worker.returned.connect(self._end)

    def _make_worker(self, title: str, work: Callable[..., Any]) -> Any:
        """Make a worker that does not keep the task: it returns how the work ended, and with what.

        What the work calls, and its kernels, raise CancelledError once it has to stop.
        """
        stop, reporter = self._stop, _Reporter()
        reporter.begun.connect(self._step)
        reporter.compiling.connect(self.compiling)

        def check() -> None:
            if stop.is_set() or worker.abort_requested:
                raise CancelledError

        def report(step: str, done: int = 0, total: int = 0) -> None:
            check()
            reporter.begun.emit(step, done, total)

        def tell(number: int, busy: bool) -> None:
            reporter.compiling.emit(compiling.describe(number) if busy else "")

        def attempt() -> tuple[str, Any]:
            try:
                with interruptible(check), compiling.listening(tell):
                    return "done", work(report)
            except CancelledError:
                return "cancelled", None
            except Exception as error:  # whatever it is
                return "failed", explain(error)

        attempt.__qualname__ = title  # napari shows it if it is closed during the task
        progress = {"desc": title} if self._steps else False
        worker = create_worker(attempt, _progress=progress, _worker_class=_Worker)
        return worker

    def start(self) -> None:
        self.running = True
        self._worker.start()

    def cancel(self) -> None:
        """Cancel the task at once; the thread ends at its next piece of work."""
        if self.running:
            self.running = False
            self._stop.set()
            self.cancelled.emit()

    def _step(self, step: str, done: int, total: int) -> None:
        if not self.running:
            return
        count: float = self._steps.index(step) if step in self._steps else 0
        words = STEPS.get(step, step)
        if total:
            count += done / total
            words += f", {done} of {total}"
        self.stepped.emit(words, count)

    def _end(self, answer: tuple[str, Any]) -> None:
        if not self.running:
            return
        self.running = False
        how, result = answer
        if how == "cancelled":
            self.cancelled.emit()
        else:
            (self.done if how == "done" else self.failed).emit(result)


class LatestResult:
    """Runs functions in threads, and gives the result of the last one to a method, or its error.

    The title says what they do. Without a method for it, a result or an error is dropped.
    """

    def __init__(
        self,
        title: str,
        use: Callable[..., None] | None = None,
        say: Callable[..., None] | None = None,
    ) -> None:
        self._title, self._use, self._say = title, use, say
        self._task: Task | None = None

    @property
    def waiting(self) -> bool:
        return self._task is not None and self._task.running

    def submit(self, work: Callable[[], Any]) -> None:
        """Run a function in a thread; results of earlier ones are dropped."""
        self.cancel()
        self._task = Task(self._title, lambda _: work())
        if self._use is not None:
            self._task.done.connect(self._use)
        if self._say is not None:
            self._task.failed.connect(self._say)
        self._task.start()

    def cancel(self) -> None:
        """Drop the result that is still to come; its thread ends at its next piece of work."""
        if self._task is not None:
            self._task.cancel()
