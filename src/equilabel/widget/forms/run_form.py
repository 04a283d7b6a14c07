"""Base of both forms: a tab with fields, buttons and progress of a run, and one with results."""

from collections.abc import Callable, Sequence
from typing import Any

from qtpy.QtCore import QEvent, Qt, QTimer, Signal
from qtpy.QtWidgets import (
    QDockWidget,
    QLabel,
    QMainWindow,
    QProgressBar,
    QPushButton,
    QTabWidget,
    QWidget,
)

from equilabel.widget.logic.sources import Role, Source
from equilabel.widget.napari_types import Event, Layer, Viewer
from equilabel.widget.viewer.tasks import LatestResult, Task, guarded, warn

from .layout import column, side_by_side
from .results import ResultsPanel

FINE = 100  # steps of the progress bar for each stage of a run


class RunForm(QWidget):
    """A form whose button starts a run on a layer, and whose second tab shows the results."""

    done = Signal()  # the run is done; its result is in `result`
    ended = Signal()  # the run is done, failed or cancelled

    def __init__(self, viewer: Viewer, title: str, fields: QWidget) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self._warm_up = LatestResult("compiling")
        self._warm: Any = ()  # kind of layer for which functions were compiled
        self.task: Task | None = None
        self.result: Any = None
        self._words = "starting"  # text for the current stage
        self._joined = False  # whether it has searched for another form to share tabs with
        self.fields, self.results = fields, ResultsPanel(viewer)
        self.run_button = QPushButton(title, toolTip="Run on the whole layer, all of its axes.")
        self.cancel_button = QPushButton("Cancel", toolTip="Stop the run; layers do not change.")
        self.run_button.setStyleSheet("font-weight: bold; padding: 7px;")
        self.cancel_button.setEnabled(False)
        self.cancel_button.clicked.connect(self.cancel)
        self.progress = QProgressBar(textVisible=False, maximumHeight=6)
        self.message = QLabel(wordWrap=True, alignment=Qt.AlignmentFlag.AlignTop)
        self.message.setStyleSheet("min-height: 2.6em")  # two lines, so that fields do not move
        buttons = side_by_side(self.run_button, self.cancel_button, widths=(3, 1))
        bar = column(buttons, self.progress, self.message)
        bar.layout().setContentsMargins(0, 4, 0, 0)
        self.tabs = QTabWidget()
        self.tabs.addTab(column(fields, bar, margins=True), title)
        self.tabs.addTab(self.results, "Results")
        column(self.tabs, into=self).layout().setContentsMargins(0, 6, 0, 0)
        self.setMinimumWidth(364)

    def _warm_up_for(self, kind: Any, work: Callable[[], None]) -> None:
        """Compile in the background what the first run on a layer of this kind needs."""
        if kind != self._warm:
            self._warm = kind
            self._warm_up.submit(work)

    def _take_source(self, missing: str, roles: tuple[Role, ...]) -> Source:
        """Return the source of a run, or raise ValueError with a remedy."""
        if self._layer is None or self._layer not in self._viewer.layers:
            raise ValueError(missing)
        source = Source.of(self._layer, roles)
        if source.problem:
            raise ValueError(source.problem)
        return source

    @property
    def running(self) -> bool:
        return self.task is not None and self.task.running

    def begin(self, title: str, work: Callable[..., Any], stages: Sequence[str]) -> None:
        """Start a run, unless one is running."""
        if self.running:
            return
        self.task = task = Task(title, work, stages)
        task.advanced.connect(self._advance)
        task.compiling.connect(self._say)
        task.done.connect(self._finish)
        task.failed.connect(self._fail)
        task.cancelled.connect(self._stop)
        self.run_button.setEnabled(False)
        self.cancel_button.setEnabled(True)
        self.progress.setRange(0, FINE * len(stages))
        task.start()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def changeEvent(self, event: Event) -> None:
        """Stop all work when the dock is closed: napari then removes the form from it."""
        if event.type() == QEvent.Type.ParentChange and self.parent() is None:
            self.end()
            QTimer.singleShot(0, self._leave)
        super().changeEvent(event)

    def showEvent(self, event: Event) -> None:
        """Share the dock of another form as tabs: one above the other, the window would grow."""
        super().showEvent(event)
        if not event.spontaneous():
            self._join_tabs()

    def _join_tabs(self) -> None:
        window, dock = self.window(), self.parent()
        if self._joined or not isinstance(window, QMainWindow) or not isinstance(dock, QDockWidget):
            return
        self._joined = True  # only once, so that a person can move it
        for form in window.findChildren(RunForm):
            other = form.parent()
            if form is not self and window.dockWidgetArea(other) == window.dockWidgetArea(dock):
                window.tabifyDockWidget(other, dock)
                QTimer.singleShot(0, dock.raise_)
                return

    @guarded
    def _leave(self) -> None:
        """Close table and plot, and delete the form, because napari would continue to call it."""
        if self.parent() is None:
            self.results.below.leave()
            self.deleteLater()

    def end(self) -> None:
        self.cancel()
        self._warm_up.cancel()
        self.results.filter.cancel()

    def _advance(self, words: str, count: float) -> None:
        self.progress.setValue(int(FINE * count))
        self._words = words
        self._say("")

    def _say(self, compiling: str) -> None:
        """Show what is being compiled, or the current stage."""
        if self.running:
            words = compiling or self._words
            self.message.setText(f"{words[0].upper()}{words[1:]} ...")

    def _finish(self, result: Any) -> None:
        self.result = result
        self.done.emit()
        self._end(self.message.text())

    def _fail(self, message: str) -> None:
        warn(message)
        self._end(message)

    def _stop(self) -> None:
        self._end("Cancelled. The layers have not changed.")

    def _end(self, text: str) -> None:
        self.message.setText(text)
        self.run_button.setEnabled(True)
        self.cancel_button.setEnabled(False)
        self.progress.reset()
        self.ended.emit()
