"""Work in a thread, told in napari's list of activities, and stopped when asked to."""

from __future__ import annotations

import warnings
from threading import Event
from typing import TYPE_CHECKING, Any

from napari.qt.threading import create_worker
from napari.utils import progress
from qtpy.QtCore import QObject, QTimer, Signal

from .explaining import CancelledError, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tell = Callable[[str], None]

PATIENCE = 150  # milliseconds of a run before napari shows a bar
WORDS = {
    "read": "reading the image",
    "binarize": "finding the threshold",
    "fill": "filling holes",
    "label": "labeling",
    "drop": "dropping objects",
    "measure": "measuring",
}


class _Voice(QObject):
    """Speaks from the thread; lives as long as the thread does."""

    told = Signal(str)


class Task(QObject):
    """One piece of work in a thread.

    Parameters
    ----------
    title : str
        What it is, for the list of activities.
    work : callable
        Called in the thread with a function to call before each step.
    steps : sequence of str
        Names of the steps expected, in order.
    parent : QObject, optional
        With it the task is forgotten: what was begun ends at its next step.

    Attributes
    ----------
    stepped : Signal(str, int)
        A step begins: in words, and how many are behind it.
    done : Signal(object)
        What the work returned.
    failed : Signal(str)
        Why it failed, in a sentence.
    cancelled : Signal()
        It was called off. What the thread still does is dropped.
    """

    stepped = Signal(str, int)
    done = Signal(object)
    failed = Signal(str)
    cancelled = Signal()

    def __init__(
        self,
        title: str,
        work: Callable[[Tell], Any],
        steps: Sequence[str],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.steps = list(steps)
        self.running = False
        self._title = title
        self._stop = stop = Event()
        self._voice = voice = _Voice()
        voice.told.connect(self._step)

        def attempt() -> tuple[str, Any]:
            def tell(step: str) -> None:
                if stop.is_set() or self._worker.abort_requested:
                    raise CancelledError
                voice.told.emit(step)

            warnings.filterwarnings("ignore", module="skimage")  # on objects too small to measure
            try:
                return "done", work(tell)
            except CancelledError:
                return "cancelled", None
            except Exception as error:  # whatever it is, a person is told in a sentence
                return "failed", explain(error)

        attempt.__qualname__ = title  # napari shows it if it is asked to close meanwhile
        self._worker = create_worker(attempt)
        self._worker.returned.connect(self._end)
        self._worker.finished.connect(self._close)
        self._bar: Any = None
        self._place = ("beginning", 0)

    def start(self) -> None:
        """Begin."""
        self.running = True
        QTimer.singleShot(PATIENCE, self._open_bar)
        self._worker.start()

    def cancel(self) -> None:
        """Call the work off: at once for whoever waits, at its next step in the thread."""
        if self.running:
            self._stop.set()
            self._close()
            self.cancelled.emit()

    def _open_bar(self) -> None:
        """Show the bar in napari; a run of no time has none, as it takes longer to draw."""
        if self.running:
            self._take_bar(progress(total=len(self.steps), desc=self._title, gui=True))

    def _take_bar(self, bar: Any) -> None:
        if self.running:
            self._bar = bar
            self._move_bar()
        else:  # napari lets events in when a bar is made: the task has ended meanwhile
            bar.close()

    def _move_bar(self) -> None:
        bar = self._bar
        if bar is None:
            return
        words, count = self._place
        bar.update(max(0, count - bar.n))
        if self._bar is bar:  # napari lets events in when a bar moves: the task may have ended
            bar.set_description(f"{self._title}: {words}")

    def _step(self, step: str) -> None:
        if not self.running:
            return
        count = self.steps.index(step) if step in self.steps else 0
        words = WORDS.get(step, step)
        self._place = words, count
        self.stepped.emit(words, count)
        self._move_bar()

    def _end(self, outcome: tuple[str, Any]) -> None:
        if not self.running:
            return
        how, result = outcome
        self._close()
        if how == "done":
            self.done.emit(result)
        elif how == "failed":
            self.failed.emit(result)
        else:
            self.cancelled.emit()

    def _close(self) -> None:
        self.running = False
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Latest(QObject):
    """Questions answered in a thread; the answer to any but the last is dropped.

    Attributes
    ----------
    answered : Signal(object)
        What the work returned.
    failed : Signal(str)
        Why it failed, in a sentence.
    """

    answered = Signal(object)
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._number = 0
        self.waiting = False

    def ask(self, work: Callable[[], Any]) -> None:
        """Ask something, and forget what was asked before."""
        self._number += 1
        self.waiting = True
        number = self._number

        def attempt() -> tuple[int, bool, Any]:
            try:
                return number, True, work()
            except Exception as error:  # told in a sentence, as it is for a run
                return number, False, explain(error)

        attempt.__qualname__ = "looking at the image"
        worker = create_worker(attempt)
        worker.returned.connect(self._answer)
        worker.start()

    def forget(self) -> None:
        """Drop the answer to what was asked."""
        self._number += 1
        self.waiting = False

    def _answer(self, answer: tuple[int, bool, Any]) -> None:
        number, good, result = answer
        if number != self._number:
            return
        self.waiting = False
        (self.answered if good else self.failed).emit(result)
