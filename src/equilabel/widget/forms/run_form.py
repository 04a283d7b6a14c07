"""Base of both forms: fields, buttons and progress of a run."""

from collections.abc import Callable, Sequence
from typing import Any

from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QLabel, QProgressBar, QPushButton, QWidget

from equilabel.widget.logic.sources import Role, Source
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer.tasks import LatestResult, Task, tell

from .layout import Docked, column, side_by_side
from .results import ResultsPanel, results_of

FINE = 100  # steps of the progress bar for each stage of a run


class RunForm(Docked):
    """A form whose button starts a run on a layer."""

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
        self.fields = fields
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
        column(fields, bar, into=self, margins=True)
        policy = self.sizePolicy()
        policy.setVerticalPolicy(policy.Policy.Expanding)  # or napari adds space below
        self.setSizePolicy(policy)
        self.setMinimumWidth(364)
        results_of(viewer)

    @property
    def results(self) -> ResultsPanel:
        """The results of the viewer, which its forms share; opened if they were closed."""
        return results_of(self._viewer)

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

    def end(self) -> None:
        self.cancel()
        self._warm_up.cancel()

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
        tell(self, message)
        self._end(self.message.text())

    def _stop(self) -> None:
        self._end("Cancelled. The layers have not changed.")

    def _end(self, text: str) -> None:
        self.message.setText(text)
        self.run_button.setEnabled(True)
        self.cancel_button.setEnabled(False)
        self.progress.reset()
        self.ended.emit()
