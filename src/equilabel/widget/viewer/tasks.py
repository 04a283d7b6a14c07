"""Notifications, and work in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import wraps
from threading import Event
from typing import Any

from napari.qt.threading import FunctionWorker, create_worker
from napari.utils.notifications import show_info, show_warning
from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer, Signal
from qtpy.QtWidgets import QApplication, QDialog, QMessageBox, QWidget

from equilabel.descriptions import describe_stage
from equilabel.devices import compiling
from equilabel.devices.threads import interruptible, reporting
from equilabel.widget.logic.outcomes import explain

# ---- Notifications


SLIDING = 300  # milliseconds in which napari moves a notification into view


def inform(text: str) -> None:
    """Show a notification."""
    show_info(text)
    QTimer.singleShot(SLIDING, _unfold)


def warn(text: str) -> None:
    """Show a warning as a notification."""
    show_warning(text)
    QTimer.singleShot(SLIDING, _unfold)


def _unfold() -> None:
    """Show the whole text of notifications, of which napari shows some 40 characters."""
    for window in QApplication.topLevelWidgets():
        for each in window.findChildren(QDialog):
            if hasattr(each, "toggle_expansion") and not each.property("expanded"):
                each.expand()


def tell(form: Any, text: str, say: Callable[[str], None] = warn) -> None:
    """Tell something in a notification, and in the line for messages of the form around a widget.

    There it stays, and is a sentence: "Image must be open, but got none." for "image must be open;
    got none."
    """
    say(text)
    while form is not None and not hasattr(form, "message"):
        form = form.parent()
    if form is not None:
        text = text.replace("; got ", ", but got ")
        form.message.setText(text[:1].upper() + text[1:])


def ask(form: QWidget, title: str, text: str, more: str, buttons: dict[str, str]) -> str:
    """Ask a question above a form, with buttons and their roles; return the pressed button.

    The Enter key presses the first button.
    """
    box = QMessageBox(form)
    box.setWindowTitle(title)
    box.setText(text)
    box.setInformativeText(more)
    made = {
        box.addButton(words, getattr(QMessageBox.ButtonRole, f"{role}Role")): words
        for words, role in buttons.items()
    }
    box.setDefaultButton(next(iter(made)))
    box.exec()
    return made.get(box.clickedButton(), "")


def guarded(slot: Callable[..., Any]) -> Callable[..., None]:
    """Make a slot of a widget show its errors as warnings.

    It does nothing after Qt has deleted the widget. Values of the signal are not passed on.
    """

    @wraps(slot)
    def call(self: Any, *_: object, **__: object) -> None:
        try:
            if isalive(self):
                slot(self)
        except Exception as error:
            tell(self, explain(error))

    return call


# ---- Tasks


LEAST = 0.01  # of a stage, by which its bar moves


class _Worker(FunctionWorker):
    """A worker of napari that does not change the filters of warnings.

    That of superqt replaces the filters, which all threads share, and restores them after its work.
    If another thread does so at the same time, they stay replaced or are restored too early.
    """

    def run(self) -> None:
        """Do the work; Qt calls it in a thread."""
        self.started.emit()
        self._running = True
        self.returned.emit(self.work())
        self._running = False
        self.finished.emit()
        self._finished.emit(self)  # superqt then releases the worker


class _Reporter(QObject):
    """Emits the progress of a task from its thread, as long as the thread runs."""

    begun = Signal(str, int, int)
    moved = Signal(str, float)  # the stage, and the share of it that is done
    compiling = Signal(str)


class Task(QObject):
    """A function that runs in a thread, and ends before its next piece of work if it is cancelled.

    The function is called with another one, `report`, which it calls with the name of each stage
    and, if it works block by block, with the blocks done and the number of blocks.
    """

    advanced = Signal(str, float)  # the current stage, and how many stages are done
    compiling = Signal(str)  # the function that is being compiled; "" when it is done
    done = Signal(object)  # the result
    failed = Signal(str)  # the error message
    cancelled = Signal()

    def __init__(self, title: str, work: Callable[..., Any], stages: Sequence[str] = ()) -> None:
        super().__init__()
        self.running = False
        self._words, self._count = "", 0.0  # of what was reported last
        self._stages, self._stop = list(stages), Event()
        self._worker = self._make_worker(title, work)
        self._worker.returned.connect(self._end)

    def _make_worker(self, title: str, work: Callable[..., Any]) -> Any:
        """Make a worker that returns how the work ended and its result, and does not own the task.

        When the task is cancelled, `report` and the kernels raise CancelledError.
        """
        stop, reporter = self._stop, _Reporter()
        told: dict[str, Any] = {"stage": "", "share": 0.0}
        reporter.begun.connect(self._advance)
        reporter.moved.connect(self._move)
        reporter.compiling.connect(self.compiling)

        def check() -> None:
            if stop.is_set() or worker.abort_requested:
                raise CancelledError

        def report(stage: str, done: int = 0, total: int = 0) -> None:
            check()
            told["stage"] = "" if total else stage  # blocks are counted in place of shares
            reporter.begun.emit(stage, done, total)

        def follow(share: float) -> None:
            # There may be a million pieces of work.
            if told["stage"] and abs(share - told["share"]) > LEAST:
                told["share"] = share
                reporter.moved.emit(told["stage"], share)

        def tell(number: int, busy: bool) -> None:
            reporter.compiling.emit(compiling.describe(number) if busy else "")

        def attempt() -> tuple[str, Any]:
            try:
                with interruptible(check), reporting(follow), compiling.listening(tell):
                    return "done", work(report)
            except CancelledError:
                return "cancelled", None
            except Exception as error:
                return "failed", explain(error)

        attempt.__qualname__ = title  # shown by napari if it is closed during the task
        progress = {"desc": title} if self._stages else False
        worker = create_worker(attempt, _progress=progress, _worker_class=_Worker)
        return worker

    def start(self) -> None:
        self.running = True
        self._worker.start()

    def cancel(self) -> None:
        """Cancel the task at once; its thread ends before its next piece of work."""
        if self.running:
            self.running = False
            self._stop.set()
            self.cancelled.emit()

    def _advance(self, stage: str, done: int, total: int) -> None:
        if not self.running:
            return
        self._count = float(self._stages.index(stage)) if stage in self._stages else 0.0
        self._words = describe_stage(stage)
        if total:
            self._count += done / total
            self._words += f", {done} of {total}"
        self.advanced.emit(self._words, self._count)

    def _move(self, stage: str, share: float) -> None:
        """Move the bar ahead in a stage; it does not go back for another piece of work."""
        if self.running and stage in self._stages:
            self._count = max(self._count, self._stages.index(stage) + share)
            self.advanced.emit(self._words, self._count)

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
    """Runs functions in threads, and passes the result of the last one, or its error, to a method.

    The title says what they do. Without a method, a result or an error is dropped.
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
        """Drop the pending result; its thread ends before its next piece of work."""
        if self._task is not None:
            self._task.cancel()
