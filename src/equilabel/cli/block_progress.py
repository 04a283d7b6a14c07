"""Progress of the blocks of an image, printed to the terminal."""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from equilabel.descriptions import STAGES

from .streams import Steady, say

if TYPE_CHECKING:
    from typing import Self, TextIO

PAUSE = 10  # seconds between two lines about a stage if the output is not a terminal


class BlockProgress:
    """Show the number of finished blocks: as bars on a terminal, otherwise as a line now and then.

    `stage` is the current stage ("" before the first); `done` and `total` count its blocks.
    """

    def __init__(self) -> None:
        self.stage, self.done, self.total = "", 0, 0
        self._told = 0.0
        self._bars: Any = None
        self._task: Any = None
        if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            self._bars = _bars()

    def __enter__(self) -> Self:
        """Start to draw."""
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop drawing; the bars stay on the screen."""
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how many blocks of a stage are done."""
        new = stage != self.stage or done < self.done
        self.stage, self.done, self.total = stage, done, total
        if self._bars is not None:
            if new:
                self._task = self._bars.add_task(STAGES.get(stage, stage), total=total)
            self._bars.update(self._task, completed=done)
            return
        if new or monotonic() - self._told > PAUSE:
            say(f"  {STAGES.get(stage, stage)}: {done} of {total}")
            self._told = monotonic()

    def __str__(self) -> str:
        """Describe the current stage."""
        return f"stage '{STAGES.get(self.stage, self.stage)}', {self.done} of {self.total}"


def _bars() -> Any:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=Console(highlight=False, file=cast("TextIO", Steady())),
    )
