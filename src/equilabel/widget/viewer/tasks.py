"""Notifications, and work in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial, wraps
from operator import attrgetter
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

SLIDING = 300  # milliseconds in which napari moves a notification into view


def inform(text: str, show: Callable[[str], None] = show_info) -> None:
    """Show a notification."""
    show(text)
    QTimer.singleShot(SLIDING, _unfold)


def warn(text: str) -> None:
    """Show a warning as a notification."""
    inform(text, show_warning)


def _unfold() -> None:
    """Show the whole text of notifications, of which napari shows some 40 characters."""
    for window in QApplication.topLevelWidgets():
        for each in window.findChildren(QDialog):
            if hasattr(each, "toggle_expansion") and not each.property("expanded"):
                each.expand()


def tell(form: Any, text: str, say: Callable[[str], None] = warn) -> None:
    """Tell something in a notification, and as a sentence in the message line of the form."""
    if not isalive(form):  # its viewer was closed
        return
    say(text)
    while form is not None and not hasattr(form, "message"):
        form = form.parent()
    if form is not None:
        form.message.setText(sentence(text))


def sentence(text: str) -> str:
    """Return "Image must be open, but got none." for "image must be open; got none."."""
    text = text.replace("; got ", ", but got ")
    return text[:1].upper() + text[1:]


def ask(form: QWidget, title: str, text: str, more: str, buttons: dict[str, str]) -> str:
    """Ask a question and return the pressed button; the Enter key presses the first."""
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


def attempt(form: QWidget, act: Callable[[], None]) -> None:
    """Do something for a widget that Qt has not deleted, and show an error as a warning."""
    try:
        if isalive(form):
            act()
    except Exception as error:
        tell(form, explain(error))


def guarded(slot: Callable[..., Any]) -> Callable[..., None]:
    """Make a slot of a widget show its errors as warnings; values of the signal are not passed."""

    @wraps(slot)
    def call(self: Any, *_: object, **__: object) -> None:
        attempt(self, partial(slot, self))

    return call


LEAST = 0.01  # of a stage, by which its bar moves


class _Worker(FunctionWorker):
    """A worker that leaves the filters of warnings alone, which all threads share."""

    def run(self) -> None:
        """Do the work; Qt calls it in a thread."""
        self.started.emit()
        self._running = True
        self.returned.emit(self.work())
        self._running = False
        self.finished.emit()
        self._finished.emit(self)  # superqt then releases the worker


class _Reporter(QObject):
    """Tells a task from a thread how its work goes on, as long as the thread runs."""

    told = Signal(object, str, object)  # what stops the work; a method of the task, its arguments

    def __init__(self, stop: Event) -> None:
        super().__init__()
        self.stop = stop
        self.worker: Any = None
        self._stage, self._share = "", 0.0

    def check(self) -> None:
        """Raise CancelledError if the work shall end; kernels call this, too."""
        if self.stop.is_set() or self.worker.abort_requested:
            raise CancelledError

    def report(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Tell which stage begins, and how many of its blocks are done, if it has blocks."""
        self.check()
        self._stage = "" if total else stage  # blocks are counted in place of shares
        blocks = (done / total, f", {done} of {total}") if total else ()
        self.told.emit(self.stop, "_advance", (stage, *blocks))

    def follow(self, share: float) -> None:
        """Tell how much of the stage is done. There may be a million pieces of work."""
        if self._stage and abs(share - self._share) > LEAST:
            self._share = share
            self.told.emit(self.stop, "_advance", (self._stage, share))

    def compile(self, number: int, busy: bool) -> None:
        """Tell which function is being compiled."""
        words = compiling.describe(number) if busy else ""
        self.told.emit(self.stop, "compiling.emit", (words,))


class Task(QObject):
    """Runs functions in threads, one after the other; `say` is called with the message of an error.

    A function gets `report`, to be called with the name of each stage, blocks done and all blocks.
    It ends before its next piece of work when it is cancelled, or when another one is submitted.
    """

    advanced = Signal(str, float)  # the current stage, and how many stages are done
    compiling = Signal(str)  # the function that is being compiled; "" when it is done
    done = Signal(object)  # the result
    failed = Signal(str)  # the error message
    cancelled = Signal(object)

    def __init__(self, title: str, say: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self.title, self.running = title, False
        self._stop, self._worker = Event(), None
        if say is not None:
            self.failed.connect(say)

    def submit(
        self,
        work: Callable[..., Any],
        then: Callable[[Any], None] | None = None,
        stages: Sequence[str] = (),
    ) -> None:
        """Run a function in a thread, and pass its result to `then`."""
        self._stop.set()  # the result of the function before it is dropped
        self.running, self._stop = True, (stop := Event())
        self._then, self._stages = then, list(stages)
        self._count = 0.0  # how many stages are done
        reporter = _Reporter(stop)
        reporter.told.connect(self._hear)

        def run() -> None:  # it does not own the task, which ends in the thread of the viewer
            how, result = "done", None
            try:
                with (
                    interruptible(reporter.check),
                    reporting(reporter.follow),
                    compiling.listening(reporter.compile),
                ):
                    result = work(reporter.report)
            except CancelledError:
                how = "cancelled"
            except Exception as error:
                how, result = "failed", explain(error)
            reporter.told.emit(stop, "_end", (how, result))

        run.__qualname__ = self.title  # shown by napari if it is closed during the task
        progress = {"desc": self.title} if stages else False
        worker = create_worker(run, _progress=progress, _worker_class=_Worker)
        self._worker = reporter.worker = worker
        worker.start()

    def cancel(self) -> None:
        """Cancel the task at once; its thread ends before its next piece of work."""
        if self.running:
            self._end("cancelled", None)

    def _hear(self, stop: Event, method: str, arguments: tuple[Any, ...]) -> None:
        """Take note of what a thread tells, unless it was stopped."""
        if not stop.is_set():
            attrgetter(method)(self)(*arguments)

    def _advance(self, stage: str, share: float = 0.0, blocks: str = "") -> None:
        """Tell how much of a stage is done; the bar does not go back for another piece of work."""
        if stage in self._stages:
            self._count = max(self._count, self._stages.index(stage) + share)
        elif blocks:
            self._count = share
        self.advanced.emit(describe_stage(stage) + blocks, self._count)

    def _end(self, how: str, result: Any) -> None:
        self.running = False
        self._stop.set()
        owner = getattr(getattr(self._then, "func", self._then), "__self__", None)
        if isinstance(owner, QObject) and not isalive(owner):  # its viewer was closed
            return
        if how == "done" and self._then is not None:
            try:
                self._then(result)
            except Exception as error:
                how, result = "failed", explain(error)
        getattr(self, how).emit(result)
