"""The buttons and the progress bar of a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from equilabel.widget.viewer.notifications import warn
from equilabel.widget.viewer.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


FINE = 100  # parts of a step that the progress bar shows


class RunBar(QWidget):
    """Buttons to run and cancel a task, and its progress.

    Parameters
    ----------
    title : str
        Text of the button.
    parent : QWidget
        The form.

    Attributes
    ----------
    wanted : Signal()
        The button was pressed.
    done : Signal()
        The task is done; its result is in `result`.
    ended : Signal()
        The task is done, failed or cancelled.
    """

    wanted = Signal()
    done = Signal()
    ended = Signal()

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.result: Any = None
        self.task: Task | None = None
        self._words = ""  # for the step under way
        self.run_button = QPushButton(title)
        self.run_button.setStyleSheet("font-weight: bold; padding: 7px;")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setEnabled(False)
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setMaximumHeight(6)
        self.message = QLabel()
        self.message.setWordWrap(True)
        self._arrange()
        self.run_button.clicked.connect(self.wanted)
        self.cancel_button.clicked.connect(self.cancel)

    def _arrange(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        row = QHBoxLayout()
        row.addWidget(self.run_button, 3)
        row.addWidget(self.cancel_button, 1)
        layout.addLayout(row)
        layout.addWidget(self.progress)
        layout.addWidget(self.message)

    def begin(self, title: str, work: Callable[..., Any], steps: Sequence[str]) -> None:
        """Start a task, unless one is running."""
        if self.task is not None and self.task.running:
            return
        task = Task(title, work, steps, self)
        self.task = task
        task.stepped.connect(self._step)
        task.compiling.connect(self._compile)
        task.done.connect(self._finish)
        task.failed.connect(self._fail)
        task.cancelled.connect(self._stop)
        self._switch(running=True)
        self.progress.setRange(0, FINE * len(steps))
        task.start()

    def cancel(self) -> None:
        """Cancel the task."""
        if self.task is not None:
            self.task.cancel()

    def show_message(self, text: str) -> None:
        """Show a line of text below the buttons."""
        self.message.setText(text)

    def _step(self, text: str, count: float) -> None:
        self.progress.setValue(int(FINE * count))
        self._words = f"{text[0].upper()}{text[1:]} ..."
        self.show_message(self._words)

    def _compile(self, text: str) -> None:
        """Say that functions are being compiled, and afterwards the step again."""
        self.show_message(f"{text[0].upper()}{text[1:]} ..." if text else self._words)

    def _finish(self, result: Any) -> None:
        self._switch(running=False)
        self.result = result
        self.done.emit()
        self.ended.emit()

    def _fail(self, message: str) -> None:
        self._switch(running=False)
        self.show_message("")
        warn(message)
        self.ended.emit()

    def _stop(self) -> None:
        self._switch(running=False)
        self.show_message("Cancelled. The layers have not changed.")
        self.ended.emit()

    def _switch(self, *, running: bool) -> None:
        self.run_button.setEnabled(not running)
        self.cancel_button.setEnabled(running)
        self.progress.setValue(0)
