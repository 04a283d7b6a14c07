"""The foot of a form: begin, how far it is, call it off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from .notifying import warn
from .running import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class RunBar(QWidget):
    """Buttons and progress of one task at a time.

    Parameters
    ----------
    title : str
        On the button.
    parent : QWidget
        The form.

    Attributes
    ----------
    wanted : Signal()
        The button was pressed.
    done : Signal()
        The task is done; its result is in `result`.
    ended : Signal()
        It is done, failed or cancelled.
    """

    wanted = Signal()
    done = Signal()
    ended = Signal()

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.result: Any = None
        self.task: Task | None = None
        self.run_button = QPushButton(title)
        self.run_button.setStyleSheet("font-weight: bold; padding: 7px;")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setEnabled(False)
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setMaximumHeight(6)
        self.words = QLabel()
        self.words.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        row = QHBoxLayout()
        row.addWidget(self.run_button, 3)
        row.addWidget(self.cancel_button, 1)
        layout.addLayout(row)
        layout.addWidget(self.progress)
        layout.addWidget(self.words)
        self.run_button.clicked.connect(self._want)
        self.cancel_button.clicked.connect(self.cancel)

    def begin(self, title: str, work: Callable[..., Any], steps: Sequence[str]) -> None:
        """Begin a task, unless one is under way."""
        if self.task is not None and self.task.running:
            return
        task = Task(title, work, steps, self)
        self.task = task
        task.stepped.connect(self._step)
        task.done.connect(self._finish)
        task.failed.connect(self._fail)
        task.cancelled.connect(self._stop)
        self._switch(running=True)
        self.progress.setRange(0, len(steps))
        task.start()

    def cancel(self) -> None:
        """Call the task off."""
        if self.task is not None:
            self.task.cancel()

    def say(self, words: str) -> None:
        """Write a line below the buttons."""
        self.words.setText(words)

    def _want(self) -> None:
        self.wanted.emit()

    def _step(self, words: str, count: int) -> None:
        self.progress.setValue(count)
        self.say(f"{words[0].upper()}{words[1:]} ...")

    def _finish(self, result: Any) -> None:
        self._switch(running=False)
        self.result = result
        self.done.emit()
        self.ended.emit()

    def _fail(self, sentence: str) -> None:
        self._switch(running=False)
        self.say("")
        warn(sentence)
        self.ended.emit()

    def _stop(self) -> None:
        self._switch(running=False)
        self.say("Cancelled; the layers are as they were.")
        self.ended.emit()

    def _switch(self, *, running: bool) -> None:
        self.run_button.setEnabled(not running)
        self.cancel_button.setEnabled(running)
        self.progress.setValue(0)
